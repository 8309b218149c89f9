"""The Python API, as `import provegym` offers it: worlds, episodes, corpora, rollouts, rewards.

import provegym

session = provegym.Session([provegym.load("banking")], seed=7)     # a world to call
examples = provegym.synthesize(20, servers=["banking"])            # verified tasks
rollouts = provegym.rollout(examples, MyPolicy())                  # a policy plays them
episode = provegym.make(examples[0])                               # or step by step
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import msgspec
from rich.progress import Progress

from provegym import rewards, servers
from provegym.adapters.episode import Episode
from provegym.admission.verdict import RuleCheck
from provegym.conversation.kinds import Place, shape
from provegym.corpus.candidates import attempt
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import MIXES, Order
from provegym.kernel import AnyServer, Server
from provegym.kernel.errors import near
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED, PAPER, Scheme
from provegym.rollout import MakePolicy, Policy, in_order, play
from provegym.trace import Example, Json, Reply, Reward, Rollout, ToolCall, Verdict, read

SchemeName = Literal["paper", "hardened"]
SCHEMES: dict[str, Scheme] = {"paper": PAPER, "hardened": HARDENED}
# The first candidates of a server, of which the first verified one is the task of a seed.
MOST_CANDIDATES = 200


class Observation(NamedTuple):
    """What the policy sees: the chat messages so far, and the tools as OpenAI functions.

    >>> messages, tools = provegym.make("banking").reset()
    >>> messages[-1]["role"], tools[0]["type"]
    ('user', 'function')
    """

    messages: Sequence[Json]
    tools: list[Json]


class StepResult(NamedTuple):
    """The result of a step: what comes next, the reward at the end, and whether it is over.

    >>> observation, reward, done, info = provegym.make("banking").step("I do not know.")
    >>> reward
    0.0
    """

    observation: Observation
    reward: float
    done: bool
    info: dict[str, Any]


class Env:
    """A task to be played step by step, with `reset` and `step` as in Gymnasium; see `make`.

    The reward is 0 until the episode is over. Then `info` has the rollout, the parts of the reward
    and the three parts of success.

    >>> env = provegym.make("banking")
    >>> while not (result := env.step("I do not know.")).done: pass
    >>> sorted(result.info)
    ['answer', 'ended', 'parts', 'rollout', 'state', 'success']
    """

    def __init__(self, example: Example, scheme: Scheme) -> None:
        self.example = example
        self.scheme = scheme
        self._episode: Episode | None = None

    def __repr__(self) -> str:
        return f"<Env of {self.example.id}>"

    def reset(self) -> Observation:
        """Start the task again, in a world of its own."""
        self._episode = Episode(self.example, self.scheme)
        return self._see(self._episode)

    def step(self, reply: Reply | str | Json) -> StepResult:
        """Take the assistant's next message: a Reply, a text, or an OpenAI message."""
        if self._episode is None:
            self.reset()
        assert self._episode is not None
        if self._episode.rollout is not None:
            raise RuntimeError("the episode is over; reset() starts it again")
        self._episode.say(as_reply(reply))
        rollout = self._episode.rollout
        seen = self._see(self._episode)
        if rollout is None:
            return StepResult(seen, 0.0, False, {})
        verdict = rollout.verdict or Verdict()
        info = {
            "rollout": rollout,
            "parts": dict(rollout.reward.parts) if rollout.reward else {},
            "success": verdict.success,
            "state": verdict.state,
            "answer": verdict.answer,
            "ended": verdict.ended,
        }
        return StepResult(seen, rewards.paid(rollout), True, info)

    @staticmethod
    def _see(episode: Episode) -> Observation:
        return Observation(tuple(episode.messages), episode.tools)


def as_reply(reply: Reply | str | Json) -> Reply:
    """A reply from a text, or from a message in OpenAI's format."""
    if isinstance(reply, Reply):
        return reply
    if isinstance(reply, str):
        return Reply(text=reply)
    if not isinstance(reply, Mapping):
        raise TypeError(f"a reply is a provegym.Reply, a text or an OpenAI message, {_not(reply)}")
    if "content" not in reply and "tool_calls" not in reply:
        raise ValueError(f"an OpenAI message has 'content' or 'tool_calls'; this is {reply!r:.80}")
    return Reply(
        text=reply.get("content") or "", calls=tuple(map(_as_call, reply.get("tool_calls") or ()))
    )


def _as_call(call: Json) -> ToolCall:
    """A call of an OpenAI message; its arguments may also be an object instead of JSON text."""
    try:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
    except (KeyError, TypeError):
        right = {"function": {"name": "list_accounts", "arguments": "{}"}}
        raise ValueError(f"a call looks like {right}; this is {call!r:.80}") from None
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(name=name, arguments=text)


def load(name: str) -> AnyServer:
    """A server by name, such as "banking"; `provegym.names()` lists them.

    >>> len(provegym.load("banking").tools)
    17
    """
    if not isinstance(name, str):
        raise TypeError(f"a server's name is a text such as 'banking', {_not(name)}")
    if not servers.is_known(name):
        known = servers.known()
        hint = f"; {found}" if (found := near(name, known)) else ""
        raise ValueError(f"there is no server {name!r}; known are {', '.join(known)}{hint}")
    return servers.load(name)


def names() -> tuple[str, ...]:
    """The names of the servers: ours, then those of packages of your own.

    >>> provegym.names()[:3]
    ('banking', 'budget', 'calendar')
    """
    return servers.packaged()


def servers_from(folder: str | Path) -> None:
    """Let `load` find the servers of your own in a folder of packages, as --servers-from does.

    >>> provegym.servers_from("examples")
    >>> list(provegym.load("tea_shop").tools)
    ['list_teas', 'order_tea']
    """
    servers.look_in_packages(Path(folder))


def check_server(name: str) -> list[RuleCheck]:
    """Check a server rule by rule, as `provegym check-server` does; it takes some seconds.

    >>> rules = provegym.check_server("maps")  # doctest: +SKIP
    >>> [rule.name for rule in rules if not rule.holds]  # doctest: +SKIP
    []
    """
    from provegym.admission.check import check_server as checked

    return list(checked(load(name)))


def make(
    task: Example | AnyServer | str, *, seed: int = 0, scheme: SchemeName | Scheme = "paper"
) -> Env:
    """An environment for one task: an example, or a verified task that is drawn on a server.

    For a server, `seed` chooses the task.

    >>> env = provegym.make("banking", seed=3)
    >>> env.reset().messages[-1]["role"]
    'user'
    """
    if isinstance(task, Example):
        return Env(task, _scheme(scheme))
    if not isinstance(task, str | Server):
        raise TypeError(f"a task is an example, or a server or its name, {_not(task)}")
    return Env(_draw_task(_named(task), _whole("seed", seed)), _scheme(scheme))


def _draw_task(server: str, seed: int) -> Example:
    """The first verified multi-turn task among the candidates of a seed."""
    for number in range(MOST_CANDIDATES):
        place = Place(server, seed % 900, seed, number, servers.names())
        wanted = shape(place)
        if wanted.kind == "multi_turn" and (example := attempt((place, wanted)).example):
            return example
    raise ValueError(f"no task was found on {server} with seed {seed}; try another seed")


def synthesize(
    size: int,
    *,
    servers: str | AnyServer | Iterable[str | AnyServer] = (),
    seed: int = 0,
    mix: str = "paper",
    workers: int = 1,
) -> list[Example]:
    """Make verified examples in memory, as `provegym synth` does in files.

    All servers are used if none is named. `mix` is "paper", all kinds of examples in the paper's
    shares, or "multi_turn", those in which calls are right. The same seed gives the same examples.

    >>> examples = provegym.synthesize(2, servers=["maps"])
    >>> [example.server for example in examples]
    ['maps', 'maps']
    """
    if _whole("size", size) < 1:
        raise ValueError(f"size is how many examples to make, 1 or more, not {size}")
    if mix not in MIXES:
        raise ValueError(f"there is no mix {mix!r}; known are {', '.join(MIXES)}")
    named = [servers] if isinstance(servers, str | Server) else servers
    chosen = tuple(dict.fromkeys(map(_named, named)))
    _whole("seed", seed)
    with TemporaryDirectory(prefix="provegym-") as folder:
        order = Order(size, seed, Path(folder) / "corpus", chosen, workers, mix)
        corpus = Corpus(order)
        corpus.make(Progress(disable=True))
        if missing := corpus.missing():
            raise ValueError(missing)
        return list(read(order.out, Example))


def rollout(
    examples: Example | Iterable[Example],
    policy: Policy | Callable[[Example], Policy] | str,
    *,
    scheme: SchemeName | Scheme = "paper",
    concurrency: int = 8,
) -> list[Rollout]:
    """Play examples with a policy, and score them.

    `policy` is a policy, a function that makes one for each example, or the name of a script:
    "oracle" makes the right calls, "noop" none. `concurrency` is how many rollouts wait for their
    policy at the same time.

    >>> example = provegym.make("banking").example
    >>> (played,) = provegym.rollout(example, "oracle")
    >>> played.ended, played.reward.total, played.verdict.success
    ('done', 1.3, True)
    """
    chosen = [examples] if isinstance(examples, Example | str) else list(examples)
    for example in chosen:
        _check(example, Example, "provegym.read(path, provegym.Example) reads them from a file")
    paid_by, make_policy = _scheme(scheme), _policy_maker(policy)

    def one(example: Example) -> Any:
        playing = make_policy(example)
        name = policy if isinstance(policy, str) else type(playing).__name__
        return play(example, playing, name=name, scheme=paid_by)

    async def run() -> list[Rollout]:
        return [each async for each in in_order(chosen, one, concurrency)]

    return asyncio.run(run())


def _policy_maker(policy: Policy | Callable[[Example], Policy] | str) -> MakePolicy:
    if isinstance(policy, str):
        if policy not in SCRIPTS:
            raise ValueError(f"there is no script {policy!r}; known are {', '.join(SCRIPTS)}")
        return SCRIPTS[policy]
    if isinstance(policy, type):
        name = policy.__name__
        raise TypeError(f"{name} is a class; pass an object, such as {name}(), or a function")
    if isinstance(policy, Policy):
        return lambda _: policy
    if not callable(policy):
        wanted = "an object with `async def reply(self, messages, tools)`, a function or a name"
        raise TypeError(f"a policy is {wanted}, {_not(policy)}")
    return policy


def score(played: Rollout, scheme: SchemeName | Scheme = "paper") -> Rollout:
    """A rollout with its reward and verdict computed again; no world is needed.

    >>> (played,) = provegym.rollout(provegym.make("banking").example, "oracle")
    >>> provegym.score(played, "hardened").reward.total
    1.3
    """
    _check(played, Rollout, "provegym.rollout returns a list of them: score each")
    return rewards.rescore(played, _scheme(scheme))


def verify(example: Example) -> list[str]:
    """Check an example on its world: the rules that it breaks, as sentences; none if it is right.

    >>> provegym.verify(provegym.make("banking").example)
    []
    """
    from provegym.verify import verify as problems

    _check(example, Example, "if you have several, verify each")
    return problems(example)


def _scheme(scheme: SchemeName | Scheme) -> Scheme:
    if isinstance(scheme, Scheme):
        return scheme
    if scheme not in SCHEMES:
        raise ValueError(f"there is no scheme {scheme!r}; say 'paper' or 'hardened'")
    return SCHEMES[scheme]


def _named(server: str | AnyServer) -> str:
    return load(server.name if isinstance(server, Server) else server).name


def _check(value: object, kind: type, advice: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"expected one {kind.__name__}, {_not(value)}; {advice}")


def _whole(name: str, value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, {_not(value)}")
    return value


def _not(value: object) -> str:
    return f"not {value!r:.60} ({type(value).__name__})"


__all__ = [
    "Env",
    "Observation",
    "Reward",
    "StepResult",
    "as_reply",
    "load",
    "make",
    "names",
    "rollout",
    "score",
    "synthesize",
    "verify",
]
