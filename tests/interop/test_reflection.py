"""gRPC's own reflection client: with the address alone it finds the services, builds their messages and is answered."""

from tests.interop.stage import Stage


def test_who_knows_the_address_alone_can_send_a_message_in_both_packages(stage: Stage) -> None:
    seen = stage.seen_by_reflection()
    assert seen["services"] == [
        "a2a.v1.A2AService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "lf.a2a.v1.A2AService",
    ]
    for package in ("lf.a2a.v1", "a2a.v1"):
        task = seen["answers"][package]["task"]
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        assert task["artifacts"][0]["parts"] == [{"text": "hello"}]
