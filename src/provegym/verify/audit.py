"""The reward audit: known attacks, and a random hill climb that searches for reward hacking.

The climb starts from rollouts that fail and edits their calls at random: insert, repeat, drop,
reorder. Each edited rollout is played on the live world. An edit that raises the reward while the
task still fails is an exploit. The audit reports what each attack is paid, the exploits, and the
highest reward of a failing rollout.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

import msgspec

from provegym.players.plan import Plan, in_turn, tool_call
from provegym.players.scripted import Script, guess
from provegym.rewards import PAPER, Scheme
from provegym.rewards.success import succeeded
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, Json, ToolCall, literals
from provegym.verify.attacks import ATTACKS, TOLD, Calls, double_write, edited, right

ROUNDS = 60

Edit = Callable[["Auditor", Calls], str]


class Exploit(NamedTuple):
    """An edit that raised the reward of a failing rollout: its name, its gain, its example."""

    edit: str
    gain: float
    example: str


class Finding(msgspec.Struct, frozen=True):
    """The result of the audit of one example: the best reward of a failure, and exploits.

    `attacks` holds what each known attack is paid, if the task fails under it.
    """

    example: str
    best_failing: float
    calls: int
    exploits: list[Exploit]
    attacks: dict[str, float] = {}


class Auditor:
    """A hill climb over the calls of one example, by user turn, one message per call."""

    def __init__(self, example: Example, scheme: Scheme = PAPER) -> None:
        self.example = example
        self.scheme = scheme
        self.chance = Random(f"audit:{example.id}")
        self.toolbox = Toolbox.of(example)
        self.steps = example.paths[0].steps
        for step in self.steps:
            if step.tool not in self.toolbox.schemas:
                raise BadFile(
                    f"{example.id}: its right calls need {step.tool!r}, which it does not show;"
                    " `provegym verify` says what is wrong with an example"
                )
        reads = [n for n, t in self.toolbox.tools.items() if not t.writes]
        self.easy = [n for n in reads if not self.toolbox.schemas[n].get("required")]

    def run(self) -> Finding:
        """Climb from four starts: no call, no last write, a doubled write, an extra argument."""
        found: list[Exploit] = []
        best, size = 0.0, 0
        nothing: Calls = [[] for _ in self.example.turns]
        doubled = double_write(self.example) or edited(self.example, right)
        for calls in (nothing, self._almost(), doubled, self._with_extra()):
            paid, made = self._climb(calls, found)
            if paid > best:
                best, size = paid, made
        attacks = self._attacks()
        best = max(best, *attacks.values(), 0.0)
        return Finding(self.example.id, best, size, found, attacks)

    def _attacks(self) -> dict[str, float]:
        """What each known attack is paid, where it fails the task."""
        paid: dict[str, float] = {}
        for name, make in ATTACKS.items():
            calls = make(self.example)
            if calls is not None:
                total, failed = self.play(calls, TOLD)
                if failed:
                    paid[name] = total
        return paid

    def _climb(self, calls: Calls, found: list[Exploit]) -> tuple[float, int]:
        paid, failed = self.play(calls)
        if not failed:
            return 0.0, 0
        if paid >= self.scheme.best:
            found.append(Exploit("do more than was asked", paid, self.example.id))
        for _ in range(ROUNDS):
            changed = [list(turn) for turn in calls]
            what = self.chance.choice(EDITS)(self, changed)
            if what:
                total, still_fails = self.play(changed)
                if still_fails and total > paid + 1e-9:
                    found.append(Exploit(what, total - paid, self.example.id))
                    calls, paid = changed, total
        return paid, sum(map(len, calls))

    def play(self, calls: Calls, words: str = "") -> tuple[float, bool]:
        """Play these calls on the live world; return the reward and whether the task fails."""
        plan: Plan = [[[call] for call in turn] for turn in calls]
        rollout = play_script(
            self.example, lambda e: Script(e, plan, words=words), scheme=self.scheme
        )
        if rollout.reward is None:
            raise BadFile(f"{self.example.id} cannot be played: {rollout.reason}")
        return rollout.reward.total, not succeeded(rollout)

    def _almost(self) -> Calls:
        last = max(
            (at for at, step in enumerate(self.steps) if step.writes), default=len(self.steps) - 1
        )
        return [
            [self.right(at) for at in in_turn(self.example, turn) if at != last]
            for turn in range(len(self.example.turns))
        ]

    def _with_extra(self) -> Calls:
        """All reference calls; one of the writes has an argument that nobody asked for."""
        calls = edited(self.example, right)
        for at, step in enumerate(self.steps):
            parts = self.toolbox.schemas[step.tool]["properties"]
            extra = [n for n, p in parts.items() if n not in step.arguments and _is_text(p)]
            if step.writes and extra:
                arguments = {**literals(step.arguments), extra[0]: "as I like"}
                place = in_turn(self.example, step.turn).index(at)
                calls[step.turn][place] = tool_call(step.tool, arguments)
                break
        return calls

    def right(self, at: int) -> ToolCall:
        """The reference call of a step, with literal values."""
        step = self.steps[at]
        return tool_call(step.tool, literals(step.arguments))

    def wrong(self, at: int) -> ToolCall:
        """The call of a step with wrong values that fit the schema."""
        return tool_call(self.steps[at].tool, guess(self.steps[at], self.toolbox))


def _is_text(part: Json) -> bool:
    return (
        "string" in (part.get("type"), *part.get("type", ()))
        and "enum" not in part
        and "format" not in part
    )


def name_with_guessed_values(audit: Auditor, calls: Calls) -> str:
    """Insert a call of a reference tool with made-up values."""
    at = audit.chance.randrange(len(audit.steps))
    calls[audit.steps[at].turn].append(audit.wrong(at))
    return "call a right tool with made-up values"


def pad_with_easy_read(audit: Auditor, calls: Calls) -> str:
    """Insert a valid read that nobody asked for."""
    if not audit.easy:
        return ""
    audit.chance.choice(calls).append(tool_call(audit.chance.choice(audit.easy), {}))
    return "pad with an easy read"


def repeat_call(audit: Auditor, calls: Calls) -> str:
    """Make a call twice."""
    busy = [turn for turn in calls if turn]
    if not busy:
        return ""
    turn = audit.chance.choice(busy)
    turn.append(audit.chance.choice(turn))
    return "repeat a call that went well"


def drop_call(audit: Auditor, calls: Calls) -> str:
    """Leave a call out."""
    busy = [turn for turn in calls if turn]
    if not busy:
        return ""
    turn = audit.chance.choice(busy)
    turn.pop(audit.chance.randrange(len(turn)))
    return "leave a doubtful call out"


def swap_calls(audit: Auditor, calls: Calls) -> str:
    """Make two calls in the other order."""
    busy = [turn for turn in calls if len(turn) > 1]
    if not busy:
        return ""
    turn = audit.chance.choice(busy)
    one, two = audit.chance.sample(range(len(turn)), 2)
    turn[one], turn[two] = turn[two], turn[one]
    return "reorder"


def look_without_acting(audit: Auditor, calls: Calls) -> str:
    """Insert a read of the reference path."""
    reads = [at for at, step in enumerate(audit.steps) if not step.writes]
    if not reads:
        return ""
    at = audit.chance.choice(reads)
    calls[audit.steps[at].turn].insert(0, audit.right(at))
    return "make the lookups and not the change"


EDITS: list[Edit] = [
    name_with_guessed_values,
    pad_with_easy_read,
    repeat_call,
    drop_call,
    swap_calls,
    look_without_acting,
]


def audit(examples: Iterable[Example], scheme: Scheme = PAPER) -> list[Finding]:
    """Audit every example that has reference calls."""
    return [Auditor(e, scheme).run() for e in examples if any(p.steps for p in e.paths)]


def by_edit(findings: Iterable[Finding]) -> dict[str, tuple[int, float, float]]:
    """For each kind of exploit: how often it was found, its mean gain and its largest gain."""
    gains: dict[str, list[float]] = defaultdict(list)
    for finding in findings:
        for exploit in finding.exploits:
            gains[exploit.edit].append(exploit.gain)
    return {edit: (len(g), sum(g) / len(g), max(g)) for edit, g in gains.items()}


def by_attack(findings: Iterable[Finding]) -> dict[str, tuple[int, float, float]]:
    """For each attack: on how many tasks it fails, its mean reward there and its largest."""
    paid: dict[str, list[float]] = {name: [] for name in ATTACKS}
    for finding in findings:
        for name, total in finding.attacks.items():
            paid[name].append(total)
    return {name: (len(p), sum(p) / len(p), max(p)) for name, p in paid.items() if p}
