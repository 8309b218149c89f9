"""The Python API, as `import provegym` offers it: worlds, episodes, corpora, rollouts, rewards.

import provegym

session = provegym.Session([provegym.load("banking")], seed=7)     # a world to call
examples = provegym.synthesize(20, servers=["banking"])            # verified tasks
rollouts = provegym.rollout(examples, MyPolicy())                  # a policy plays them
episode = provegym.make(examples[0])                               # or step by step
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from rich.progress import Progress

from provegym import rewards, servers
from provegym.adapters.episode import Episode
from provegym.admission.verdict import RuleCheck
from provegym.conversation.kinds import Place, shape
from provegym.corpus.candidates import attempt
from provegym.corpus.corpus import Corpus, Order
from provegym.kernel import AnyServer
from provegym.rewards import HARDENED, PAPER, Scheme
from provegym.rollout import Policy, in_order, play
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
    calls = [call["function"] for call in reply.get("tool_calls") or ()]
    asked = tuple(ToolCall(name=call["name"], arguments=call["arguments"]) for call in calls)
    return Reply(text=reply.get("content") or "", calls=asked)


def load(name: str) -> AnyServer:
    """A server by name, such as "banking"; `provegym.names()` lists them.

    >>> len(provegym.load("banking").tools)
    17
    """
    if not servers.is_known(name):
        raise ValueError(f"there is no server {name!r}; known are {', '.join(servers.known())}")
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


def make(task: Example | str, *, seed: int = 0, scheme: SchemeName | Scheme = "paper") -> Env:
    """An environment for one task: an example, or a verified task that is drawn on a server.

    For a server, `seed` chooses the task.

    >>> env = provegym.make("banking", seed=3)
    >>> env.reset().messages[-1]["role"]
    'user'
    """
    example = task if isinstance(task, Example) else _draw_task(load(task).name, seed)
    return Env(example, _scheme(scheme))


def _draw_task(server: str, seed: int) -> Example:
    """The first verified multi-turn task among the candidates of a seed."""
    for number in range(MOST_CANDIDATES):
        place = Place(server, seed % 900, seed, number, servers.names())
        wanted = shape(place)
        if wanted.kind == "multi_turn" and (example := attempt((place, wanted)).example):
            return example
    raise ValueError(f"no task was found on {server} with seed {seed}; try another seed")


def synthesize(
    size: int, *, servers: Sequence[str] = (), seed: int = 0, mix: str = "paper", workers: int = 1
) -> list[Example]:
    """Make verified examples in memory, as `provegym synth` does in files.

    All servers are used if none is named. `mix` is "paper", all kinds of examples in the paper's
    shares, or "multi_turn", those in which calls are right. The same seed gives the same examples.

    >>> examples = provegym.synthesize(2, servers=["maps"])
    >>> [example.server for example in examples]
    ['maps', 'maps']
    """
    chosen = tuple(load(name).name for name in servers)
    with TemporaryDirectory(prefix="provegym-") as folder:
        order = Order(size, seed, Path(folder) / "corpus", chosen, workers, mix)
        corpus = Corpus(order)
        corpus.make(Progress(disable=True))
        if missing := corpus.missing():
            raise ValueError(missing)
        return list(read(order.out, Example))


def rollout(
    examples: Example | Iterable[Example],
    policy: Policy | Callable[[Example], Policy],
    *,
    scheme: SchemeName | Scheme = "paper",
    concurrency: int = 8,
) -> list[Rollout]:
    """Play examples with a policy, and score them.

    `policy` is a policy, or a function that makes one for each example. `concurrency` is how many
    rollouts wait for their policy at the same time.

    >>> from provegym.players.scripted import oracle
    >>> example = provegym.make("banking").example
    >>> (played,) = provegym.rollout(example, oracle)
    >>> played.ended, played.reward.total, played.verdict.success
    ('done', 1.3, True)
    """
    chosen = [examples] if isinstance(examples, Example) else list(examples)
    paid_by = _scheme(scheme)

    def one(example: Example) -> Any:
        playing = policy if isinstance(policy, Policy) else policy(example)
        return play(example, playing, name=type(playing).__name__, scheme=paid_by)

    async def run() -> list[Rollout]:
        return [each async for each in in_order(chosen, one, concurrency)]

    return asyncio.run(run())


def score(played: Rollout, scheme: SchemeName | Scheme = "paper") -> Rollout:
    """A rollout with its reward and verdict computed again; no world is needed.

    >>> from provegym.players.scripted import oracle
    >>> (played,) = provegym.rollout(provegym.make("banking").example, oracle)
    >>> provegym.score(played, "hardened").reward.total
    1.3
    """
    return rewards.rescore(played, _scheme(scheme))


def verify(example: Example) -> list[str]:
    """Check an example on its world: the rules that it breaks, as sentences; none if it is right.

    >>> provegym.verify(provegym.make("banking").example)
    []
    """
    from provegym.verify import verify as problems

    return problems(example)


def _scheme(scheme: SchemeName | Scheme) -> Scheme:
    if isinstance(scheme, Scheme):
        return scheme
    if scheme not in SCHEMES:
        raise ValueError(f"there is no scheme {scheme!r}; say 'paper' or 'hardened'")
    return SCHEMES[scheme]


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
