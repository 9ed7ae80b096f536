"""Compiles the `.proto` files of the package to the descriptors that it loads."""

import subprocess
import sys
import tempfile
from pathlib import Path

from dragoman import _proto

__all__ = ["HERE", "compiled"]

HERE = Path(_proto.__file__).parent


def compiled() -> bytes:
    """The FileDescriptorSet of the sources as they are now, with all that they import.

    Raises:
        CalledProcessError: the compiler refuses them; it has said why on stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        argv = [sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", "--include_imports"]
        subprocess.run([*argv, f"--descriptor_set_out={result}", *_proto.FILES], check=True, timeout=60)
        return result.read_bytes()


if __name__ == "__main__":
    place = HERE / "a2a.binpb"
    place.write_bytes(compiled())
    print(f"Compiled {len(_proto.FILES)} files to {place}")
