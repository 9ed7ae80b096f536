"""`Agent`: skills, what the card says, and where it is served."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Unpack, overload

import msgspec

from dragoman.agent.card import check_schemes, inferred_capabilities, secured, skill_card
from dragoman.agent.executor import SkillExecutor
from dragoman.agent.extending import AnyExtension, Extending
from dragoman.agent.policy import PolicyOptions, policy_of
from dragoman.agent.served import Served
from dragoman.agent.skill import Skill, check_skills
from dragoman.errors import ConfigurationError
from dragoman.outbound.files import FetchOptions, FileFetcher
from dragoman.ports.access import AccessPolicy, ExtendedCard, TenantPolicy
from dragoman.ports.agent import Policy
from dragoman.ports.audit import Audit
from dragoman.ports.auth import Authenticator
from dragoman.ports.limits import CallLimits
from dragoman.push.options import PushOptions
from dragoman.server import Binding, CardShape, Server, Settings, SignCards, watched
from dragoman.types.card import AgentCapabilities, AgentCard, AgentInterface, AgentProvider, AgentSkill

__all__ = ["Agent"]

F = TypeVar("F", bound=Callable[..., Any])

TEXT = "text/plain"


class Agent(Served):
    """An A2A agent: functions as skills, served over every binding from one ASGI application.

    What is not given is inferred: interfaces from what is served, their URL from the request, modes as plain text.

    Args:
        name: The agent's name. Its slug names the default store, `.dragoman/<slug>.db`.
        description: What it does, for people and other agents.
        version: The agent's own version.
        store: `memory`, or `sqlite:///path` (four slashes for an absolute path), with `?synchronous=normal` to trade
            the last commits before a power loss for speed. Default: the file above when served, memory in process.
        auth: By what callers are known: schemes of `dragoman.auth`, such as `Bearer(...) | ApiKey(...)`. The card says
            it, every call over every binding is held to it, and nobody sees what another principal has. Default:
            callers are not asked, and share one anonymous scope.
        access: Who shares tasks with whom: `principal`, nobody with anybody; `tenant`, all of a tenant;
            `by_claim("org")`, all of whom an issuer states the same; or a function of the principal that names a group
            (empty: alone).
        tenants: The tenants that a principal may name: `by_claim("tenants")`, a mapping by the principal's id, or a
            function of the principal. Default: any, since data is by principal anyway.
        audit: What is told of who was let in, and who was not: an `AuditLog`. Default: the logger `dragoman.audit`.
        url: The public URL of the interfaces. Default: what the caller's request names.
        input_modes: Media types that the agent takes. Enforced only if given; the card says `text/plain` otherwise.
        output_modes: Media types that it gives; informative.
        streaming: Whether the streaming operations are offered.
        push: Whether callers may have webhooks called about their tasks; `PushOptions` says how that is done, and what
            may be called. Default: yes, public addresses over https.
        fetch: What `part.fetch()` may call for handlers, and how much it reads. Default: public addresses over https,
            16 MiB in 30 seconds.
        extensions: Protocol extensions, beside that of `docs/reliable.md`: entries of the card, or what makes its own
            entry and does something, such as `dragoman.extensions.Timestamps()`. Callers must name required ones.
        capabilities: Replaces what `streaming`, `push` and `extensions` say to be there.
        interfaces: Replaces the interfaces that are inferred.
        extended_card: The card for callers who ask for more, or a function that gives each principal its own; its
            presence declares the capability. What it leaves out is as in the public card.
        sign_cards: A `KeyRing` that signs both cards, or a `CardSigner` (`docs/cards.md`). Together with `url`: without
            it whatever host a request names is signed. Default: nobody signs.
        trusted_proxies: Addresses or networks whose `Forwarded` and `X-Forwarded-*` headers are believed. What proxies
            append counts, never what came before it: of `Forwarded` the element of the outermost trusted proxy in the
            row, of `X-Forwarded-Proto`, `-Host` and `-Prefix` each the last.
        client_cert_header: Whether trusted proxies verify certificates of callers, say them in `Client-Cert` (RFC
            9440), and let no such header of a caller through. Default: nobody's word counts.
        missing_version: How a request without `A2A-Version` is taken: `strict` refuses it, as the specification has
            it (section 3.6.2), `by-grammar` takes it for what it looks like.
        media_type: `accept` answers HTTP+JSON with `application/a2a+json` unless the caller accepts only
            `application/json`; `json` always with that.
        card_shape: `everyone` adds to the card what readers of 0.3 look for; `strict-1.0` has members of 1.0 alone.
        bindings: Further bindings from outside, served and declared beside the built-in ones.
        limits: What callers may ask for, how often, and what a task may hold (`docs/limits.md`).
        max_body_bytes: Longest request body, in place of what `limits` says; beyond it callers get 413.
        cancel_grace: Seconds that a cancelled handler has to clean up.
        drain_grace: Seconds that running tasks have to end when the server stops.
        keep_alive: Seconds between comments on an idle stream.
        idempotency: What becomes of a message that has the id of another one, for callers whose messages are taken once
            (`docs/reliable.md`): `lenient` takes it for a message of its own, `strict` refuses it.
        idempotency_ttl: Seconds for which the id of a message is known. Default one day.
        log_retention: Seconds for which streams can go on after the end of a task. Default one hour; None: for good.
        retention: Seconds for which a task is kept after its end. Default: for good.
        max_running: How many tasks run at once; the others wait in SUBMITTED, the longest waiting first. A handler that
            waits for another task of its own agent holds its place. Default: no limit.
        on_crash: What becomes of a task whose server was lost: `fail` ends it as FAILED with reason `worker-lost`,
            `resume` calls its handler again, with the answers and results of steps that are stored, `rerun` calls it
            again from the start. This and what follows can be said for a single skill too.
        max_attempts: How often a turn is begun at most when its server is lost again and again. Default 3.
        deadline: Seconds from a turn's beginning, or its last answer, until its task is FAILED. Default: no limit.
        idle_timeout: Seconds that a handler may emit nothing before its task is FAILED. Default: no limit.
    """

    def __init__(
        self,
        name: str,
        description: str = "",
        *,
        version: str = "0.1.0",
        store: str | None = None,
        auth: Authenticator | None = None,
        access: AccessPolicy = "principal",
        tenants: TenantPolicy | None = None,
        audit: Audit | None = None,
        url: str | None = None,
        provider: AgentProvider | None = None,
        documentation_url: str | None = None,
        icon_url: str | None = None,
        input_modes: Sequence[str] | None = None,
        output_modes: Sequence[str] | None = None,
        streaming: bool = True,
        push: bool | PushOptions = True,
        fetch: FetchOptions | None = None,
        extensions: Sequence[AnyExtension] = (),
        capabilities: AgentCapabilities | None = None,
        interfaces: Sequence[AgentInterface] | None = None,
        extended_card: ExtendedCard | None = None,
        sign_cards: SignCards | None = None,
        trusted_proxies: Sequence[str] = (),
        client_cert_header: bool = False,
        missing_version: Literal["strict", "by-grammar"] = "strict",
        media_type: Literal["accept", "json"] = "accept",
        card_shape: CardShape = "everyone",
        bindings: Sequence[Binding] = (),
        limits: CallLimits | None = None,
        max_body_bytes: int | None = None,
        cancel_grace: float = 5.0,
        drain_grace: float = 10.0,
        keep_alive: float = 15.0,
        idempotency: Literal["lenient", "strict"] = "lenient",
        idempotency_ttl: float = 86_400.0,
        log_retention: float | None = 3_600.0,
        retention: float | None = None,
        max_running: int | None = None,
        **policy: Unpack[PolicyOptions],
    ) -> None:
        if not name.strip():
            raise ConfigurationError("an agent needs a name")
        self.name = name
        self._extending = Extending(extensions, capabilities)
        self._card = AgentCard(
            name=name,
            description=description,
            version=version,
            supported_interfaces=tuple(interfaces or ()),
            capabilities=capabilities
            or inferred_capabilities(
                streaming=streaming,
                push=push is not False,
                extended_card=extended_card is not None,
                extensions=self._extending.declared,
            ),
            default_input_modes=tuple(input_modes or (TEXT,)),
            default_output_modes=tuple(output_modes or (TEXT,)),
            skills=(),
            provider=provider,
            documentation_url=documentation_url,
            icon_url=icon_url,
        )
        self._input_modes = None if input_modes is None else tuple(input_modes)
        self._store = store
        self._fetch = fetch
        self._settings = Settings(
            owner=name,
            auth=auth,
            access=access,
            tenants=tenants,
            audit=audit,
            url=url,
            push=push if isinstance(push, PushOptions) else PushOptions(),
            extended_card=extended_card,
            sign_cards=sign_cards,
            trusted_proxies=tuple(trusted_proxies),
            client_cert_header=client_cert_header,
            missing_version=missing_version,
            media_type=media_type,
            card_shape=card_shape,
            bindings=tuple(bindings),
            extensions=self._extending.hooks,
            limits=(limits or CallLimits()).with_body(max_body_bytes),
            cancel_grace=cancel_grace,
            drain_grace=drain_grace,
            keep_alive=keep_alive,
            max_running=max_running,
            idempotency=idempotency,
            idempotency_ttl=idempotency_ttl,
            log_retention=log_retention,
            retention=retention,
        )
        self._policy = policy_of(Policy(), policy)
        self._skills: dict[str, Skill] = {}
        self._router: Skill | None = None
        self._live: list[Server] = []

    # What the agent can do.

    @overload
    def skill(self, handler: F, /) -> F: ...

    @overload
    def skill(
        self,
        handler: None = None,
        /,
        *,
        tags: Sequence[str] = (),
        id: str | None = None,
        name: str | None = None,
        description: str | None = None,
        examples: Sequence[str] = (),
        input_modes: Sequence[str] = (),
        output_modes: Sequence[str] = (),
        auth: Authenticator | None = None,
        **policy: Unpack[PolicyOptions],
    ) -> Callable[[F], F]: ...

    def skill(
        self,
        handler: Callable[..., Any] | None = None,
        /,
        *,
        tags: Sequence[str] = (),
        id: str | None = None,  # noqa: A002 -- the specification's word for it (section 4.4.5)
        name: str | None = None,
        description: str | None = None,
        examples: Sequence[str] = (),
        input_modes: Sequence[str] = (),
        output_modes: Sequence[str] = (),
        auth: Authenticator | None = None,
        **policy: Unpack[PolicyOptions],
    ) -> Any:
        """Makes a function a skill. Id, name and description come from the function's name and docstring.

        The function is an async generator, an async function, a generator or a function; the last two run in a
        thread. Its parameters are filled by annotation: `TaskContext`, `Message`, `str` (the text), or a Pydantic
        model, dataclass or msgspec Struct (the message's first data part, validated before a task is made). What it
        yields or returns goes to the caller: `str` as chunks of one text artifact, anything else as artifacts. With
        `-> Message` it answers directly, and no task is made. `on_crash`, `max_attempts`, `deadline` and `idle_timeout`
        stand in for those of the agent. `auth` is what callers of this skill must bring beside what the agent asks
        for, such as `bearer.needing("pay")`: each message to it is held to that, and the card says it.

        Raises:
            ConfigurationError: the id is taken, a parameter cannot be filled, an option has no such value, or `auth` is
                asked for by an agent that has none, or has another scheme under one name.
        """

        def register(function: F) -> F:
            modes = (input_modes, output_modes)
            card = skill_card(function, id, name, description, tags=tags, examples=examples, modes=modes, auth=auth)
            check_schemes(card.id, auth, self._settings.auth, self.card)
            if card.id in self._skills:
                raise ConfigurationError(f"the skill {card.id} is defined twice; give one of them another id=")
            self._skills[card.id] = Skill.of(function, card, policy=policy_of(self._policy, policy), auth=auth)
            return function

        return register if handler is None else register(handler)

    def router(self, function: F) -> F:
        """Makes this function pick the skill for each new task: it gives the skill's function, or its id.

        Its parameters are filled as those of a skill, but for `TaskContext`: there is no task yet.
        """
        if self._router is not None:
            raise ConfigurationError("this agent has a router already")
        card = AgentSkill(id=function.__name__, name="router", description="router")
        self._router = Skill.of(function, card, tasks=False)
        return function

    # How it is put together.

    @property
    def card(self) -> AgentCard:
        """The card as far as it does not depend on where the agent is served."""
        skills = tuple(skill.card for skill in self._skills.values())
        card = self._extending.entered(msgspec.structs.replace(self._card, skills=skills))
        return secured(card, self._settings.auth, [skill.auth for skill in self._skills.values()])

    @property
    def _default_store(self) -> str:
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "agent"
        return f"sqlite:///.dragoman/{slug}.db"

    def _served(self, store: str | None, **changes: Any) -> Server:
        return self._server(store or self._store or self._default_store, changes)

    def _in_process(self) -> Server:
        return self._server(self._store or "memory", {})

    def _server(self, store: str, changes: Mapping[str, Any]) -> Server:
        check_skills(self.name, self._skills, self._router)
        stated = {name: value for name, value in changes.items() if value is not None}
        settings = msgspec.structs.replace(self._settings, **stated)
        files, active = FileFetcher(self._fetch), self._extending.active
        skills = {
            key: msgspec.structs.replace(skill, auth=watched(skill.auth, settings.limits))
            for key, skill in self._skills.items()
        }
        executor = SkillExecutor(skills, self._router, self._input_modes, files, active)
        return Server(executor, self.card, store, settings, self._live)
