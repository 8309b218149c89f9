"""The evidence of a read: the facts in its result that later calls and the answer need.

A fact ties each value to the thing that the user spoke of. So an equal value of another thing, an
equal count or a second empty list is no evidence.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from provegym.kernel import AnyServer
from provegym.language.identity import direct, marks_of, own_key
from provegym.language.things import noun_of, survey
from provegym.language.values import InContext, Scalar, in_context, is_said, leaves, made_up, normal
from provegym.rewards.evidence import holds, is_in, shown
from provegym.trace import Evidence, Fact, Json, Step, point
from provegym.verify.replay import Played, Replay

# The place of a field of an item, such as /items/0/id.
OF_ITEM = re.compile(r"/items/[0-9]+/")
LABELS = ("name", "title", "subject", "label", "symbol", "code", "path", "date", "day")


def evidence_of(gold: Replay, at: int, taken: Iterable[Scalar]) -> Evidence | None:
    """The evidence of a read step; `taken` are the values that later steps take from its result.

    The answer of a foreign server may differ from run to run (a time, a folder), so it is no fact.
    """
    played = gold.played[at]
    found = [lookup_fact(gold, at, leaf) for leaf in taken]
    foreign = bool(played.step.answers) and _server_of(played).foreign
    if played.step.answers and not foreign:
        found += answer_facts(gold, at)
    if played.step.writes or not (found or foreign):
        return None
    facts = {msgspec.json.encode(fact): fact for fact in found}
    tied = foreign or not all(map(is_tied_to_thing, facts.values())) or _hides_its_thing(played)
    defaults = _defaults(played) if tied else {}
    return Evidence(facts=tuple(facts.values()), tied=tied, defaults=defaults)


def _hides_its_thing(played: Played) -> bool:
    """Whether an answer does not show what was asked about: "near this place" lists other places.

    Then the same records may be the result of the same question about another thing.
    """
    server, shown_text = _server_of(played), played.outcome.text
    keys = [leaf for leaf in leaves(played.arguments) if noun_of(server, leaf)]
    return bool(played.step.answers) and any(f'"{key}"' not in shown_text for key in keys)


def _defaults(played: Played) -> Json:
    """The defaults of the arguments that a step leaves out."""
    parts = played.before.tools[played.step.tool][0].input_schema["properties"]
    rest = {name: part for name, part in parts.items() if name not in played.arguments}
    return {n: part["default"] for n, part in rest.items() if part.get("default") is not None}


def is_tied_to_thing(fact: Fact) -> bool:
    """Whether a fact tells what its values are about, so that another call may show it as well."""
    return bool(fact.about) if fact.fields else len(fact.about) > 1


def lookup_fact(gold: Replay, at: int, leaf: Scalar) -> Fact:
    """The fact that a value belongs to what the user spoke of; alone if the result does not tell.

    The record that holds the value also holds the parts of the thing's name, or an argument of the
    call, or a key that was known before.
    """
    played = gold.played[at]
    if leaf in generated(gold, at):
        return Fact()
    holding = [r for r in shown(played.outcome.text) if _holds(r[0], leaf)]
    marks = list(naming_marks(gold, leaf, _turns_for(gold, at, leaf)))
    for each in marks:
        if any(each <= about for _, about in holding):
            return Fact(about=_about(leaf, each))
    for record, about in holding:
        found = [m for each in marks for m in each if m in about]
        found += [a for a in map(normal, leaves(played.arguments)) if a in about]
        if not found:
            found = [normal(v) for v in direct(record) if _is_telling(v, played)]
        if set(found) - {normal(leaf)}:
            return Fact(about=_about(leaf, found))
    return Fact(about=(leaf,))


def _turns_for(gold: Replay, at: int, leaf: Scalar) -> Iterable[int]:
    """All turns, first the one whose call takes a value that a step shows."""
    takers = [p.step.turn for p in gold.played[at + 1 :] if leaf in set(leaves(p.arguments))]
    return dict.fromkeys([*takers[:1], *range(len(gold.worlds))])


def _holds(record: Json, leaf: Scalar) -> bool:
    form = normal(leaf)
    return any(normal(value) == form for value in direct(record))


def _about(leaf: Scalar, marks: Iterable[str]) -> tuple[Scalar, ...]:
    form = normal(leaf)
    return (leaf, *sorted({mark for mark in marks if mark != form}))


def _is_telling(value: Scalar, played: Played) -> bool:
    """Whether a value was said by the user, or is a key that was known before the call."""
    if isinstance(value, bool) or len(normal(value)) < 2:
        return False
    server = _server_of(played)
    if isinstance(value, str) and noun_of(server, value) and normal(value) in played.known.values:
        return True
    return is_said(value, played.known.text)


def _server_of(played: Played) -> AnyServer:
    return played.before.tools[played.step.tool][1]


def naming_marks(gold: Replay, leaf: Scalar, turns: Iterable[int]) -> Iterator[frozenset[str]]:
    """The parts of every name that one of these turns gives to a thing with this value."""
    names = gold.example.provenance.names
    for turn in turns:
        if turn < len(names) and names[turn]:
            world = survey(gold.worlds[turn], gold.example.server)
            yield from marks_of(leaf, names[turn], world)


def generated(gold: Replay, at: int) -> set[Scalar]:
    """The values that writes before a step made up: ids and codes that nobody gave.

    A record that was there before is not made up where a write only refers to it.
    """
    found: set[Scalar] = set()
    for played in gold.played[:at]:
        state = played.before.state(_server_of(played))
        known = [getattr(state, name) for name in state.tables]
        made = made_up(played.arguments, played.changes)
        found.update(each for each in made if not any(each in rows for rows in known))
    return found


def answer_facts(gold: Replay, at: int) -> list[Fact]:
    """The facts of an answer: the fields of one record, or one fact for each item of a list.

    A question about the first item needs that item alone, and so does a request that is refused
    because of one item. A number of things, or an empty list, is a fact about the call alone.
    """
    played = gold.played[at]
    result, answers = played.outcome.value, played.step.answers
    made = generated(gold, at)
    context = {id(record): about for record, about in in_context(result)}
    asked = [pointer.split("/") for pointer in answers if OF_ITEM.match(pointer)]
    if asked and all(isinstance(item, dict) for item in result["items"]):
        fields = list(dict.fromkeys(name for _, _, _, name, *_ in asked))
        places = {int(at) for _, _, at, *_ in asked}
        alone = "/total" not in answers and (places == {0} or _is_refused(gold, played))
        items = [result["items"][at] for at in sorted(places)] if alone else result["items"]
        return [_fact(played, item, context[id(item)], fields, made) for item in items]
    found: list[Fact] = []
    for holder in dict.fromkeys(pointer.rpartition("/")[0] for pointer in answers):
        record = point(result, holder)[1]
        names = [p.rpartition("/")[2] for p in answers if p.rpartition("/")[0] == holder]
        is_count = names == ["total"] and isinstance(record, dict) and "items" in record
        if not isinstance(record, dict) or is_count:
            return [Fact(fields={"total": record["total"]} if is_count else {})]
        found.append(_fact(played, record, context[id(record)], names, made))
    return found


def _is_refused(gold: Replay, played: Played) -> bool:
    """Whether the turn of a step asks for what a rule refuses."""
    refused = gold.example.provenance.infeasible
    return refused is not None and refused.turn == played.step.turn


def _fact(
    played: Played, record: Json, about: frozenset[str], names: Iterable[str], made: set[Scalar]
) -> Fact:
    """The fact that a record has these fields, tied to its key or else to the call's arguments."""
    kept = [name for name in names if name in record and _is_kept(record[name], made)]
    fields = {name: record[name] for name in kept}
    key = own_key(_server_of(played), record)
    if key is not None:
        fields = fields or {name: value for name, value in record.items() if value == key}
        return Fact(fields=fields, about=() if key in made else (key,))
    given = [leaf for leaf in leaves(played.arguments) if not isinstance(leaf, bool)]
    shown = [leaf for leaf in given if normal(leaf) in about and leaf not in made]
    label = _label(record)
    if len(shown) < len(given) or not (shown or label):
        return Fact(fields=fields)
    return Fact(fields={**label, **fields}, about=(*shown, *label.values()))


def _label(record: Json) -> Json:
    """The field that names a record without a key, if it has one."""
    name = next((n for n in LABELS if isinstance(record.get(n), str)), None)
    return {name: record[name]} if name else {}


def _is_kept(value: Any, made: set[Scalar]) -> bool:
    return not any(leaf in made for leaf in leaves(value) if isinstance(leaf, str))


def pointers_to(result: Any, asked: Step) -> tuple[str, ...] | None:
    """JSON pointers, in another result, to the fields of a step's evidence, if it shows all."""
    evidence = asked.evidence
    if evidence is None or evidence.tied:
        return None
    found: list[str] = []
    for fact in evidence.facts:
        place = next((p for p, record in _placed(result) if is_in(fact, record)), None)
        if place is None:
            return None
        found += [f"{place}/{name}" for name in fact.fields]
    return tuple(found)


def _placed(
    value: Any, place: str = "", around: frozenset[str] = frozenset()
) -> Iterator[tuple[str, InContext]]:
    """Every record of a result with its JSON pointer."""
    if isinstance(value, list):
        for at, part in enumerate(value):
            yield from _placed(part, f"{place}/{at}", around)
    elif isinstance(value, dict):
        yield place, next(in_context(value, around))
        own = around | {normal(part) for part in value.values() if isinstance(part, Scalar)}
        for name, part in value.items():
            yield from _placed(part, f"{place}/{name}", own)


def values_of(played: Played) -> tuple[Any, ...]:
    """The values that answer the user; none of a foreign server, where they may differ."""
    if _server_of(played).foreign:
        return ()
    return tuple(point(played.outcome.value, pointer)[1] for pointer in played.step.answers)


def evidence_holds(gold: Replay, taken: list[list[Scalar]]) -> Iterator[str]:
    """Every read has the evidence that its result shows, and the values of its answers."""
    for at, played in enumerate(gold.played):
        wanted = evidence_of(gold, at, taken[at])
        if played.step.evidence != wanted:
            yield f"step {at} ({played.step.tool}) has other evidence than its result shows"
        for other in played.step.alternatives if wanted else ():
            outcome = played.before.fork().call(other.tool, other.arguments)
            if not outcome.ok or wanted is None or not holds(outcome.text, wanted.facts):
                yield f"step {at}: {other.tool}{other.arguments} does not show what it is for"
        if played.step.values != values_of(played):
            yield f"step {at} ({played.step.tool}) has other answers than its result shows"
