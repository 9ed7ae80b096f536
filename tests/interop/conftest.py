"""The stage on which official SDKs and Dragoman talk to each other, once for all tests."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.interop.stage import Stage


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("interop"))
    yield stage
    stage.close()
