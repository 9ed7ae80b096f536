"""Figures: the official Python SDK's server, a bare ASGI application and ours, each on one core. See `make bench`."""
