"""The protobuf messages that gRPC needs, compiled from the `.proto` files beside this one by `make proto`.

`a2a.binpb` is a FileDescriptorSet of all of them and of what they import. It is loaded into a pool of our own, so that
the official SDK, or anything else with messages of the same names, may live in the same process.

Nothing of protobuf is imported before the first call of a function here: it costs tens of milliseconds, which servers
and clients of the JSON bindings need not pay.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

__all__ = ["FILES", "descriptor_of", "file_descriptors", "message", "parse", "services", "symbols"]

FILES = (
    "lf/a2a/v1/a2a.proto",
    "a2a/v1/a2a.proto",
    "google/rpc/status.proto",
    "google/rpc/error_details.proto",
    "grpc/health/v1/health.proto",
    "grpc/reflection/v1/reflection.proto",
    "grpc/reflection/v1alpha/reflection.proto",
)
"""Our sources, relative to this package."""

_COMPILED = Path(__file__).with_name("a2a.binpb")


@cache
def file_descriptors() -> Mapping[str, bytes]:
    """The serialized FileDescriptorProto of each file by its name, imports included, each after what it imports."""
    from google.protobuf import descriptor_pb2

    compiled = descriptor_pb2.FileDescriptorSet.FromString(_COMPILED.read_bytes())
    return {file.name: file.SerializeToString() for file in compiled.file}


@cache
def _pool() -> "DescriptorPool":
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.DescriptorPool()
    for file in file_descriptors().values():
        pool.AddSerializedFile(file)
    return pool


@cache
def message(full_name: str) -> Any:
    """The class of a message, as `lf.a2a.v1.Task`; the same object each time.

    Its fields are known at run time only, hence the type.

    Raises:
        KeyError: there is no such message.
    """
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(full_name))


def descriptor_of(full_name: str) -> Any:
    """The descriptor of a message; raises as `message` does."""
    return message(full_name).DESCRIPTOR


def parse(full_name: str, data: bytes) -> Any:
    """The message that `data` is the wire form of.

    Raises:
        ValueError: it is not: cut off, nested deeper than 100 messages, or with text that is not UTF-8.
    """
    try:
        return message(full_name).FromString(data)
    except Exception as error:
        from google.protobuf.message import DecodeError

        if not isinstance(error, DecodeError):
            raise
        raise ValueError(str(error)) from None


@cache
def symbols() -> Mapping[str, str]:
    """The name of the file in which each full name is defined: services and their methods, messages, fields, enums and
    their values.
    """
    from google.protobuf import descriptor_pb2

    found: dict[str, str] = {}
    for name, serialized in file_descriptors().items():
        file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
        found |= dict.fromkeys(_names_in(file, file.package), name)
    return found


def _names_in(holder: Any, prefix: str) -> list[str]:
    """All full names below a file, a message, an enum or a service."""
    found: list[str] = []
    for member in ("message_type", "nested_type", "enum_type", "service", "field", "value", "method"):
        for item in getattr(holder, member, ()):
            # The values of an enum are its neighbours.
            full_name = f"{prefix.rpartition('.')[0] if member == 'value' else prefix}.{item.name}"
            found += [full_name, *_names_in(item, full_name)]
    return found


@cache
def services() -> tuple[str, ...]:
    """The full names of all services, in the order of `FILES`."""
    pool = _pool()
    return tuple(service.full_name for name in FILES for service in pool.FindFileByName(name).services_by_name.values())
