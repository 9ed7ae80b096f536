"""`make demo`: serves the echo agent, calls it in every way, shows what was stored. Ends with 1 if anything fails."""

import asyncio
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from dragoman import connect
from dragoman.types import Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from scripts.programs import CARD_PATH, free_port, running

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).parent / "dragoman"
PATIENCE = 30.0


def main() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        argv = [str(PROGRAM), "serve", str(ROOT / "examples" / "echo.py") + ":agent", "--port", str(port)]
        say(f"Serving examples/echo.py on {url}, tasks in a temporary folder")
        with running(argv, url + CARD_PATH, Path(folder) / "echo.log", cwd=Path(folder)):
            say("The agent's card")
            shown("card", "get", "-a", url)
            for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
                say(f"A message over {binding}, from the command line, then streamed")
                expect("hello", shown("send", "-a", url, "--transport", binding, "hello"))
                shown("send", "-a", url, "--transport", binding, "--stream", "hello again")
                say(f"The same over {binding}, from Python")
                task_id = asyncio.run(call(url, binding))
            say("The last task, as it is stored")
            expect(task_id, shown("task", "get", "-a", url, task_id))
            say("All tasks")
            expect(task_id, shown("task", "list", "-a", url))
    say("Done; the server has ended")


async def call(url: str, binding: str) -> str:
    """Asks, streams and starts; gives the id of the last task."""
    async with asyncio.timeout(PATIENCE), connect(url, bindings=[binding]) as echo:
        print(f"ask     {expect('hello', await echo.ask('hello'))}")
        streamed = ""
        async for event in echo.stream("word by word"):
            match event:
                case Task(id=task_id, state=state):
                    print(f"stream  task {task_id} is {state.value}")
                case TaskArtifactUpdateEvent(artifact=artifact):
                    streamed += artifact.text
                    print(f"stream  text {artifact.text!r}")
                case TaskStatusUpdateEvent(status=status):
                    print(f"stream  task is {status.state.value}")
                case _:
                    print(f"stream  {event}")
        expect("word by word", streamed)
        handle = await echo.start("a long job")
        if isinstance(handle, Message):
            sys.exit(f"The agent answered without a task: {handle}")
        print(f"start   task {handle.id}")
        done: Task = await handle.result()
        print(f"result  {expect('a long job', done.text)}")
        return done.id


def shown(*arguments: str) -> str:
    """Runs one command of the program, and gives what it printed."""
    command = ["dragoman", *arguments]
    print(f"$ {shlex.join(command)}")
    run = subprocess.run(
        [str(PROGRAM), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    print(run.stdout, end="")
    if run.returncode:
        sys.exit(f"It ended with {run.returncode}.")
    return run.stdout


def expect(text: str, within: str) -> str:
    if text not in within:
        sys.exit(f"Expected {text!r} in {within!r}.")
    return within


def say(line: str) -> None:
    print(f"\n== {line}", flush=True)


if __name__ == "__main__":
    main()
