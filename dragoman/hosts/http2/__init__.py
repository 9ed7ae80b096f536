"""ASGI over HTTP/2 (RFC 9113, RFC 7541): one asyncio protocol, framing of our own."""
