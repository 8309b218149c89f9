"""Statistics of a corpus, counted in one pass: kinds, knobs, tool coverage, diversity, goals."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from provegym import servers
from provegym.graph.dependency import lasting
from provegym.kernel import Session
from provegym.language.values import leaves
from provegym.players.plan import together
from provegym.trace import Example, Json, Step, literals

ID = re.compile(r"\b[a-z]+_\d+\b")
TALKS = ("multi_turn", "clarification")
CHAINS = (2, 3, 4, 5)

Pairs = set[tuple[str, str]]


def figures(
    examples: Iterable[Example], pairs_of: Callable[[str], Pairs] | None = None
) -> dict[str, Any]:
    """Counts and shares of a corpus. `goals` holds the figures with a goal, and if it is met.

    `pairs_of` gives the proven edges of a server; by default they come from its graph.
    """
    tally = Tally(cache(pairs_of or proven_pairs))
    for example in examples:
        tally.add(example)
    tally.replay()
    return {
        "examples": tally.kinds.total(),
        "kinds": dict(tally.kinds),
        "servers": dict(sorted(tally.servers.items())),
        "turns": dict(sorted(tally.turns.items())),
        "chains": dict(sorted(tally.chains.items())),
        "knobs": {name: _knob(tally, name) for name in sorted(tally.knobs)},
        "levels": _shares(tally.levels),
        "personas": _shares(tally.personas),
        "sequences": {name: _commonest(tally, name) for name in sorted(tally.sequences)},
        "goals": goals(tally),
    }


def proven_pairs(name: str) -> Pairs:
    """The edges of a server that were proven by running it, and that can be in an example."""
    return lasting(servers.load(name)).pairs() if name in servers.packaged() else set()


class Tally:
    """The running counts while a corpus is read."""

    def __init__(self, proven: Callable[[str], Pairs]) -> None:
        self.proven = proven
        self.kinds: Counter[str] = Counter()
        self.servers: Counter[str] = Counter()
        self.turns: Counter[int] = Counter()
        self.chains: Counter[int] = Counter()
        self.knobs: dict[str, Counter[str]] = defaultdict(Counter)
        self.levels: Counter[str] = Counter()
        self.personas: Counter[str] = Counter()
        self.openings: Counter[tuple[str, ...]] = Counter()
        self.masked: set[int] = set()
        self.seen: Counter[str] = Counter()
        self.gold: dict[str, Counter[str]] = defaultdict(Counter)
        self.edges: dict[str, Pairs] = defaultdict(set)
        self.to_replay: list[Example] = []
        self.sequences: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)

    def add(self, example: Example) -> None:
        """Count one example."""
        self.kinds[example.kind] += 1
        self.servers[example.server] += 1
        self.turns[len(example.turns)] += 1
        for knob in example.knobs:
            self.knobs[knob][example.kind] += 1
        made = example.provenance
        self.personas[made.persona or "none"] += 1
        self.levels.update(made.levels)
        self.seen["recoveries"] += bool(made.attempts or made.infeasible)
        self._hear(example)
        if steps := example.paths[0].steps:
            self._follow(example, steps)

    def _hear(self, example: Example) -> None:
        """Count the openings, ids and distinct texts of the user's turns."""
        slots = example.provenance.slots
        for number, turn in enumerate(example.turns):
            words = tuple(re.findall(r"[\w']+", turn.text.casefold()))
            self.seen["turns"] += 1
            self.openings[words[:3]] += len(words) > 2
            self.seen["ids"] += ID.search(turn.text) is not None
            self.masked.add(hash(mask(turn.text, slots[number] if number < len(slots) else ())))

    def _follow(self, example: Example, steps: Sequence[Step]) -> None:
        """Count the tools, sequences, chains and edges of an example."""
        self.sequences[example.server][tuple(step.tool for step in steps)] += 1
        self.gold[example.server].update({step.tool for step in steps})
        lengths = Counter(step.turn for step in steps)
        self.chains.update(lengths.values())
        turns = range(len(example.turns))
        self.seen["parallel"] += example.kind == "multi_turn" and any(
            len(group) > 1 for turn in turns for group in together(steps, turn)
        )
        self.seen["later"] += len(example.turns) - 1
        linked = {s.turn for s in steps for e in s.needs if steps[e.step].turn < s.turn}
        self.seen["linked"] += len(linked)
        self.edges[example.server] |= needed(steps) & self.proven(example.server)
        self.to_replay.append(example)

    def replay(self) -> None:
        """Find the edges whose values are known only from results, by replaying examples.

        Drawing worlds takes most of the time: an example that cannot add an edge is skipped, and
        the examples of one world follow each other.
        """
        for example in sorted(self.to_replay, key=lambda each: (each.server, each.seed)):
            proven, found = self.proven(example.server), self.edges[example.server]
            if in_order(example.paths[0].steps) & proven - found:
                found |= handed_on(example) & proven


def needed(steps: Sequence[Step]) -> Pairs:
    """The pairs of a tool, or of an alternative to it, and a tool that needs its result."""
    return {
        (tool, step.tool)
        for step in steps
        for edge in step.needs
        for tool in tools(steps[edge.step])
    }


def tools(step: Step) -> set[str]:
    """The tools that do a step: its own and its alternatives'."""
    return {step.tool, *(other.tool for other in step.alternatives)}


def in_order(steps: Sequence[Step]) -> Pairs:
    """Every pair of a tool, or of an alternative to it, and a tool that is called later."""
    pairs: Pairs = set()
    before: set[str] = set()
    for step in steps:
        pairs |= {(tool, step.tool) for tool in before}
        before |= tools(step)
    return pairs


def handed_on(example: Example) -> Pairs:
    """The data flow between tools, as pairs: the second tool takes a value that the first shows.

    The alternatives of a step count as sources too.
    """
    steps = example.paths[0].steps
    pairs: Pairs = set()
    if not servers.is_known(example.server):
        return pairs
    session = Session([servers.load(example.server)], example.seed)
    shown: list[set[str]] = []
    for number, turn in enumerate(example.turns):
        session.advance(turn.minutes)
        for step in steps:
            if step.turn != number:
                continue
            arguments = literals(step.arguments)
            taken = {leaf for leaf in leaves(arguments) if isinstance(leaf, str)}
            sources = {at for at, values in enumerate(shown) if taken & values}
            pairs |= {(tool, step.tool) for at in sources for tool in tools(steps[at])}
            result = session.call(step.tool, arguments).value
            shown.append({leaf for leaf in leaves(result) if isinstance(leaf, str)})
    return pairs


def mask(text: str, slots: Sequence[str]) -> str:
    """The text of a turn with the slots' values blanked out, longest first."""
    for phrase in sorted(slots, key=len, reverse=True):
        text = text.replace(phrase, "_") if phrase else text
    return text.casefold()


def goals(tally: Tally) -> dict[str, Json]:
    """Every figure that has a goal: its value, the goal in words, and whether it is met."""
    seen, turns = tally.seen, tally.seen["turns"]
    commonest = max(tally.openings.values(), default=0)
    packaged = [name for name in tally.servers if name in servers.packaged()]
    known = {tool for name in packaged for tool in servers.load(name).tools}
    used = {tool for counts in tally.gold.values() for tool in counts} & known
    proven = sum(len(tally.proven(name)) for name in packaged)
    found = sum(map(len, tally.edges.values()))
    count, talks = tally.kinds.total(), sum(tally.kinds[kind] for kind in TALKS)
    there = [length for length in CHAINS if tally.chains[length]]
    rates = [
        _near("distractors", _knob(tally, "distractors")["all"], 0.40),
        _near("stripped enums", _knob(tally, "stripped")["all"], 0.30),
        _near("irrelevance", _knob(tally, "irrelevance")["talks"], 0.05),
        _near("missing function", _share(tally.kinds["clarification"], talks), 0.121),
        _most("commonest opening of a turn", _share(commonest, turns), 0.03),
        _most("turns with internal ids", _share(seen["ids"], turns), 0.01),
        _least("distinct turns, slots masked", _share(len(tally.masked), turns), 0.30),
        _least("follow-ups that need a turn before", _share(seen["linked"], seen["later"]), 0.30),
        _least("recoveries", _share(seen["recoveries"], count), 0.05),
        _least("parallel calls", _share(seen["parallel"], tally.kinds["multi_turn"]), 0.10),
        _least("tools", _share(len(used), len(known)), 1.0, len(known)),
        _least("edges", _share(found, proven), 0.90, proven),
        _most("one tool in a server's examples", _dominance(tally, tally.gold), 0.70),
        _most("one sequence in a server's examples", _dominance(tally, tally.sequences), 0.02),
        _most("largest server by smallest", _spread(tally), 2.0),
        _least("chain lengths of 2 to 5", float(len(there)), float(len(CHAINS))),
    ]
    return dict(rates)


Goal = tuple[str, Json]


def _near(name: str, value: float, goal: float) -> Goal:
    return name, {
        "value": value,
        "goal": f"{goal:.1%} ± 0.5 points",
        "met": abs(value - goal) <= 0.005 + 1e-9,
    }


def _most(name: str, value: float, goal: float) -> Goal:
    return name, {"value": value, "goal": f"at most {_told(goal)}", "met": value <= goal}


def _least(name: str, value: float, goal: float, whole: int | None = None) -> Goal:
    told: Json = {"value": value, "goal": f"at least {_told(goal)}", "met": value >= goal}
    return name, told if whole is None else {**told, "of": whole}


def _told(goal: float) -> str:
    return f"{goal:.0%}" if goal <= 1 else f"{goal:g}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _shares(counts: Counter[str]) -> dict[str, float]:
    return {name: count / counts.total() for name, count in counts.most_common()}


def _knob(tally: Tally, name: str) -> dict[str, float]:
    """The share of examples with a knob: of all examples, and of those with a task."""
    counts = tally.knobs.get(name, Counter())
    talks = sum(tally.kinds[kind] for kind in TALKS)
    turned = sum(counts[kind] for kind in TALKS)
    return {"all": _share(counts.total(), tally.kinds.total()), "talks": _share(turned, talks)}


def _dominance(tally: Tally, counts: Mapping[str, Counter[Any]]) -> float:
    """The largest share of a server's examples that contain one tool or one sequence."""
    shares = (max(count.values()) / tally.servers[name] for name, count in counts.items())
    return max(shares, default=0.0)


def _spread(tally: Tally) -> float:
    """The ratio of the largest server's examples to the smallest server's."""
    sizes = [count for name, count in tally.servers.items() if name]
    return max(sizes, default=1) / min(sizes, default=1)


def _commonest(tally: Tally, name: str) -> Json:
    """The most frequent sequence of tools in a server's examples, and its share."""
    tools, count = tally.sequences[name].most_common(1)[0]
    return {"tools": list(tools), "share": count / tally.servers[name]}
