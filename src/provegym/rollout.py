"""The agent loop: plays an example with a policy, runs its tool calls, and scores the rollout.

Synthesis, training and evaluation all use this loop. If a policy raises, or a server is missing or
has a bug, only this rollout ends, with a reason; the rest of the batch goes on. Any other
exception is a bug of ProveGym and is raised.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from provegym.callable_module import make_callable
from provegym.kernel import Bug, Session
from provegym.kernel.errors import quote, suggest
from provegym.models.dialects import openai
from provegym.rewards import PAPER, Scheme, rescore
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Call, Checks, Ended, Example, Json, Reply, Rollout, ToolCall
from provegym.trace.bounds import LONGEST_MESSAGE, is_too_deep


@runtime_checkable
class Policy(Protocol):
    """Plays the assistant: a model, an endpoint or a script. Any object with this method is one.

    >>> class Polite:
    ...     async def reply(self, messages, tools):
    ...         return provegym.Reply(text="I cannot do that.")
    >>> isinstance(Polite(), provegym.Policy)
    True
    """

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next message, given everything said so far and the tools shown."""


AHEAD = 16
MakePolicy = Callable[[Example], Policy]
A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True)
class Caps:
    """Limits of a rollout (§4.1)."""

    user_turns: int = 5
    assistant_turns: int = 10
    calls: int = 64
    tokens: int = 16_384


PAPER_CAPS = Caps()


class Begun(NamedTuple):
    """The beginning of a rollout, before one of its replies: other rollouts can go on from it."""

    session: Session
    messages: tuple[Json, ...]
    calls: tuple[Call, ...]
    turn: int
    tokens: int = 0


@dataclass
class Player:
    """The state of one running rollout; `play` runs it whole, or a caller runs it step by step."""

    example: Example
    caps: Caps = PAPER_CAPS
    toolbox: Toolbox = field(init=False)
    session: Session = field(init=False)
    messages: list[Json] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    replies: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    ended: Ended = "done"

    async def play(self, policy: Policy, begun: Begun | None = None) -> None:
        """Play all user turns; a turn ends when the policy replies without a call.

        With a beginning, go on from there; its last user message was heard already.
        """
        if begun is None:
            self.open()
        else:
            self.go_on_from(begun)
        tools = self.toolbox.openai()
        first = 0 if begun is None else begun.turn
        for number in range(first, len(self.example.turns[: self.caps.user_turns])):
            if begun is None or number > begun.turn:
                self.hear(number)
            while True:
                if self.replies == self.caps.assistant_turns:
                    self.ended = "turns"
                    return
                reply = await policy.reply(self.messages, tools)
                if not self.take(reply, number):
                    break
            if self.ended != "done":
                return

    def open(self) -> None:
        """Set up the toolbox, a new session and the system message."""
        self.toolbox = Toolbox.of(self.example)
        self.session = self.toolbox.session(self.example.seed)
        self.messages.append({"role": "system", "content": self.example.system})

    def go_on_from(self, begun: Begun) -> None:
        """Set up the toolbox, and the state that another rollout had; its world is forked."""
        self.toolbox = Toolbox.of(self.example)
        self.session = begun.session.fork()
        self.messages = list(begun.messages)
        self.calls = list(begun.calls)
        self.replies = sum(message["role"] == "assistant" for message in begun.messages)
        self.tokens = begun.tokens

    def hear(self, turn: int) -> None:
        """Advance the clock to a user turn, then add the user's message."""
        said = self.example.turns[turn]
        self.session.advance(said.minutes)
        self.messages.append({"role": "user", "content": said.text})

    def take(self, reply: Reply, turn: int) -> bool:
        """Record a reply and run its calls; returns whether the turn goes on."""
        self.replies += 1
        self.tokens += reply.tokens
        self.prompt_tokens += reply.prompt_tokens
        made = len(self.calls)
        calls = tuple(
            msgspec.structs.replace(call, id=f"call_{made + at}")
            for at, call in enumerate(reply.calls)
        )
        self.messages.append(openai.message(msgspec.structs.replace(reply, calls=calls)))
        for call in calls:
            if len(self.calls) == self.caps.calls:
                self.ended = "calls"
                return False
            self.calls.append(self.run(call, turn))
            content = self.shown(call, self.calls[-1])
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        if self.tokens > self.caps.tokens:
            self.ended = "tokens"
            return False
        return bool(calls)

    def run(self, asked: ToolCall, turn: int) -> Call:
        """Check a call against the toolbox, run it, and record its result and changes.

        The record is plain. Under an alias, a name that the model was not shown gets a mark, so
        that it is never taken for a plain name.
        """
        view = self.toolbox.view
        given = _read_arguments(asked.arguments)
        name = view.read_tool(asked.name)
        tool = self.toolbox.tools.get(name)
        arguments = given if given is None or tool is None else view.read_arguments(name, given)
        made = Call(turn=turn, message=self.replies, tool=name, arguments=arguments)
        made = msgspec.structs.replace(made, writes=tool is not None and tool.writes)
        if arguments is None or not asked.name:
            error = 'the call is not JSON of the form {"name": …, "arguments": {…}}'
            result = _error("malformed", f"{error}: {quote(asked.arguments)}")
            return msgspec.structs.replace(made, arguments=None, error="malformed", result=result)
        if tool is None:
            hint = suggest(name, list(self.toolbox.tools))
            result = _error("not_found", f"unknown tool {quote(name)}; {hint}")
            return msgspec.structs.replace(made, error="not_found", result=result)
        fits = self.toolbox.fits(name, arguments)
        outcome = self.session.call(tool.name, arguments)
        changes = tuple(self.session.changes(tool.name)) if outcome.ok and tool.writes else ()
        whose = self.session.tools.get(tool.name, ())[1:]  # none if the tool has only a schema
        return msgspec.structs.replace(
            made,
            checks=Checks(shown=True, fits=fits, ran=outcome.ok),
            error=outcome.error,
            result=outcome.text,
            diff=changes,
            digest=self.session.digest(*whose),
        )

    def shown(self, asked: ToolCall, made: Call) -> str:
        """The result of a call, as the model sees it."""
        return self.toolbox.view.show_result(asked, made, list(self.toolbox.tools))

    def rollout(self, name: str) -> Rollout:
        """The rollout so far, without a reward."""
        return Rollout(
            example=self.example,
            policy=name,
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            ended=self.ended,
            tokens=self.tokens,
            prompt_tokens=self.prompt_tokens,
        )


class PolicyError(Exception):
    """A policy raised an exception instead of replying; the message names it."""


@dataclass(frozen=True)
class _Blamed:
    """Wraps a policy: every exception it raises becomes a PolicyError, except a server's Bug."""

    policy: Policy

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        try:
            waiting = self.policy.reply(messages, tools)
            if not isawaitable(waiting):
                raise TypeError("reply() is not async; write `async def reply`")
            return _checked(await waiting)
        except Bug:
            raise
        except Exception as problem:
            raise PolicyError(_told(problem)) from problem


def _checked(said: Reply) -> Reply:
    if not isinstance(said, Reply):
        raise TypeError(f"reply() returned {said!r:.60}, not a provegym.Reply")
    for call in said.calls:
        if not isinstance(call.arguments, str):
            raise TypeError(f"the arguments of {call.name} are not JSON text; use json.dumps")
    for text in (said.text, *(part for call in said.calls for part in (call.name, call.arguments))):
        if len(text) > LONGEST_MESSAGE:
            raise ValueError(
                f"a reply has at most {LONGEST_MESSAGE:,} characters, not {len(text):,}"
            )
        text.encode()  # half of a character (a lone surrogate) cannot be written to a file
    return said


async def play(
    example: Example,
    policy: Policy,
    *,
    name: str,
    caps: Caps = PAPER_CAPS,
    scheme: Scheme | None = PAPER,
    begun: Begun | None = None,
) -> Rollout:
    """Play and score one example; after a policy error or a server bug there is no reward.

    With a beginning, the rollout goes on from there, and is scored as a whole. Without a scheme it
    is not scored: the caller does that.
    """
    player = Player(example, caps)
    try:
        await player.play(_Blamed(policy), begun)
        outcome = tuple(player.session.diff())
    except PolicyError as problem:
        failed = player.rollout(name)
        return msgspec.structs.replace(failed, ended="policy_error", reason=str(problem))
    except (Bug, BadFile) as problem:  # BadFile: the example's server or a tool of it is not here
        failed = player.rollout(name)
        return msgspec.structs.replace(failed, ended="server_bug", reason=_told(problem))
    ended = msgspec.structs.replace(player.rollout(name), outcome=outcome)
    return ended if scheme is None else rescore(ended, scheme)


def play_script(example: Example, make: MakePolicy, *, scheme: Scheme = PAPER) -> Rollout:
    """Play a policy that never waits, without an event loop."""
    return run_now(play(example, make(example), name="script", scheme=scheme))


def play_replies(
    example: Example, replies: Iterable[Reply], *, name: str, scheme: Scheme = PAPER
) -> Rollout:
    """Play and score recorded replies of a model, in a new session."""
    return run_now(play(example, _Said(list(replies)), name=name, scheme=scheme))


@dataclass
class _Said:
    """A policy that repeats recorded replies; after the last one the token limit is exceeded."""

    replies: list[Reply]

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        return self.replies.pop(0) if self.replies else Reply(tokens=PAPER_CAPS.tokens + 1)


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise TypeError("a policy that waits cannot be played as a script")


async def in_order(
    items: Iterable[A], do: Callable[[A], Coroutine[Any, Any, T]], concurrency: int = 8
) -> AsyncGenerator[T, None]:
    """Concurrent map with a limit; yields results in the order of the items.

    A slow item delays the output, but not the work: up to AHEAD * concurrency results may wait
    behind it. If the caller stops early, all running tasks are cancelled.
    """
    turn = asyncio.Semaphore(concurrency)

    async def one(item: A) -> T:
        async with turn:
            return await do(item)

    waiting: deque[asyncio.Task[T]] = deque()
    try:
        for item in items:
            waiting.append(asyncio.create_task(one(item)))
            if len(waiting) >= AHEAD * concurrency:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _read_arguments(text: str) -> Json | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) and not is_too_deep(value) else None


def _error(kind: str, message: str) -> str:
    return msgspec.json.encode({"error": kind, "message": message}).decode()


def _told(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"


make_callable(__name__)
