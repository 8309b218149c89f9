"""How often a rebuilt server and the real one agree, call by call, on random walks.

A fuzzer walks on the real server, with time passing. Each call is made on both. Before each call
the rebuilt world gets the records of the real one again, so that each call is judged alone.
"""

from collections import Counter
from typing import Any

import msgspec

from provegym.bench.rebuilding import Rebuilt, ToolMatch
from provegym.fuzz import Fuzzer
from provegym.kernel import Bug, Change, Outcome, Session
from provegym.verify.server_contract import MINUTES, WAITS

LOOK_EVERY = 16
# A call that no rebuilt tool stands for, and one that breaks the rebuilt server.
ABSENT, BROKEN = "absent", "bug"
LONGEST_TEXT = 400
EMPTY: tuple[Any, ...] = (None, False, "", [], ())
NEW = "(new)"

Json = dict[str, Any]


class ToolTally(msgspec.Struct):
    """What a walk found of one tool.

    `ends` counts pairs of outcomes, real and rebuilt: "rejected ok". Of the calls that succeed on
    the real server, `result` counts equal results and `order` those that differ in order only;
    of such writes, `change` counts equal changes on the fields that both have, `whole` those
    where the real call changes nothing else. A `stray` tool works on records that the real server
    has not.
    """

    tool: str
    writes: bool
    rebuilt: list[str]
    stray: bool = False
    ends: dict[str, int] = {}
    result: int = 0
    order: int = 0
    change: int = 0
    whole: int = 0
    examples: dict[str, Json] = {}

    @property
    def calls(self) -> int:
        """How many calls were made."""
        return sum(self.ends.values())

    @property
    def succeeded(self) -> int:
        """How many of them succeed on the real server."""
        return sum(count for pair, count in self.ends.items() if pair.startswith("ok "))

    @property
    def same(self) -> int:
        """How many have the same outcome on both."""
        return sum(count for pair, count in self.ends.items() if len({*pair.split()}) == 1)

    @property
    def guessed(self) -> int:
        """How many a guesser gets right who always says what is said most often."""
        real: Counter[str] = Counter()
        for pair, count in self.ends.items():
            real[pair.split()[0]] += count
        return max(real.values(), default=0)


def compare(rebuilt: Rebuilt, calls: int, seeds: int = 2) -> list[ToolTally]:
    """Tally of each tool, on walks with so many calls per tool, spread over some seeds."""
    tallies = {
        tool.name: ToolTally(
            tool.name,
            tool.writes,
            [match.tool for match in rebuilt.tools[tool.name]],
            rebuilt.is_stray(tool.name),
        )
        for tool in rebuilt.real.tools.values()
    }
    for seed in range(seeds):
        _walk(rebuilt, seed, calls * len(tallies) // seeds, tallies)
    return list(tallies.values())


def _walk(rebuilt: Rebuilt, seed: int, calls: int, tallies: dict[str, ToolTally]) -> None:
    real = Session([rebuilt.real], seed)
    fuzzer = Fuzzer(rebuilt.real, f"truth {seed}")
    tools = list(rebuilt.real.tools.values())
    other = rebuilt.copier.session(real)
    for number in range(calls):
        if number % LOOK_EVERY == 0:
            fuzzer.look(real.state(rebuilt.real))
        if fuzzer.chance.random() < WAITS:
            real.advance(fuzzer.chance.choice(MINUTES))
            other = rebuilt.copier.session(real)
        tool = tools[(number + seed) % len(tools)]
        given = fuzzer.arguments(tool)
        before = real.state(rebuilt.real).fork()
        outcome = real.call(tool.name, given)
        changes = real.changes(tool.name) if outcome.ok else []
        known = {key for name in before.tables for key in list(getattr(before, name).keys())}
        call = JudgedCall(rebuilt, tool.name, given, known)
        call.judge(outcome, changes, other.fork(), tallies[tool.name])
        fuzzer.learn(tool, given, outcome)
        if changes:
            other = rebuilt.copier.session(real)


class JudgedCall:
    """One call, made on the real server, and how it ends on the rebuilt one."""

    def __init__(self, rebuilt: Rebuilt, tool: str, given: Json, known: set[str]) -> None:
        self.rebuilt = rebuilt
        self.tool = tool
        self.given = given
        self.known = known

    def judge(
        self, outcome: Outcome, changes: list[Change], other: Session, tally: ToolTally
    ) -> None:
        """Make the call on the rebuilt server too, and count what is the same."""
        kind, name, answer = self._answer(other)
        pair = f"{outcome.error or 'ok'} {kind}"
        tally.ends[pair] = tally.ends.get(pair, 0) + 1
        differs = pair if len({*pair.split()}) > 1 else ""
        if outcome.ok and kind == "ok":
            real, found = self._shown(outcome.value), self._shown(self._renamed(name, answer.value))
            same = self._same_result(name, real, found)
            tally.result += same
            by_id = not same and self._same_result(name, _sorted(real), _sorted(found))
            tally.order += by_id
            differs = differs or ("" if same else "order" if by_id else "result")
        if outcome.ok and tally.writes:
            mine, rest = self._real_changes(changes)
            theirs = self._rebuilt_changes(other.diff()) if kind == "ok" else []
            same = kind == "ok" and mine == theirs
            tally.change += same
            tally.whole += same and not rest
            differs = differs or ("" if same else "change")
            answer = (
                answer if same or kind != "ok" else Outcome(msgspec.json.encode(theirs).decode())
            )
            outcome = (
                outcome if same or kind != "ok" else Outcome(msgspec.json.encode(mine).decode())
            )
        if differs and differs not in tally.examples:
            texts = {"real": outcome.text[:LONGEST_TEXT], "rebuilt": answer.text[:LONGEST_TEXT]}
            tally.examples[differs] = {"arguments": self.given, "tool": name, **texts}

    def _answer(self, other: Session) -> tuple[str, str, Outcome]:
        """The kind of the rebuilt outcome, the tool that gave it, and the outcome."""
        last: tuple[str, str, Outcome] = (ABSENT, "", Outcome(""))
        for match in self._called():
            values = {
                name: self.given[real]
                for name, real in match.arguments.items()
                if real in self.given
            }
            try:
                outcome = other.call(match.tool, {**values, **match.fixed})
            except Bug as problem:
                return BROKEN, match.tool, Outcome(str(problem))
            if not outcome.ok:
                return outcome.error or "", match.tool, outcome
            last = "ok", match.tool, outcome
        return last

    def _called(self) -> list[ToolMatch]:
        """The rebuilt tools that stand for this call."""
        known = self.rebuilt.tools[self.tool]
        fitting = [each for each in known if not each.only or each.only in self.given]
        exact = [each for each in fitting if each.value and self.given[each.only] == each.value]
        done = {each.only for each in exact}
        rest = [each for each in fitting if not each.value and each.only not in done]
        return [*exact, *rest]

    def _renamed(self, tool: str, value: Any) -> Any:
        """A rebuilt result with the names of the real fields."""
        entity = self.rebuilt.spec.operation(tool).entity
        match = self.rebuilt.copier.matches.get(entity)
        names = dict(match.fields) if match else {}
        if isinstance(value, dict) and "items" in value:
            return {**value, "items": [_rename(each, names) for each in value["items"]]}
        return _rename(value, names)

    def _shown(self, value: Any) -> Any:
        """A value in which the ids of new records are equal."""
        if isinstance(value, dict):
            return {name: self._shown(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._shown(part) for part in value]
        return NEW if isinstance(value, str) and self._is_new_id(value) else value

    def _is_new_id(self, text: str) -> bool:
        """Whether a text looks like an id that no record had before the call."""
        head, _, number = text.rpartition("_")
        return head.isalpha() and number.isdigit() and text not in self.known

    def _same_result(self, tool: str, real: Any, found: Any) -> bool:
        """Whether two results are equal on the fields that both tools have."""
        mine = self.rebuilt.real.tools[self.tool].output_schema
        theirs = self.rebuilt.server.tools[tool].output_schema
        entity = self.rebuilt.spec.operation(tool).entity
        match = self.rebuilt.copier.matches.get(entity)
        names = dict(match.fields) if match else {}
        held = _properties(theirs, names)
        inside = {name: part for name, part in mine["properties"].items() if "properties" in part}
        views = [(real, _properties(mine, {}))]
        views += [(real.get(n) or {}, _properties(part, {})) for n, part in inside.items()]
        value, own = max(views, key=lambda view: len(view[1] & held))
        if "items" in own & held:
            return _same_page(value, found, _items(mine, {}) & _items(theirs, names))
        common = own & held
        return bool(common) and _equal(value, found, common)

    def _real_changes(self, changes: list[Change]) -> tuple[list[Any], bool]:
        """The changes on tables and fields that both have, and whether there are others."""
        by_table = {match.table: match for match in self.rebuilt.copier.matches.values()}
        found: list[Any] = []
        rest = False
        for change in changes:
            match = by_table.get(change.table)
            if match is None:
                rest = True
                continue
            common = set(match.fields.values())
            kept = self._change(change, common)
            touched = {*(change.before or {}), *(change.after or {})}
            rest = rest or bool(touched - common - {match.key})
            found += [(match.entity.name, *kept)] if kept else []
        return sorted(found, key=repr), rest

    def _rebuilt_changes(self, changes: list[Change]) -> list[Any]:
        by_table = {match.held: match for match in self.rebuilt.copier.matches.values()}
        found: list[Any] = []
        for change in changes:
            match = by_table.get(change.table)
            if match is None:
                found.append((change.table, NEW, "changed", {}))
                continue
            names = dict(match.fields)
            before = None if change.before is None else _rename(change.before, names)
            after = None if change.after is None else _rename(change.after, names)
            kept = self._change(
                Change(change.server, change.table, change.key, before, after), set(names.values())
            )
            found += [(match.entity.name, *kept)] if kept else []
        return sorted(found, key=repr)

    def _change(self, change: Change, common: set[str]) -> tuple[str, str, Json] | None:
        """A change on the common fields; None if there is nothing in them."""
        key = change.key if change.key in self.known else NEW
        if change.after is None:
            return key, "removed", {}
        after = {
            name: self._shown(value)
            for name, value in sorted(change.after.items())
            if name in common and value not in EMPTY
        }
        if change.before is None:
            return key, "added", after
        gone = {name: None for name in change.before if name in common and name not in after}
        return (key, "changed", {**after, **gone}) if after or gone else None


def _rename(value: Any, names: dict[str, str]) -> Any:
    return {names.get(name, name): part for name, part in value.items()}


def _properties(schema: Json, names: dict[str, str]) -> set[str]:
    return {names.get(name, name) for name in schema.get("properties", ())}


def _items(schema: Json, names: dict[str, str]) -> set[str]:
    return _properties(schema["properties"]["items"]["items"], names)


def _equal(real: Json, found: Json, names: set[str]) -> bool:
    """Whether two records are equal on some fields; null, false and empty count as missing."""
    return all(_plain(real.get(name)) == _plain(found.get(name)) for name in names)


def _plain(value: Any) -> Any:
    """A value, or None if JSON may leave it out; 0 is a value."""
    return None if value is False or (value != 0 and value in EMPTY) else value


def _same_page(real: Json, found: Json, names: set[str]) -> bool:
    """Whether two pages have the same total and items; one may be cut shorter for its size."""
    mine, theirs = real["items"], found["items"]
    count = min(len(mine), len(theirs))
    if real["total"] != found["total"] or bool(mine) != bool(theirs) or not names:
        return False
    return all(_equal(mine[at], theirs[at], names) for at in range(count))


def _sorted(value: Any) -> Any:
    """A page with its items in the order of their JSON ids."""
    if not isinstance(value, dict) or "items" not in value:
        return value
    return {**value, "items": sorted(value["items"], key=lambda each: str(each.get("id")))}
