"""The contract of a server, checked by fuzzing: what holds for every tool of every world.

Random calls with values of the live world, and time that passes between them. Each rule that is
broken becomes one sentence. The number of calls bounds the work.
"""

import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema_rs
import msgspec

from provegym.fuzz import Fuzzer
from provegym.kernel import AnyServer, Bug, Change, Outcome, Session, State, Tool
from provegym.kernel.errors import MAX_ERROR
from provegym.kernel.session import MAX_RESULT_BYTES
from provegym.kernel.state import ENCODE

MINUTES = (1, 5, 15, 30, 60, 180, 720, 1_440, 4_320)
# Time passes instead of a call in this share of the steps.
WAITS = 0.06
LOOK_EVERY = 24
SHORTEST_ERROR, SHORTEST_DESCRIPTION, SHORTEST_MEANING = 12, 20, 5
MOST_PER_RULE = 3
INVARIANTS = "a world breaks"

Json = dict[str, Any]
# A tool and its arguments, or "" and minutes that pass.
WorldStep = tuple[str, Any]
Trace = tuple[str, list[int], list[list[str]]]


def faults(server: AnyServer, calls: int = 300, seeds: Sequence[int] = (0, 1)) -> list[str]:
    """The rules that a server breaks in so many random calls, spread over worlds of some seeds."""
    return [*description_faults(server)] or walk_worlds(server, calls, seeds).sentences


def walk_worlds(server: AnyServer, calls: int, seeds: Sequence[int]) -> "Findings":
    """What random walks through worlds of some seeds find wrong, by rule."""
    found = Findings(server)
    for seed in seeds:
        try:
            found.walk(seed, calls // len(seeds))
        except Bug as problem:
            found.note(_rule_of(problem), f"seed {seed}: {_first_line(problem)}")
        except AssertionError as problem:
            found.note(INVARIANTS, f"seed {seed}: {_asserted(problem)}")
    if not found.sentences:
        digests = {server.world(seed).digest() for seed in seeds}
        if len(digests) < len(set(seeds)):
            found.note("worlds are equal", "different seeds give the same world")
    return found


def _rule_of(problem: Bug) -> str:
    """The rule that a Bug of the kernel tells of."""
    if "marked as a read" in str(problem):
        return "read changed the world"
    return "too long" if "bytes of JSON" in str(problem) else "a tool raises"


def _asserted(problem: AssertionError) -> str:
    """The message of an assertion, or the line of code that failed."""
    lines = traceback.extract_tb(problem.__traceback__)
    return _first_line(problem) or f"an invariant does not hold: {lines[-1].line}"


def _first_line(problem: BaseException) -> str:
    return str(problem).partition("\n")[0]


def description_faults(server: AnyServer) -> Iterator[str]:
    """What is wrong with what the model is shown: descriptions, bounds and schemas."""
    for tool in server.tools.values():
        if len(tool.description) < SHORTEST_DESCRIPTION:
            yield f"{tool.name}: its description is too short"
        for name in undescribed(tool.input_schema):
            yield f"{tool.name}: the argument {name!r} has no description or no bound"
        for schema in (tool.input_schema, tool.output_schema):
            if not jsonschema_rs.meta.is_valid(schema):
                yield f"{tool.name}: its schema is not JSON Schema"


def undescribed(schema: Json) -> list[str]:
    """The arguments of an input schema, nested ones too, without a description or a bound."""
    return [
        name
        for name, part in parts(schema)
        if len(part.get("description", "")) < SHORTEST_MEANING or not bounded(part)
    ]


def parts(schema: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Every described part of a schema, nested ones included."""
    for key, part in schema.get("properties", {}).items():
        yield f"{name}{key}", part
        yield from parts(part, f"{name}{key}.")
        yield from parts(part.get("items", {}), f"{name}{key}[].")


def bounded(part: Json) -> bool:
    """Whether a part of an input schema lets nothing through that is arbitrarily large."""
    kinds = part.get("type", "")
    if "array" in kinds:
        return "maxItems" in part and bounded(part["items"])
    if "integer" in kinds or "number" in kinds:
        lower, upper = {"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}
        return "enum" in part or bool(lower & part.keys() and upper & part.keys())
    return "string" not in kinds or bool({"maxLength", "enum", "format"} & part.keys())


def trace(session: Session, state: State) -> Trace:
    """All that a call without effect must leave as it was: digest, next ids, order of rows."""
    tables = [getattr(state, name) for name in state.tables]
    return session.digest(), [t.tail()[0] for t in tables], [list(t.keys()) for t in tables]


def result_faults(outcome: Outcome, output: jsonschema_rs.Validator) -> Iterator[str]:
    """The rules that a result or an error breaks."""
    if len(outcome.text.encode()) > MAX_RESULT_BYTES:
        yield "too long"
    if outcome.ok and not output.is_valid(outcome.value):
        yield "off the output schema"
    if not outcome.ok and len(outcome.value["message"]) < SHORTEST_ERROR:
        yield "says too little"
    if not outcome.ok and len(outcome.value["message"]) > MAX_ERROR:
        yield "says too much"


def call_faults(tool: Tool, outcome: Outcome, *, changed: bool) -> Iterator[str]:
    """The rules that a call breaks by having changed the world."""
    if changed and not outcome.ok:
        yield "failure left a trace"
    elif changed and not tool.writes:
        yield "read changed the world"


class Findings:
    """What random walks find wrong with one server, a few sentences per rule."""

    def __init__(self, server: AnyServer) -> None:
        self.server = server
        self.by_rule: dict[str, list[str]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.outputs = {
            name: jsonschema_rs.validator_for(tool.output_schema, validate_formats=True)
            for name, tool in server.tools.items()
        }

    @property
    def sentences(self) -> list[str]:
        """All that was found, rule by rule."""
        return [sentence for found in self.by_rule.values() for sentence in found]

    def note(self, rule: str, sentence: str) -> None:
        """Record that a rule is broken."""
        self.counts[rule] += 1
        if self.counts[rule] <= MOST_PER_RULE:
            self.by_rule[rule].append(sentence)

    def walk(self, seed: int, calls: int) -> None:
        """Walk through one world at random; then draw it anew and take the same steps again."""
        server = self.server
        fuzzer, session = Fuzzer(server, f"contract {seed}"), Session([server], seed)
        session.check()
        self._read_back(seed, session.state(server))
        before = trace(session, session.state(server))
        steps: list[WorldStep] = []
        texts: list[str] = []
        tools = list(server.tools.values())
        for number in range(calls):
            if number % LOOK_EVERY == 0:
                fuzzer.look(session.state(server))
            tool = tools[number % len(tools)]
            if fuzzer.chance.random() < WAITS:
                steps.append(("", fuzzer.chance.choice(MINUTES)))
                session.advance(steps[-1][1])
                texts.append("")
                session.check()
                before = trace(session, session.state(server))
                continue
            steps.append((tool.name, fuzzer.arguments(tool)))
            try:
                outcome, before = self._call(session, seed, steps[-1], before)
            except Bug as problem:  # the kernel has undone the call, so the walk goes on
                self.note(_rule_of(problem), f"seed {seed}: {_first_line(problem)}")
                steps.pop()
                continue
            fuzzer.learn(tool, steps[-1][1], outcome)
            texts.append(outcome.text)
        self._read_back(seed, session.state(server))
        self._replay(seed, steps, texts, session.diff())

    def _call(
        self, session: Session, seed: int, step: WorldStep, before: Trace
    ) -> tuple[Outcome, Trace]:
        """Make one call and judge it; also the trace after it."""
        tool = self.server.tools[step[0]]
        outcome = session.call(*step)
        after = trace(session, session.state(self.server))
        changed = after != before
        broken = [*call_faults(tool, outcome, changed=changed)]
        broken += result_faults(outcome, self.outputs[tool.name])
        for rule in broken:
            given = msgspec.json.encode(step[1]).decode()[:200]
            self.note(rule, f"seed {seed}: {tool.name}({given}): {rule}: {outcome.text[:200]}")
        if changed:
            session.check()
        return outcome, after

    def _read_back(self, seed: int, state: State) -> None:
        """Every record is the same after it was written as JSON and read again."""
        for name in state.tables:
            for row in getattr(state, name):
                if _again(row) != row:
                    self.note("round trip", f"seed {seed}: {row} is not the same after JSON")

    def _replay(
        self, seed: int, steps: list[WorldStep], texts: list[str], diff: list[Change]
    ) -> None:
        """A world that is drawn anew is equal, and the same steps lead to the same results."""
        world = self.server.world.__wrapped__(seed)
        if world.digest() != self.server.world(seed).digest():
            self.note("draws", f"seed {seed}: drawing the world again gives another world")
            return
        session = Session.over(self.server, world)
        for step, text in zip(steps, texts, strict=True):
            if take_step(session, step) != text:
                self.note("replay", f"seed {seed}: {step[0]} answers differently in a replay")
                return
        if session.diff() != diff:
            self.note("replay", f"seed {seed}: a replay ends in another world")


def _again(row: Any) -> Any:
    """A record that was written as JSON and read again; None if it cannot be read."""
    try:
        return msgspec.json.decode(ENCODE(row), type=type(row))
    except msgspec.ValidationError:
        return None


def take_step(session: Session, step: WorldStep) -> str:
    """One step: a tool and its arguments, or "" and minutes to let pass."""
    name, given = step
    if name:
        return session.call(name, given).text
    session.advance(given)
    return ""
