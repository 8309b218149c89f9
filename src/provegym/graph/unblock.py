"""Proof of implicit edges: finds the writes that make a refused call work, by trying them."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from provegym.graph.near import Near, draw_near
from provegym.graph.observe import RULES, Observer, Tried, attempt, complaint
from provegym.language.values import leaves

FEWEST = 3
PER_RULE = 5


class Lift(NamedTuple):
    """A call that fails on a world, and works there after a write."""

    failed: Tried
    write: Tried
    worked: Tried

    @property
    def is_rule(self) -> bool:
        """Whether a rule of the domain refused the call (and not, for example, "not found")."""
        return self.failed.outcome.error in RULES


class Unblocker:
    """Finds lifts in two searches: backwards from refused calls, and forwards from writes."""

    def __init__(self, seen: Observer) -> None:
        self.seen = seen
        self.found: dict[tuple[str, str], Lift] = {}

    def backwards(self) -> None:
        """Try related writes before each refused call. A refusal by another rule is progress."""
        refusals = by_rule([r for some in self.seen.refused.values() for r in some])
        effort = self.seen.effort
        for depth in range(1, effort.depth + 1):
            refusals = refusals[: effort.refusals // depth]
            draws = self._share(len(refusals) * len(self.seen.writes), depth)
            refusals = by_rule([again for r in refusals for again in self._lift(r, draws)])

    def _lift(self, refusal: Tried, draws: int) -> Iterator[Tried]:
        near, rule = Near(self.seen, refusal), complaint(refusal.outcome)
        for tool in self.seen.writes:
            if tool.name == refusal.tool or (tool.name, refusal.tool) in self.found:
                continue
            for arguments in draw_near(self.seen, tool, near, draws):
                write = attempt(refusal.before, tool.name, arguments)
                if not write.outcome.ok:
                    continue
                self.seen.note(write)
                again = attempt(write.after, refusal.tool, refusal.arguments)
                if self.seen.works(again):
                    self._add(Lift(refusal, write, again))
                    break
                if again.outcome.error in RULES and complaint(again.outcome) != rule:
                    yield again

    def forwards(self, known: set[tuple[str, str]]) -> None:
        """After each write, try related calls, and keep those that failed before it."""
        targets = [name for name in self.seen.tools if self.seen.can_fail(name)]
        draws = self._share(self.seen.effort.made * len(self.seen.writes) * len(targets))
        for tool in self.seen.writes:
            for write in self.seen.made(tool.name):
                near = Near(self.seen, write)
                for target in targets:
                    pair = (tool.name, target)
                    if target != tool.name and pair not in self.found and pair not in known:
                        for arguments in draw_near(self.seen, self.seen.tools[target], near, draws):
                            if self._works_now(write, attempt(write.after, target, arguments)):
                                break

    def _works_now(self, write: Tried, worked: Tried) -> bool:
        if not self.seen.works(worked):
            return False
        failed = attempt(write.before, worked.tool, worked.arguments)
        if failed.outcome.ok:
            return False
        self._add(Lift(failed, write, worked))
        return True

    def _add(self, lift: Lift) -> None:
        self.seen.note(lift.worked)
        self.found[lift.write.tool, lift.worked.tool] = lift

    def _share(self, pairs: int, depth: int = 1) -> int:
        """How many draws each pair of calls gets. It falls with the number of pairs."""
        effort = self.seen.effort
        return max(FEWEST, min(depth * effort.draws, effort.work // max(1, pairs)))


def by_rule(refusals: list[Tried]) -> list[Tried]:
    """Refusals in round-robin order over tools and rules; calls with small numbers first."""
    rules: dict[tuple[str, str], list[Tried]] = defaultdict(list)
    for refusal in refusals:
        if refusal.outcome.error in RULES:
            rules[refusal.tool, complaint(refusal.outcome)].append(refusal)
    turns = zip_longest(*(sorted(some, key=_size)[:PER_RULE] for some in rules.values()))
    return [refusal for turn in turns for refusal in turn if refusal]


def _size(tried: Tried) -> float:
    """The sum of a call's numbers. A call with small numbers is likeliest to be allowed."""
    return sum(v for v in leaves(tried.arguments) if isinstance(v, int | float))
