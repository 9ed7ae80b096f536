"""The examples that the README names do what they say, served as a user serves them."""

import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman import InputRequired, Message, Part, Role, TaskFailed, TaskState, connect
from dragoman.errors import InvalidParamsError
from dragoman.types import Json
from scripts.programs import CARD_PATH, free_port, running

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
LANGUAGE = "https://example.com/extensions/language/v1"


@contextmanager
def served(argv: list[str], folder: Path, path: str = "", *, cwd: Path) -> Generator[str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running([*argv, "--port", str(port)], url + path + CARD_PATH, folder / "server.log", cwd=cwd):
        yield url


@pytest.fixture(scope="module")
def booking(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("booking")
    argv = [str(PROGRAMS / "dragoman"), "serve", f"{ROOT / 'examples' / 'booking.py'}:agent"]
    with served(argv, folder, cwd=folder) as url:
        yield url


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    argv = [str(PROGRAMS / "uvicorn"), "examples.mounted:app", "--log-level", "warning"]
    with served(argv, tmp_path_factory.mktemp("mounted"), "/shout", cwd=ROOT) as url:
        yield url


@pytest.fixture(scope="module")
def greeter(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("greeter")
    argv = [str(PROGRAMS / "dragoman"), "serve", f"{ROOT / 'examples' / 'language.py'}:agent"]
    with served(argv, folder, cwd=folder) as url:
        yield url


def stay(city: Json) -> Part:
    return Part(data={"city": city, "nights": 3})


async def test_a_booking_is_made_after_the_price_was_agreed_to(booking: str) -> None:
    async with connect(booking) as desk:
        with pytest.raises(InputRequired, match="3 nights in Lisbon cost 285 euros") as asked:
            await desk.ask(stay("Lisbon"))
        task = await (await asked.value.handle.reply("yes")).result()
        assert len(task.artifacts) == 1
        booked = task.artifacts[0].parts[0].data
        assert isinstance(booked, dict)
        assert booked["price"] == 285
        assert str(booked["code"]).startswith("LIS-")


async def test_a_price_that_is_not_agreed_to_books_nothing(booking: str) -> None:
    async with connect(booking) as desk:
        with pytest.raises(InputRequired) as asked:
            await desk.ask(stay("Porto"))
        with pytest.raises(TaskFailed, match="Nothing was booked") as ended:
            await (await asked.value.handle.reply("no")).result()
        assert ended.value.state is TaskState.FAILED
        assert ended.value.task.artifacts == ()


async def test_a_city_without_rooms_is_rejected_and_a_city_that_is_none_refused(booking: str) -> None:
    async with connect(booking) as desk:
        with pytest.raises(TaskFailed, match="No rooms in Rome") as ended:
            await desk.ask(stay("Rome"))
        assert ended.value.state is TaskState.REJECTED
        with pytest.raises(InvalidParamsError) as refused:
            await desk.ask(stay(5))
        assert refused.value.violations[0].field.endswith("city")


async def test_the_router_takes_text_to_the_other_skill(booking: str) -> None:
    async with connect(booking) as desk:
        assert "Oslo: 160" in await desk.ask("What does a night cost?")


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_agents_in_one_application_answer_under_their_own_paths(mounted: str, binding: str) -> None:
    async with connect(f"{mounted}/shout", bindings=[binding]) as shout:
        assert (await shout.card()).name == "Shout"
        assert await shout.ask("hello") == "HELLO"
    async with connect(f"{mounted}/count", bindings=[binding]) as count:
        answer = await count.start("one two three")
        assert not isinstance(answer, Message)
        assert (await answer.result()).text == "3"


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_a_caller_is_greeted_in_its_language(greeter: str, binding: str) -> None:
    def reads(language: Json) -> Message:
        return Message(
            message_id=str(uuid.uuid4()), role=Role.USER, parts=(Part(text="Ana"),), metadata={LANGUAGE: language}
        )

    async with connect(greeter, bindings=[binding], extensions=[LANGUAGE]) as caller:
        assert await caller.ask(reads("pt")) == "Olá, Ana!"
        for unheard in ("xx", ["pt"], None):
            with pytest.raises(InvalidParamsError, match="languages are en, no, pt"):
                await caller.ask(reads(unheard))
    async with connect(greeter, bindings=[binding]) as caller:
        assert await caller.ask(reads("pt")) == "Hello, Ana!"


async def test_what_the_counting_agent_asks_is_asked_of_who_called_the_relay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = [str(PROGRAMS / "dragoman"), "serve"]
    with served([*serve, f"{ROOT / 'examples' / 'slow.py'}:agent"], tmp_path, cwd=tmp_path) as counting:
        monkeypatch.setenv("COUNTING_AGENT", counting)
        with served([*serve, f"{ROOT / 'examples' / 'relay.py'}:agent"], tmp_path, cwd=tmp_path) as url:
            async with connect(url) as relay:
                with pytest.raises(InputRequired, match="Up or down") as asked:
                    await relay.ask("3 0")
                task = await (await asked.value.handle.reply("down")).result()
    assert task.artifacts[0].text == "They say: 3 2 1 "
