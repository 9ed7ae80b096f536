"""Certificates that all programs on the stage trust."""

import os
from pathlib import Path

import trustme

__all__ = ["Trust"]


class Trust:
    """An authority of its own: `environment` makes programs trust it, `options` give our server a certificate."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1", "localhost")
        roots, chain, key = (folder / name for name in ("roots.pem", "chain.pem", "key.pem"))
        authority.cert_pem.write_to_path(roots)
        chain.write_bytes(b"".join(pem.bytes() for pem in certificate.cert_chain_pems))
        certificate.private_key_pem.write_to_path(key)
        self.options = ("--tls-cert", str(chain), "--tls-key", str(key))
        names = ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH")
        self.environment = {**os.environ, **dict.fromkeys(names, str(roots))}
