"""Server reflection (`grpc.reflection.v1`): tools learn services and messages from the server that has them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from typing import Any

from dragoman._proto import file_descriptors, message, parse, services, symbols
from dragoman.hosts.binding import Receive
from dragoman.hosts.grpc.response import Response
from dragoman.hosts.grpc.status import Code, Fault

__all__ = ["Reflection"]

# `v1alpha` has the same messages under another name.
REQUEST = "grpc.reflection.v1.ServerReflectionRequest"
RESPONSE = "grpc.reflection.v1.ServerReflectionResponse"
OWN = "grpc."


class Reflection:
    """Knows the `served` services, those of gRPC itself, and the files with all they need."""

    def __init__(self, served: Sequence[str]) -> None:
        self._served = tuple(served)

    async def info(self, questions: AsyncIterator[bytes], _receive: Receive, response: Response) -> None:
        """Answers each question as it comes."""
        async for question in questions:
            try:
                asked: Any = parse(REQUEST, question)
            except ValueError as error:
                raise Fault(Code.INTERNAL, "The message is no ServerReflectionRequest") from error
            answer = message(RESPONSE)(valid_host=asked.host, original_request=asked, **self._answer(asked))
            await response.messages([answer.SerializeToString()])

    def _answer(self, asked: Any) -> Mapping[str, Any]:
        kind = asked.WhichOneof("message_request")
        if kind == "list_services":
            return {"list_services_response": {"service": [{"name": name} for name in self._names()]}}
        if kind == "file_by_filename":
            return _files(asked.file_by_filename)
        if kind == "file_containing_symbol":
            return _files(symbols().get(asked.file_containing_symbol, ""))
        if kind == "all_extension_numbers_of_type" and asked.all_extension_numbers_of_type in symbols():
            return {"all_extension_numbers_response": {"base_type_name": asked.all_extension_numbers_of_type}}
        if kind is None:
            return _failed(Code.INVALID_ARGUMENT, "The request asks nothing")
        return _failed(Code.NOT_FOUND, "There is no such thing here")

    def _names(self) -> list[str]:
        own = (name for name in services() if name.startswith(OWN))
        return sorted({*self._served, *own})


def _files(name: str) -> Mapping[str, Any]:
    """The file with this name and, after it, those that it needs."""
    if name not in file_descriptors():
        return _failed(Code.NOT_FOUND, "There is no such thing here")
    return {"file_descriptor_response": {"file_descriptor_proto": [file_descriptors()[file] for file in _needed(name)]}}


@cache
def _needed(name: str) -> tuple[str, ...]:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto.FromString(file_descriptors()[name])
    return tuple(dict.fromkeys((name, *(needed for other in file.dependency for needed in _needed(other)))))


def _failed(code: Code, why: str) -> Mapping[str, Any]:
    return {"error_response": {"error_code": int(code), "error_message": why}}
