"""gRPC as routes of the ASGI application: what stands between HTTP/2 and the dialects."""
