"""The contract of a server, rule by rule, in words: what holds, what is broken and what to do.

`provegym check-server` prints it. Each rule is one function under `@rule`. It yields what it finds
wrong, one sentence each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from provegym import servers
from provegym.admission.admit import (
    CALLS,
    LEAST_CHAIN,
    LEAST_RULES,
    longest_chain,
    refusals,
    refusing_rules,
)
from provegym.admission.examples import LEVELS, Maker, cover, used_tools
from provegym.admission.lacks import why_no_example
from provegym.admission.speed import slow_tools
from provegym.admission.verdict import RuleCheck
from provegym.graph.dependency import Graph, lasting
from provegym.kernel import AnyServer, Bug, State
from provegym.packages import BrokenServer
from provegym.verify import server_words, server_worlds
from provegym.verify.server_contract import INVARIANTS, Findings, description_faults, walk_worlds

SPEED = "speed"
WALKS = (0, 1)
SEEDS = range(20)
LEAST_WORDS = 3
# Worlds on which examples are sought, and tries for each tool that no example uses yet.
WORLDS, TRIES = 40, 40
# The share of tools that write: our own servers have it, worlds that are data need more.
LEAST_WRITES = 0.3


class CheckedServer:
    """A server under examination; what several rules need is worked out once."""

    def __init__(self, server: AnyServer) -> None:
        self.server = server

    @cached_property
    def found(self) -> Findings:
        """What random walks through two worlds find."""
        return walk_worlds(self.server, CALLS * len(WALKS), WALKS)

    @cached_property
    def graph(self) -> Graph:
        """The dependency graph, without pairs of writes that undo each other."""
        return lasting(self.server)

    @cached_property
    def refused(self) -> set[tuple[str, str]]:
        """What rules said to random calls: the tool, and the words of the refusal."""
        return refusals(self.server)

    def walked(self, *rules: str) -> Iterator[str]:
        """What the random walks found against some rules."""
        for rule in rules:
            yield from self.found.by_rule.get(rule, ())


@dataclass(frozen=True)
class Rule:
    """A rule: its name, what to say if it holds, what to do if not, and how it is checked."""

    name: str
    says: str
    mend: str
    look: Callable[[CheckedServer], Iterator[str]]


RULES: list[Rule] = []
Look = Callable[[CheckedServer], Iterator[str]]


def rule(name: str, says: str, mend: str) -> Callable[[Look], Look]:
    """Decorator: adds a rule to the contract."""

    def add(look: Look) -> Look:
        RULES.append(Rule(name, says, mend, look))
        return look

    return add


def check_server(server: AnyServer) -> Iterator[RuleCheck]:
    """Check a server rule by rule; a rule that cannot be checked is broken."""
    checked = CheckedServer(server)
    for each in RULES:
        try:
            faults = tuple(each.look(checked))
        except (Bug, BrokenServer) as problem:
            faults = (f"it could not be checked: {str(problem).partition(chr(10))[0]}",)
        except AssertionError:
            faults = ("it could not be checked, because an invariant does not hold",)
        if faults:
            yield RuleCheck(each.name, False, each.says, faults, each.mend)
            if each.name == SPEED:  # with a slow tool the other rules take minutes, or do not end
                return
        else:
            yield RuleCheck(each.name, True, each.says)


@rule(
    "descriptions",
    "every tool and argument is described, and every argument is bounded",
    "Write what it is under Args: in the tool's docstring, and bound it, as in Meta(ge=1, le=30)",
)
def _descriptions(checked: CheckedServer) -> Iterator[str]:
    return description_faults(checked.server)


@rule(
    SPEED,
    "every tool answers at once",
    "Let it do a bounded amount of work, without waiting; the other rules are checked then",
)
def _speed(checked: CheckedServer) -> Iterator[str]:
    return slow_tools(checked.server)


@rule(
    "equal seeds",
    "equal seeds give equal worlds, and a replay gives equal results",
    "Draw by chance with seed.random alone; use no clock, no uuid and no loop over a set",
)
def _equal_seeds(checked: CheckedServer) -> Iterator[str]:
    return checked.walked("draws", "replay", "round trip")


@rule(
    "different seeds",
    "different seeds give different worlds",
    "Draw more by chance, from longer lists in words.toml",
)
def _different_seeds(checked: CheckedServer) -> Iterator[str]:
    yield from checked.walked("worlds are equal")
    yield from server_worlds.similar_worlds(checked.server, SEEDS)


@rule(
    "reads",
    "a read leaves the world as it was",
    "Mark the tool with @server.write, or change nothing in it",
)
def _reads(checked: CheckedServer) -> Iterator[str]:
    return checked.walked("read changed the world")


@rule(
    "failures",
    "a call that fails leaves no trace",
    "Keep everything in the tables of the state, where the kernel undoes it",
)
def _failures(checked: CheckedServer) -> Iterator[str]:
    return checked.walked("failure left a trace")


@rule(
    "results",
    "every result fits its schema and is short enough",
    "Return a list, which is shown page by page, or smaller records",
)
def _results(checked: CheckedServer) -> Iterator[str]:
    return checked.walked("too long", "off the output schema")


@rule(
    "errors",
    "tools raise nothing but NotFound, Rejected and Denied",
    "Look a record up in its table, which raises NotFound, and raise Rejected where a rule refuses",
)
def _errors(checked: CheckedServer) -> Iterator[str]:
    return checked.walked("a tool raises")


@rule(
    "invariants",
    "what check() states holds after every call of random walks",
    "State in check() of the state what is always true, and keep it so in seed and tools",
)
def _invariants(checked: CheckedServer) -> Iterator[str]:
    if checked.server.state.check is State.check:
        yield f"{checked.server.state.__name__} states no invariant"
    yield from checked.walked(INVARIANTS)


@rule(
    "refusals",
    "every refusal is a sentence",
    "Say what is wrong and how to go on: 'the saw is lent; choose an item that is available'",
)
def _refusals(checked: CheckedServer) -> Iterator[str]:
    yield from checked.walked("says too little", "says too much")
    for tool, said in sorted(checked.refused):
        if len(said.split()) < LEAST_WORDS:
            yield f"{tool} refuses with too few words ({said!r})"


@rule(
    "records",
    f"every world has at least {server_worlds.LEAST_RECORDS} records",
    "Draw more records in seed.py: with few of them a model can guess",
)
def _records(checked: CheckedServer) -> Iterator[str]:
    return server_worlds.few_records(checked.server, SEEDS)


@rule(
    "ids",
    "ids cannot be guessed",
    "Add records with `table.add`, in an order drawn with seed.random",
)
def _ids(checked: CheckedServer) -> Iterator[str]:
    return server_worlds.guessable_ids(checked.server, SEEDS)


@rule(
    "own names",
    "no other server has its id prefixes or tool names",
    "Choose another id prefix or tool name, such as one with the server's name in it",
)
def _own_names(checked: CheckedServer) -> Iterator[str]:
    others = [each for each in servers.load_all() if each.name != checked.server.name]
    return server_worlds.taken_names(checked.server, others)


@rule(
    "writes",
    f"at least {LEAST_WRITES:.0%} of the tools write",
    "Add tools under @server.write: what changes the world can be checked best",
)
def _writes(checked: CheckedServer) -> Iterator[str]:
    tools = checked.server.tools.values()
    writes = sum(tool.writes for tool in tools)
    if not tools or writes < LEAST_WRITES * len(tools):
        yield f"{writes} of {len(tools)} tools write"


@rule(
    "rules",
    f"at least {LEAST_RULES} rules refuse some calls",
    "Add rules to the tools that write: raise Rejected if the world does not allow a call",
)
def _rules(checked: CheckedServer) -> Iterator[str]:
    if (count := len(refusing_rules(checked.refused))) < LEAST_RULES:
        yield f"{count} rule{'s' * (count != 1)} refused a random call"


@rule(
    "chain",
    f"at least {LEAST_CHAIN} tools depend on each other in a chain",
    "Let a tool need what another returns: an id that a read shows, then one that a write makes",
)
def _chain(checked: CheckedServer) -> Iterator[str]:
    if (length := longest_chain(checked.graph.edges)) < LEAST_CHAIN:
        yield f"the longest chain has {length} tools"


@rule(
    "ways of asking",
    "every tool can be asked for in several ways, and their slots are arguments",
    "Mend [asks] in asks.toml: each way has all required arguments in braces",
)
def _ways(checked: CheckedServer) -> Iterator[str]:
    return server_words.ask_faults(checked.server)


@rule(
    "questions",
    "every question says which fields of the result answer it",
    "End each way of asking for a read with the fields of the result, as in '=> name, price'",
)
def _questions(checked: CheckedServer) -> Iterator[str]:
    return server_words.question_faults(checked.server)


@rule(
    "names of records",
    "people can name the records whose ids tools take",
    "Give each kind of record in [refer] a way with fields that tell it from the others, and a read"
    " without required arguments that shows them",
)
def _names(checked: CheckedServer) -> Iterator[str]:
    yield from server_words.refer_faults(checked.server)
    yield from server_words.nameless(checked.server)


@rule(
    "examples",
    "a verified example was found for every tool",
    "Mend the rules above first; then read what synthesis says of the tool",
)
def _examples(checked: CheckedServer) -> Iterator[str]:
    maker = Maker(checked.server, WORLDS)
    used = used_tools(cover(maker, TRIES))
    for tool in checked.server.tools:
        if tool not in used and not _after_another(maker, checked.graph, tool):
            why = why_no_example(checked.server, tool, maker.dropped[tool])
            yield f"none was found for {tool}: {why}"


def _after_another(maker: Maker, graph: Graph, tool: str) -> bool:
    """Whether an example is found in which another tool, on which this one depends, comes first."""
    sources = sorted({source for source, target in graph.pairs() if target == tool})
    tries = ((source, level) for source in sources for level in LEVELS)
    made = (maker.make((source, tool), level) for source, level in islice(tries, TRIES))
    return any(tool in used_tools([example]) for example in made if example is not None)
