"""Long runs of fuzzed calls: walks that can be replayed, and campaigns that count outcomes.

Each comes in two sizes. `make test` runs the short one, `make test-long` the long one.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jsonschema_rs

from provegym.fuzz import Fuzzer
from provegym.kernel import AnyServer, Outcome, Session, Tool
from provegym.servers import load
from provegym.verify.server_contract import (
    MINUTES,
    Trace,
    WorldStep,
    call_faults,
    result_faults,
    trace,
)
from provegym.verify.server_contract import take_step as take
from servers.spoil import show, spoil

SHORT_CAMPAIGN, CAMPAIGN = 40, 240
MOST_CALLS = 600
ROUNDS_PER_WORLD = 30
SHORT_WALK, WALK = 300, 1_000
LOOK_EVERY = 16

Step = WorldStep
TALLIES: dict[str, dict[str, Counter[str]]] = {}


@dataclass
class Walk:
    """A walk through one world: its steps, their results, and the digest after each."""

    server: AnyServer
    seed: int
    steps: list[Step]
    texts: list[str]
    digests: list[str]

    def session(self) -> Session:
        """A fresh session where the walk starts."""
        return Session([self.server], self.seed)

    def at(self, count: int) -> Session:
        """A session after so many of the steps."""
        session = self.session()
        for step in self.steps[:count]:
            take(session, step)
        return session


def take_walk(server: AnyServer, seed: int, length: int) -> Walk:
    """Walk at random; invariants are asserted after every step that changed the world."""
    fuzzer, session = Fuzzer(server, f"walk {seed}"), Session([server], seed)
    tools, walk = list(server.tools.values()), Walk(server, seed, [], [], [])
    digest = session.digest()
    for number in range(length):
        if number % LOOK_EVERY == 0:
            fuzzer.look(session.state(server))
        tool = fuzzer.chance.choice(tools)
        step: Step = (tool.name, fuzzer.arguments(tool))
        if fuzzer.chance.random() < 0.06:
            step = ("", fuzzer.chance.choice(MINUTES))
        try:
            walk.texts.append(take(session, step))
            before, digest = digest, session.digest()
            if digest != before:
                session.check()
        except Exception as problem:
            raise AssertionError(f"step {number} of seed {seed}: {step}") from problem
        if step[0]:
            error = session_error(walk.texts[-1])
            fuzzer.learn(tool, step[1], Outcome(walk.texts[-1], error))
        walk.steps.append(step)
        walk.digests.append(digest)
    return walk


def session_error(text: str) -> Any:
    """The kind of error in a result's text, if it is one."""
    return text.split('"')[3] if text.startswith('{"error":"') else None


@cache
def walk_of(name: str, length: int, seed: int = 11) -> Walk:
    """A walk of one server, taken once; a short one is the start of a long one."""
    return take_walk(load(name), seed, length)


@dataclass
class Campaign:
    """Many fuzzed calls on each tool of one server: how they ended, and the rules they broke."""

    server: AnyServer
    fuzzer: Fuzzer
    calls: int = CAMPAIGN
    tallies: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    changed: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Call every tool in turn, in one world after another.

        A tool that has not yet both worked and been refused is called for longer.
        """
        checks = {
            name: jsonschema_rs.validator_for(tool.output_schema, validate_formats=True)
            for name, tool in self.server.tools.items()
        }
        for number in range(MOST_CALLS):
            if number % ROUNDS_PER_WORLD == 0:
                session = Session([self.server], number // ROUNDS_PER_WORLD)
                self.fuzzer.forget()
            due = [tool for tool in self.server.tools.values() if self._wants(tool, number)]
            self.fuzzer.chance.shuffle(due)
            if number % 5 == 4:
                session.advance(self.fuzzer.chance.choice(MINUTES))
            before = None
            for at, tool in enumerate(due):
                if at % LOOK_EVERY == 0:
                    self.fuzzer.look(session.state(self.server))
                before = self._try(session, tool, before, checks[tool.name])

    def _wants(self, tool: Tool, number: int) -> bool:
        return number < self.calls or bool(self.missing(tool))

    def missing(self, tool: Tool) -> str:
        """Which outcome a tool has not shown that it must be able to show."""
        tally = self.tallies[tool.name]
        if not tally["ok"]:
            return "never succeeds"
        return "is never refused by a rule" if tool.writes and not tally["refused"] else ""

    def _try(
        self, session: Session, tool: Tool, before: Trace | None, check: jsonschema_rs.Validator
    ) -> Trace:
        state = session.state(self.server)
        arguments: Any = self.fuzzer.arguments(tool)
        if self.fuzzer.chance.random() < 0.05:
            arguments = spoil(self.fuzzer.chance, tool.input_schema, arguments)
        before = before or trace(session, state)
        try:
            outcome = session.call(tool.name, arguments)
        except Exception as problem:
            self._fault("raises", tool, arguments, repr(problem))
            return trace(session, state)
        after = trace(session, state)
        kind = {None: "ok", "rejected": "refused", "denied": "refused"}
        self.tallies[tool.name][kind.get(outcome.error, str(outcome.error))] += 1
        if isinstance(arguments, dict):
            self.fuzzer.learn(tool, arguments, outcome)
        broken = [*result_faults(outcome, check)]
        broken += call_faults(tool, outcome, changed=after != before)
        for rule in broken:
            self._fault(rule, tool, arguments, outcome.text)
        if after != before:
            self.changed.add(tool.name)
            if tool.idempotent and outcome.ok and tool.writes:
                return self._repeat(session, tool, arguments, after)
        return after

    def _repeat(self, session: Session, tool: Tool, arguments: Any, after: Trace) -> Trace:
        session.call(tool.name, arguments)
        again = trace(session, session.state(self.server))
        if again[0] != after[0]:
            self._fault("is not idempotent", tool, arguments, "")
        return again

    def _fault(self, rule: str, tool: Tool, arguments: Any, text: str) -> None:
        if len(self.faults[rule]) < 5:
            self.faults[rule].append(f"{tool.name}({show(arguments)}): {text[:200]}")


@cache
def campaign_of(name: str, calls: int = CAMPAIGN) -> Campaign:
    """The campaign over one server with so many calls of each tool, run once."""
    server = load(name)
    campaign = Campaign(server, Fuzzer(server, "campaign"), calls)
    campaign.run()
    TALLIES[name] = campaign.tallies
    return campaign
