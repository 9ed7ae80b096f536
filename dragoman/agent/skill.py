"""A function as a skill: what it is called, what it takes, how it is driven."""

import enum
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.agent.content import is_model
from dragoman.agent.context import Knowledge, TaskContext
from dragoman.agent.threads import BlockingTaskContext
from dragoman.errors import (
    ConfigurationError,
    ContentTypeNotSupportedError,
    FieldViolation,
    InvalidParamsError,
)
from dragoman.ports.agent import Policy
from dragoman.ports.auth import Authenticator
from dragoman.types.card import AgentSkill
from dragoman.types.content import Message, Part

__all__ = ["Form", "Skill", "check_modes", "check_skills"]

Handler = Callable[..., Any]


class Form(enum.Enum):
    """The four kinds of handlers; the last two run in a thread."""

    ASYNC_GENERATOR = "async generator"
    COROUTINE = "async function"
    GENERATOR = "generator"
    FUNCTION = "function"

    @property
    def threaded(self) -> bool:
        return self in (Form.GENERATOR, Form.FUNCTION)


class Skill(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A handler with its entry in the card."""

    handler: Handler
    form: Form
    card: AgentSkill
    parameters: tuple[tuple[str, Any], ...]
    models: tuple[Any, ...]
    """The kinds of its parameters that are read from the data part."""
    direct: bool
    """Whether it answers with a message and makes no task."""
    policy: Policy = Policy()
    auth: Authenticator | None = None
    """What its callers must bring beside what the agent asks for."""

    @classmethod
    def of(
        cls,
        handler: Handler,
        card: AgentSkill,
        *,
        tasks: bool = True,
        policy: Policy | None = None,
        auth: Authenticator | None = None,
    ) -> "Skill":
        """Reads the handler's signature. Without `tasks` it is called before there is one.

        Raises:
            ConfigurationError: a parameter cannot be filled, or a direct answer is streamed.
        """
        hints = _hints(handler)
        form = _form(handler)
        direct = hints.get("return") is Message
        if direct and form in (Form.ASYNC_GENERATOR, Form.GENERATOR):
            raise ConfigurationError(f"{card.id} answers directly (-> Message), so it cannot yield; return the message")
        parameters = tuple(
            (name, _filled(card.id, parameter, hints.get(name)))
            for name, parameter in inspect.signature(handler).parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and not (name not in hints and parameter.default is not parameter.empty)
        )
        if (direct or not tasks) and any(kind in (TaskContext, BlockingTaskContext) for _, kind in parameters):
            raise ConfigurationError(
                f"{card.id} is called without a task, so it cannot take a TaskContext; take Message or str"
            )
        models = tuple(kind for _, kind in parameters if is_model(kind) and kind is not Message)
        return cls(
            handler=handler,
            form=form,
            card=card,
            parameters=parameters,
            models=models,
            direct=direct,
            policy=policy or Policy(),
            auth=auth,
        )

    def arguments(self, message: Message, context: Knowledge | None) -> dict[str, Any]:
        """The handler's arguments for this message.

        Raises:
            InvalidParamsError: the data is not what the handler takes; each violation names its member.
        """
        return {name: _argument(kind, message, context) for name, kind in self.parameters}

    def check(self, message: Message) -> None:
        """Raises `InvalidParamsError` if the message does not fit the handler."""
        for kind in self.models:
            _decoded(kind, message)


def _form(handler: Handler) -> Form:
    if inspect.isasyncgenfunction(handler):
        return Form.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(handler):
        return Form.COROUTINE
    if inspect.isgeneratorfunction(handler):
        return Form.GENERATOR
    return Form.FUNCTION


def _hints(handler: Handler) -> dict[str, Any]:
    try:
        return typing.get_type_hints(handler)
    except NameError as error:
        raise ConfigurationError(f"the annotations of {handler.__name__} cannot be read: {error}") from error


def _filled(skill: str, parameter: inspect.Parameter, kind: Any) -> Any:
    if kind in (TaskContext, BlockingTaskContext, Message, str) or is_model(kind):
        return kind
    raise ConfigurationError(
        f"the parameter {parameter.name!r} of {skill} needs an annotation that says what to fill it with: "
        "TaskContext, Message, str (the text), or a Pydantic model, dataclass or msgspec Struct (the data part)"
    )


def _argument(kind: Any, message: Message, context: Knowledge | None) -> Any:
    if kind is Message:
        return message
    if kind is str:
        return message.text
    if kind in (TaskContext, BlockingTaskContext):
        return context
    return _decoded(kind, message)


def _decoded(kind: Any, message: Message) -> Any:
    index, data = _data_part(kind, message)
    path = f"message.parts[{index}].data"
    if hasattr(kind, "model_validate"):
        return _decoded_by_pydantic(kind, data, path)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$")
        raise _mismatch(kind, [FieldViolation(path + where.rstrip("`"), text)]) from error


def _data_part(kind: Any, message: Message) -> tuple[int, Any]:
    for index, part in enumerate(message.parts):
        if part.data is not msgspec.UNSET:
            return index, part.data
    raise _mismatch(kind, [FieldViolation("message.parts", f"needs a data part with a {kind.__name__}")])


def _decoded_by_pydantic(kind: Any, data: Any, path: str) -> Any:
    try:
        return kind.model_validate(data)
    except ValueError as error:
        errors: Sequence[Mapping[str, Any]] = getattr(error, "errors", list)()
        violations = [
            FieldViolation(
                path + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in item["loc"]), item["msg"]
            )
            for item in errors
        ]
        raise _mismatch(kind, violations) from error


def _mismatch(kind: Any, violations: list[FieldViolation]) -> InvalidParamsError:
    return InvalidParamsError(f"The data does not fit {kind.__name__}", violations=violations)


def check_skills(agent: str, skills: Mapping[str, Skill], router: Skill | None) -> None:
    """Raises `ConfigurationError` if the agent of this name has no skill, or nothing that picks one of several."""
    if not skills:
        raise ConfigurationError(f"{agent} has no skill; decorate a function with @agent.skill")
    if len(skills) > 1 and router is None:
        raise ConfigurationError(
            f"{agent} has several skills ({', '.join(skills)}); decorate a function with @agent.router that picks one "
            "for each new task"
        )


def check_modes(message: Message, modes: Sequence[str]) -> None:
    """Raises `ContentTypeNotSupportedError` for the first part that is of none of these media types."""
    for index, part in enumerate(message.parts):
        media_type = _media_type(part)
        if media_type is not None and not any(_covers(mode, media_type) for mode in modes):
            raise ContentTypeNotSupportedError(
                f"message.parts[{index}] is {media_type}; this agent takes {', '.join(modes)}"
            )


def _media_type(part: Part) -> str | None:
    """What the part says it is, or what it is by its kind; None for a file that does not say."""
    if part.media_type is not None:
        return part.media_type.partition(";")[0].strip().lower()
    if part.text is not None:
        return "text/plain"
    return "application/json" if part.data is not msgspec.UNSET else None


def _covers(mode: str, media_type: str) -> bool:
    mode = mode.partition(";")[0].strip().lower()
    return mode in ("*/*", media_type) or (mode.endswith("/*") and media_type.startswith(mode[:-1]))
