"""What all tests share."""

from collections.abc import Generator

import pytest

from tests.idp.process import IdentityProvider, running


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(*ids): rows of tests/behaviour/manifest.md that the test shows")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "idp" in item.fixturenames:
            item.add_marker(pytest.mark.interop)
        if isinstance(item, pytest.Function) and "stage" in item.fixturenames:
            # What has been played on the stage once is looked at by many tests.
            item.add_marker(pytest.mark.xdist_group("stage"))


@pytest.fixture(scope="session")
def idp(tmp_path_factory: pytest.TempPathFactory) -> Generator[IdentityProvider]:
    """An identity provider by others, in a process of its own, the same one for all tests."""
    with running(tmp_path_factory.mktemp("idp")) as provider:
        yield provider
