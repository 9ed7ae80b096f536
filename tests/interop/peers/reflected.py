"""A caller that knows nothing of A2A: it asks the server for its services and messages, and sends one.

Prints the services, and the answer of each package's SendMessage. Its one argument is the server's address.
"""

import json
import sys

import grpc
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

MESSAGES = {
    "lf.a2a.v1": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "say hello"}]}},
    "a2a.v1": {
        "message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "say hello"}]},
        "configuration": {"blocking": True},
    },
}


def answer(channel: grpc.Channel, pool: DescriptorPool, package: str) -> object:
    method = pool.FindServiceByName(f"{package}.A2AService").FindMethodByName("SendMessage")
    request = json_format.ParseDict(MESSAGES[package], message_factory.GetMessageClass(method.input_type)())
    call = channel.unary_unary(
        f"/{package}.A2AService/SendMessage",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    return json_format.MessageToDict(call(request, timeout=20))


with grpc.insecure_channel(sys.argv[1]) as channel:
    database = ProtoReflectionDescriptorDatabase(channel)
    pool = DescriptorPool(database)
    answers = {package: answer(channel, pool, package) for package in MESSAGES}
    print(json.dumps({"services": sorted(database.get_services()), "answers": answers}))
