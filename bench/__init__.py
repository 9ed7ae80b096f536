"""Figures: the official SDKs' servers, a bare ASGI application and ours, each on one core. See `make bench`."""
