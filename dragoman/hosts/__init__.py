"""The socket side: one ASGI application for all bindings, and the server that runs it."""
