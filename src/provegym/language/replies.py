"""Template-based assistant replies: the message that ends a turn, written from the calls' results.

The phrases are in replies.toml; the example's id seeds the choice among them. The words for one
server's tools, arguments and fields are in its asks.toml: [did], [slots], [fields].
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from provegym.language.phrasing import listed
from provegym.language.values import is_said
from provegym.servers import asks
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Step, point

NAMES = ("name", "title", "subject", "label", "merchant", "company", "description", "street")
ID = re.compile(r"[a-z]+(?:_[a-z]+)*_\d+")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
CODE = re.compile(r"[a-z]+(?:_[a-z]+)+")
LONGEST, QUOTED = 80, 40
WHYS = {"smalltalk": "chat", "knowledge": "knowledge"}
KINDS = {"irrelevance": "chat", "multi_turn": "noted"}
MOST, FIELDS, STEM = 6, 4, 4


@dataclass(frozen=True)
class Done:
    """A step that was carried out, with its arguments and its result."""

    step: Step
    arguments: Json
    result: Any


@dataclass(frozen=True)
class TurnEnd:
    """What a reply is written from: the turn, its steps, all results so far, and any refusal."""

    example: Example
    turn: int
    done: Sequence[Done]
    results: Sequence[Any]
    refusal: str = ""

    @property
    def server(self) -> str:
        """The server whose tools were called."""
        return self.example.server

    @property
    def asked(self) -> str:
        """What the user said in this turn."""
        return self.example.turns[self.turn].text

    @property
    def said(self) -> str:
        """Everything the user has said so far."""
        return "\n".join(turn.text for turn in self.example.turns[: self.turn + 1])


@cache
def phrases() -> dict[str, Any]:
    """The phrases of replies.toml, by purpose."""
    return tomllib.loads(files(__package__).joinpath("replies.toml").read_text("utf-8"))


def known(table: str, key: str, server: str) -> str | None:
    """The words for a tool, argument or field, from asks.toml or else from replies.toml."""
    own = asks(server).get(table, {})
    general = phrases().get(table, {})
    found: str | None = own.get(key, general.get(key))
    return found


def words(scene: TurnEnd, toolbox: Toolbox) -> str:
    """The message that ends a turn."""
    chance = Random(f"answers {scene.example.id} {scene.turn}")
    slot = scene.example.turns[scene.turn].asks
    if slot is not None:
        return question(slot, _schema(scene, slot, toolbox), scene.server, chance)
    if scene.refusal:
        return _refused(scene, chance)
    if not scene.done:
        return str(chance.choice(phrases()[_reason(scene)]))
    told = [*_confirmations(scene, chance), *_reports(scene, chance)]
    return " ".join(told) or _found(scene, chance)


def _reason(scene: TurnEnd) -> str:
    """The group of phrases for a turn without calls, by the reason for having none."""
    made = scene.example.provenance
    if made.why:
        return WHYS.get(made.why, "missing")
    if scene.turn < len(made.levels) and made.levels[scene.turn] == "aside":
        return "aside"
    unserved = made.unserved is not None and made.unserved.turn == scene.turn
    return KINDS.get(scene.example.kind, "missing") if not unserved else "missing"


def question(slot: str, schema: Json, server: str, chance: Random) -> str:
    """A question to the user for the value of an argument."""
    frame = chance.choice(phrases()["ask"][_sort(slot, schema)])
    return sentence(frame.format(slot=slot_name(slot, server)))


def slot_name(slot: str, server: str) -> str:
    """The plain words for an argument: "payee" for payee_id."""
    return known("slots", slot, server) or re.sub(r"_ids?$", "", slot).replace("_", " ")


def _sort(slot: str, schema: Json) -> str:
    kinds = [schema, *schema.get("anyOf", ())]
    types = {name for each in kinds for name in _types(each)}
    if any(each.get("format") in ("date", "date-time") for each in kinds):
        return "when"
    if any("enum" in each for each in kinds) or re.search(r"_ids?$", slot) or "boolean" in types:
        return "choice"
    return "number" if types & {"number", "integer"} else "text"


def _types(schema: Json) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _schema(scene: TurnEnd, slot: str, toolbox: Toolbox) -> Json:
    """The schema of the argument that is asked for, from the later step that takes it."""
    for step in scene.example.paths[0].steps:
        if step.turn > scene.turn and slot in step.arguments and step.tool in toolbox.schemas:
            found: Json = toolbox.schemas[step.tool]["properties"][slot]
            return found
    return {}


def _refused(scene: TurnEnd, chance: Random) -> str:
    why = scene.refusal
    names = names_in(scene.results)
    why = ID.sub(lambda found: names.get(found[0], "it"), why)
    why = CODE.sub(lambda found: found[0].replace("_", " "), why)
    return sentence(chance.choice(phrases()["refused"]).format(why=why.rstrip(".")))


def _confirmations(scene: TurnEnd, chance: Random) -> Iterator[str]:
    """One sentence for all writes."""
    names = names_in(scene.results)
    clauses = []
    for each in scene.done:
        if each.step.writes:
            details = ", ".join(_details(each, names, scene))
            did = deed(each.step.tool, scene.server)
            clauses.append(did + (f" ({details})" if details else ""))
    if clauses:
        yield sentence(chance.choice(phrases()["done"]).format(did=listed(clauses)))


def _details(done: Done, names: dict[str, str], scene: TurnEnd) -> Iterator[str]:
    """The arguments that the user would recognise: said values, dates, and names instead of ids."""
    for name, value in [*done.arguments.items()][:MOST]:
        if isinstance(value, str) and value in names:
            yield f"{slot_name(name, scene.server)} {names[value]}"
        elif isinstance(value, str | int | float) and _is_recognised(value, scene.said):
            yield f"{slot_name(name, scene.server)} {spoken(value)}"


def _is_recognised(value: str | int | float, said: str) -> bool:
    text = str(value)
    if isinstance(value, bool) or len(text) > LONGEST or ID.fullmatch(text):
        return False
    return is_said(value, said) or DAY.match(text) is not None


def deed(tool: str, server: str) -> str:
    """What a write did, in the past tense: from asks.toml, or from the tool's name.

    transfer_funds becomes "transferred the funds".
    """
    if told := known("did", tool, server):
        return told
    verb, _, rest = tool.partition("_")
    thing = rest.replace("_", " ")
    first, _, after = thing.partition(" ")
    has_preposition = after and first in phrases()["prepositions"]
    place = f"{first} the {after}" if has_preposition else f"the {thing}"
    return f"{past(verb)} {place if rest else 'it'}"


def past(verb: str) -> str:
    """The past participle of a verb."""
    irregular = phrases()["past"].get(verb)
    if irregular:
        return str(irregular)
    if verb.endswith("e"):
        return f"{verb}d"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    return f"{verb}ed"


def _reports(scene: TurnEnd, chance: Random) -> Iterator[str]:
    """One sentence for each question that was answered."""
    for each in scene.done:
        if each.step.answers and (answer := _answer(each, scene)):
            yield sentence(chance.choice(phrases()["report"]).format(answer=answer))


def _answer(done: Done, scene: TurnEnd) -> str:
    """The answer in a read's result: items of a list, fields of one record, or single values."""
    pointers = [p for p in done.step.answers if point(done.result, p)[0]]
    holders = {pointer.rpartition("/")[0] for pointer in pointers}
    if "/total" in pointers and isinstance(done.result.get("items"), list):
        return _several(done.result["items"], done.result["total"], scene)
    record = point(done.result, holders.pop())[1] if len(holders) == 1 else None
    if isinstance(record, dict) and "items" not in record and "" not in pointers:
        return _fields(record, [pointer.rpartition("/")[2] for pointer in pointers], scene)
    return listed([f"the result is {spoken(point(done.result, p)[1])}" for p in pointers] or [""])


def _several(items: list[Any], total: int, scene: TurnEnd) -> str:
    """The number of items, and the first few of them."""
    if not items:
        return "there are none"
    told = [_in_short(item, scene) for item in items[:MOST]]
    rest = f"; {total - len(told)} more" if total > len(told) else ""
    return f"there {'is one' if total == 1 else f'are {total}'}: {'; '.join(told)}{rest}"


def _in_short(item: Any, scene: TurnEnd) -> str:
    if not isinstance(item, dict):
        return spoken(item)
    name = _name_of(item)
    plain = {n: v for n, v in item.items() if _is_plain(n, v) and v != name}
    wanted = _asked_for(plain, scene.asked)
    wanted += [n for n, v in plain.items() if not isinstance(v, bool)]
    chosen = [*dict.fromkeys(wanted)][:FIELDS]
    fields = [f"{field_name(n, scene.server)} {spoken(plain[n])}" for n in chosen]
    return f"{name} ({', '.join(fields)})" if name and fields else name or ", ".join(fields)


def _fields(record: Json, keys: list[str], scene: TurnEnd) -> str:
    """A few fields of a record, first those whose names occur in the question."""
    name = _name_of(record, keys[0] if len(keys) == 1 else "")
    if len(keys) > FIELDS - 1:
        keys = [*dict.fromkeys((*_asked_for(record, scene.asked), *keys))]
    chosen = [key for key in keys if len(keys) == 1 or record[key] != name][:FIELDS]
    if len(chosen) == 1:
        return _clause(chosen[0], record[chosen[0]], name, scene.server)
    told = listed([_clause(key, record[key], "", scene.server) for key in chosen])
    return f"for {name}, {told}" if name else told


def _asked_for(record: Json, asked: str) -> list[str]:
    """The fields whose names begin like a word of the question."""
    begins = {word[:STEM] for word in re.findall(r"\w{4,}", asked.casefold())}
    named = [n for n in record if n not in NAMES and not n.endswith("id")]
    return [n for n in named if any(part[:STEM] in begins for part in n.split("_"))]


def _is_plain(key: str, value: Any) -> bool:
    if not isinstance(value, str | int | float) or key in ("latitude", "longitude"):
        return False
    return not (isinstance(value, str) and (ID.search(value) or len(value) > LONGEST))


def field_name(key: str, server: str) -> str:
    """A field of a result in plain words."""
    return known("fields", key, server) or key.replace("_", " ")


def _clause(key: str, value: Any, owner: str, server: str) -> str:
    """A field and its value, in a form that suits the kind of value."""
    plain = field_name(key, server)
    if isinstance(value, bool):
        return f"{plain}{f' ({owner})' if owner else ''}: {spoken(value)}"
    if isinstance(value, str) and DAY.match(value) and plain.split()[0].endswith(("s", "ed", "at")):
        first = plain.split()[0]
        verb = {"at": "is from"}.get(plain, f"was {plain}" if first.endswith("ed") else plain)
        return f"{owner or 'it'} {verb} {spoken(value)}"
    if isinstance(value, int | float) and known("fields", key, server) is None:
        plain = f"number of {plain}" if re.search(r"[^s]s$", plain) else plain
    verb = "are" if isinstance(value, list) else "is"
    return f"the {plain}{f' of {owner}' if owner else ''} {verb} {spoken(value)}"


def _found(scene: TurnEnd, chance: Random) -> str:
    """The whole result of the last read, for a turn that answers no specific question."""
    return sentence(
        chance.choice(phrases()["report"]).format(
            answer=f"the result is {spoken(scene.done[-1].result)}"
        )
    )


def names_in(results: Sequence[Any]) -> dict[str, str]:
    """The names that results give for the ids in them."""
    found: dict[str, str] = {}
    for record in _records(list(results)):
        if isinstance(record.get("id"), str) and (name := _name_of(record)):
            found[record["id"]] = name
        for key, value in record.items():
            named = record.get(f"{key.removesuffix('_id')}_name")
            if key.endswith("_id") and isinstance(value, str) and isinstance(named, str):
                found.setdefault(value, named)
    return found


def _records(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _records(part)


def _name_of(record: Any, key: str = "") -> str:
    """The name of a record, or "" if it has none or the name is what was asked for."""
    if not isinstance(record, dict) or key in NAMES:
        return ""
    named = [record[field] for field in NAMES if isinstance(record.get(field), str)]
    return named[0] if named and len(named[0]) <= LONGEST else ""


def spoken(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        whole = int(value) if value == value // 1 else value
        return f"{whole:,}" if abs(value) >= 10_000 else str(whole)
    if isinstance(value, str):
        return _spoken_text(value)
    if isinstance(value, list):
        rest = [f"{len(value) - MOST} more"] if len(value) > MOST else []
        return listed([spoken(part) for part in value[:MOST]] + rest) if value else "none"
    if isinstance(value.get("items"), list):
        return spoken(value["items"])
    fields = [f"{name.replace('_', ' ')} {spoken(part)}" for name, part in _plain(value)]
    return _name_of(value) or ", ".join(fields[:MOST]) or "nothing"


def _plain(record: Json) -> list[tuple[str, Any]]:
    return [(n, v) for n, v in record.items() if isinstance(v, str | int | float) and n != "id"]


def _spoken_text(text: str) -> str:
    if DAY.fullmatch(text):
        return _spoken_day(date.fromisoformat(text))
    if TIME.fullmatch(text):
        moment = datetime.fromisoformat(text)
        clock = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
        return f"{_spoken_day(moment)} at {clock} UTC"
    if CODE.fullmatch(text):
        return text.replace("_", " ")
    return f'"{text}"' if len(text) > QUOTED or text.endswith((".", "!", "?")) else text or "empty"


def _spoken_day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def sentence(text: str) -> str:
    """The text with a capital at the start and a full stop at the end."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
