"""Template-based assistant replies: the message that ends a turn, written from the calls' results.

A reply confirms every write, reports what was asked, asks for what is missing, or says why nothing
was done. The phrases are in replies.toml; the example's id seeds the choice among them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from random import Random
from typing import Any

from provegym.inflection import past
from provegym.kernel import Seed
from provegym.language import smalltalk
from provegym.language.reports import ReadReport
from provegym.language.spoken import (
    DAY,
    ID,
    LONGEST,
    Speech,
    listed,
    names_in,
    sentence,
    spoken_time,
    to_you,
)
from provegym.language.templates import choose, fill_slots
from provegym.language.values import is_said
from provegym.language.vocabulary import did_by, own, phrases, slot_name
from provegym.servers import is_known, load
from provegym.servers.people import acting_user
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Step, point

MOST_CHOICES = 5
WILLING = 0.6
YOU = {"is": "are", "has": "have", "was": "were"}
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d)?(?:Z| UTC|\+00:00)?")
ASIDES = ("smalltalk", "knowledge", "beyond")


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
    now: datetime
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

    @property
    def user(self) -> str:
        """The name of the person whom the assistant acts for."""
        return acting_user(Seed(self.example.seed)).name

    @cached_property
    def speech(self) -> Speech:
        """How this turn's values are said. The user's own names for things come first."""
        names = names_in(self.results, self.server)
        made = self.example.provenance
        for claim in made.relations:
            if claim.turn <= self.turn:
                names.setdefault(claim.key, to_you(claim.phrase))
        for called in made.names[: self.turn + 1]:
            told = [(p, key) for p, key in called if not p.startswith("whoever ")]
            names |= {key: to_you(phrase) for phrase, key in told}
        return Speech(self.server, self.now, names)


def words(scene: TurnEnd, toolbox: Toolbox) -> str:
    """The message that ends a turn."""
    chance = Random(f"answers {scene.example.id} {scene.turn}")
    slot = scene.example.turns[scene.turn].asks
    if slot is not None:
        schema = missing_schema(scene.example, scene.turn, slot, toolbox)
        return question(slot, schema, scene.server, chance)
    if scene.refusal:
        return _refused(scene, chance)
    if not scene.done:
        return _without_calls(scene, chance)
    told = ""
    for part in _told(scene, chance):
        told += f"{part}\n\n" if "\n" in part else f"{part} "
    return told.rstrip()


def _without_calls(scene: TurnEnd, chance: Random) -> str:
    """The answer to a turn that needs no call, or that no tool serves."""
    made = scene.example.provenance
    is_aside = scene.turn < len(made.levels) and made.levels[scene.turn] == "aside"
    if made.why in ASIDES or (is_aside and not made.why):
        told = smalltalk.answer(scene.asked, _helps(scene.server), chance)
        if told is not None:
            return told
    if made.why == "missing":
        return str(chance.choice(phrases()["unclear"]))
    is_unserved = made.unserved is not None and made.unserved.turn == scene.turn
    if is_unserved or scene.example.kind == "clarification":
        able = phrases()["able"].get(made.unserved.tool) if made.unserved else None
        frames = phrases()["unable"] if able else phrases()["missing"]
        return str(chance.choice(frames).format(able=able))
    if made.why or is_aside or scene.example.kind != "multi_turn":
        return str(chance.choice(phrases()["elsewhere"]).format(helps=_helps(scene.server)))
    return str(chance.choice(phrases()["noted"]))


def _helps(server: str) -> str:
    """What the assistant can help with, in a few words."""
    return str(own("reply", "helps", server) or phrases()["helps"])


def question(slot: str, schema: Json, server: str, chance: Random) -> str:
    """A question to the user for the value of an argument; a few choices are named.

    The [question] table of a server or of replies.toml has whole questions for some arguments.
    """
    if whole := own("question", slot, server) or phrases()["question"].get(slot):
        first = f"{chance.choice(phrases()['willing'])} " if chance.random() < WILLING else ""
        asked = f"{first}{chance.choice(whole)}"
    else:
        frame = chance.choice(phrases()["ask"][_sort(slot, schema)])
        asked = sentence(frame.format(slot=slot_name(slot, server)))
    choices = [str(value).replace("_", " ") for value in _choices(schema) if value is not None]
    if not 1 < len(choices) <= MOST_CHOICES or " or " in asked:
        return asked
    return f"{asked} {chance.choice(phrases()['choices']).format(choices=_either(choices))}"


def _either(choices: list[str]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


def _choices(schema: Json) -> list[Any]:
    """The enum values of a schema, or none."""
    found = [part["enum"] for part in [schema, *schema.get("anyOf", ())] if "enum" in part]
    return list(found[0]) if found else []


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


def missing_schema(example: Example, turn: int, slot: str, toolbox: Toolbox) -> Json:
    """The schema of the argument that is asked for: of the later step that takes it.

    Without such a step: the one schema that all of the server's tools have for it, if there is one.
    """
    for step in example.paths[0].steps if example.paths else ():
        if step.turn > turn and slot in step.arguments and step.tool in toolbox.schemas:
            found: Json = toolbox.schemas[step.tool]["properties"][slot]
            return found
    own_tools = load(example.server).tools if is_known(example.server) else {}
    shown = [toolbox.schemas[name]["properties"] for name in own_tools if name in toolbox.schemas]
    known = [properties[slot] for properties in shown if slot in properties]
    enums = [_choices(schema) for schema in known]
    return known[0] if known and all(each == enums[0] for each in enums) else {}


def _refused(scene: TurnEnd, chance: Random) -> str:
    """Why a request cannot be carried out, in the words of the tool, with names for ids.

    A hint that names another tool is left out: it is for the assistant.
    """
    speech, why = scene.speech, scene.refusal
    tools = load(scene.server).tools if is_known(scene.server) else {}
    first, *hints = why.split("; ")
    why = "; ".join([first, *(hint for hint in hints if not any(tool in hint for tool in tools))])
    why = ID.sub(lambda found: speech.say(found[0]) or "it", why)
    why = STAMP.sub(lambda found: spoken_time(f"{found[1]}T{found[2]}:00Z", scene.now), why)
    why = re.sub(r"\w+", lambda word: speech.say(word[0]) or word[0], why) if "_" in why else why
    return sentence(chance.choice(phrases()["refused"]).format(why=why.rstrip(".")))


def _told(scene: TurnEnd, chance: Random) -> Iterator[str]:
    """One sentence for each write and a report for each question, in the order of the calls.

    A turn that neither writes nor asks gets a report on its last read.
    """
    frames = phrases()["done"]
    has_goal = any(each.step.writes or each.step.answers for each in scene.done)
    for each in scene.done:
        if each.step.writes:
            did = to_the_user(deed(each, scene.said, scene.speech), scene.user)
            yield sentence(chance.choice(frames).format(did=did))
            frames = phrases()["also"]
        elif each.step.answers or (not has_goal and each is scene.done[-1]):
            told = report(each, scene.speech).tell(chance)
            asked = [point(each.result, answer)[1] for answer in each.step.answers]
            if scene.user in asked:  # the name is the answer
                yield told.replace(scene.user, f"{scene.user} (you)")
            else:
                yield to_the_user(told, scene.user)


def to_the_user(text: str, user: str) -> str:
    """A text as it is told to the user: "checked you in", not by the user's own name."""
    parts = re.split(r'("[^"]*")', text)
    for at in range(0, len(parts), 2):
        part = parts[at].replace(f"{user}'s", "your").replace(user, "you")
        part = re.sub(r"\byou (is|has|was)\b", lambda verb: f"you {YOU[verb[1]]}", part)
        parts[at] = re.sub(r"(?:(?<=[.!?\n] )|(?<=\n- ))you", "You", part)
    text = "".join(parts)
    return f"Y{text[1:]}" if text.startswith("you") else text


def report(done: Done, speech: Speech) -> ReadReport:
    """The report on a read."""
    step = done.step
    return ReadReport(step.tool, done.arguments, done.result, step.answers, speech)


def deed(done: Done, said: str, speech: Speech) -> str:
    """What a write did, as a participle: "moved 120 from Household to Savings"."""
    entry = did_by(done.step.tool, speech.server)
    if entry is None:
        return _by_name(done, said, speech)
    facts, values = _facts(done, speech.server), _tellable(done, speech)
    template = choose(entry, facts)
    if template is None:
        raise ValueError(f"[did] of {speech.server} has no words for {done.step.tool} {facts}")
    brief = {name: value for name, value in values.items() if value == _cut(value)}
    cut = {name: _cut(value) for name, value in values.items()}
    text = fill_slots(template, brief) or fill_slots(template, cut)
    if text is None:
        raise ValueError(f"[did] of {speech.server} has no words for {done.step.tool} {values}")
    return speech.place_dates(text, facts)


def _cut(text: str) -> str:
    """A text, or the beginning of its first line if it is long."""
    line = text.partition("\n")[0]
    return line if line == text and len(line) <= 2 * LONGEST else f"{line[:LONGEST].rstrip()}…"


def _facts(done: Done, server: str) -> Json:
    """The arguments, and the fields of the result whose names are not those of arguments."""
    known = load(server).tools[done.step.tool].input_schema["properties"]
    result = done.result if isinstance(done.result, dict) else {}
    return {n: v for n, v in result.items() if n not in known} | done.arguments


def _tellable(done: Done, speech: Speech) -> dict[str, str]:
    """What can be said of a write, by slot. An id without a name is said as "the account"."""
    facts = _facts(done, speech.server) if is_known(speech.server) else done.arguments
    values = speech.values(facts)
    for name, value in done.arguments.items():
        first = value[0] if isinstance(value, list) and value else value
        if name not in values and isinstance(first, str) and ID.fullmatch(first):
            values[name] = f"the {slot_name(name, speech.server)}"
    return values


def _by_name(done: Done, said: str, speech: Speech) -> str:
    """What a write without a template did: from the tool's name, with the values the user said.

    transfer_funds becomes "transferred the funds".
    """
    verb, _, rest = done.step.tool.partition("_")
    thing = rest.replace("_", " ")
    first, _, after = thing.partition(" ")
    has_preposition = after and first in phrases()["prepositions"]
    place = f"{first} the {after}" if has_preposition else f"the {thing}"
    values = _tellable(done, speech)
    told = [
        f"the {slot_name(name, speech.server)} {values[name]}"
        for name, value in done.arguments.items()
        if name in values and len(values[name]) <= LONGEST and _is_recognised(value, said)
    ]
    with_values = f" with {listed(told)}" if told else ""
    return f"{past(verb)} {place if rest else 'it'}{with_values}"


def _is_recognised(value: Any, said: str) -> bool:
    """Whether the user would recognise a value: it was said, or it is a date."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return is_said(value, said) or DAY.match(str(value)) is not None
