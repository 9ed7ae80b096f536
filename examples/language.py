"""An extension of one's own: callers say which language they read. dragoman serve examples/language.py:agent"""

from dragoman import Agent, TaskContext
from dragoman.errors import InvalidParamsError
from dragoman.extensions import ExtendedCall, Extension, Request
from dragoman.types import SendMessageRequest

URI = "https://example.com/extensions/language/v1"
GREETINGS = {"en": "Hello", "no": "Hei", "pt": "Olá"}
OFFERED = {"languages": [*GREETINGS]}


class Language(Extension):
    uri = URI
    description = "The metadata of a message say under the extension's URI which language its sender reads."
    params = OFFERED

    def on_request(self, request: Request, call: ExtendedCall) -> Request:
        if isinstance(request, SendMessageRequest) and str((request.message.metadata or {}).get(URI)) not in GREETINGS:
            raise InvalidParamsError(f"{call.operation}: languages are {', '.join(GREETINGS)}")
        return request


agent = Agent("Greeter", "Greets in the caller's language.", extensions=[Language()])


@agent.skill
async def greet(task: TaskContext) -> str:
    return f"{GREETINGS[str(task.metadata[URI]) if task.extension(URI) else 'en']}, {task.text}!"
