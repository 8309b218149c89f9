"""Draws specs from a grammar: the words of a domain, crossed with patterns that combine.

A domain (`domains/*.toml`) has nouns and names of one kind of life or work; its words for some of
the patterns stand in files that are named after these. A pattern (`patterns/*.toml.jinja`) is a
template for a part of a spec: booking with capacity, ledger, workflow, orders with lines, and more
(`patterns/index.toml`). A seed chooses the domain, two or three of its patterns, their options and
the names of tools.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from provegym import templates
from provegym.inflection import past, plural
from provegym.worlds.spec import SpecError, WorldSpec, convert

# How often a world has two or three patterns.
PATTERN_COUNTS = {2: 2, 3: 1}
# A world with more tools than this has two patterns: admission takes longer than in proportion.
MOST_TOOLS = 24
TRIES = 6
PEOPLE = {"party": (12, 18), "staff": (7, 11)}
# Words before which "an" stands although no vowel does, and the other way round.
AN, A = re.compile(r"h(?:our|eir|onest)"), re.compile(r"uni|us[aeu]|eu|one")
TABLES = ("operations", "events", "invariants", "past")
Json = dict[str, Any]


@dataclass(frozen=True)
class Noun:
    """A noun of a domain in all the forms that a template needs."""

    word: str
    prefix: str

    def __str__(self) -> str:
        return self.word

    @property
    def s(self) -> str:
        """In snake case: the name of an entity."""
        return self.word.replace(" ", "_")

    @property
    def id(self) -> str:
        """The name of an argument that is its key."""
        return f"{self.s}_id"

    @property
    def many(self) -> str:
        """The plural."""
        return plural(self.word)

    @property
    def many_s(self) -> str:
        """The plural in snake case."""
        return self.many.replace(" ", "_")

    @property
    def a(self) -> str:
        """With the indefinite article."""
        vowel = self.word[0] in "aeiou" and not A.match(self.word)
        return f"{'an' if vowel or AN.match(self.word) else 'a'} {self.word}"

    @property
    def the(self) -> str:
        """With the definite article."""
        return f"the {self.word}"


@cache
def domains() -> dict[str, Json]:
    """All domains by name."""
    found: dict[str, Json] = {}
    for file in sorted(files(__package__).joinpath("domains").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            for name, words in tomllib.loads(file.read_text("utf-8")).items():
                found[name] = found.get(name, {}) | words
    return found


@cache
def patterns() -> dict[str, Json]:
    """All patterns by name: its nouns (the main one first), what it needs, verbs, options, kin."""
    return _table("index.toml")


@cache
def _table(name: str) -> Json:
    return tomllib.loads(files(__package__).joinpath("patterns", name).read_text("utf-8"))


def draw_specs(seed: int) -> Iterator[WorldSpec]:
    """Specs without end; the same seed gives the same ones in the same order."""
    names = sorted(domains())
    number = 0
    while True:
        chance = Random(f"worlds {seed} {number // len(names)}")
        order = chance.sample(names, len(names))
        yield draw_spec(order[number % len(names)], seed, number)
        number += 1


def draw_spec(domain: str, seed: int, number: int) -> WorldSpec:
    """The spec of one world of a domain."""
    chance = Random(f"world {seed} {number} {domain}")
    words = domains()[domain]
    known = [name for name in patterns() if name in words]
    count = chance.choices(list(PATTERN_COUNTS), list(PATTERN_COUNTS.values()))[0]
    order = chance.sample(known, count)
    for _ in range(TRIES):
        chosen = sorted(order)
        context = _context(chance, words, chosen)
        merged = _merged([_rendered(name, context) for name in ("people", *chosen)])
        tools = [operation["tool"] for operation in merged["operations"]]
        if len(tools) > MOST_TOOLS:
            order = order[:2]
        elif len(set(tools)) == len(tools):  # else other verbs are drawn
            break
    kin = sorted({kin for name in chosen for kin in patterns()[name]["kin"]})
    return convert(
        {
            "name": f"{domain}_{seed}_{number}",
            "about": f"The desk of {words['about']}: {_listed(context, chosen)}.",
            "category": words["category"],
            "source": f"drawn {seed} {number}: {domain}, {', '.join(chosen)}",
            "kin": kin,
            **merged,
            "words": merged["words"]
            | {"reply": {"helps": f"the {_listed(context, chosen)} of {words['about']}"}},
        },
        f"{domain} {seed} {number}",
    )


def _context(chance: Random, words: Json, chosen: list[str]) -> Json:
    """The values that the templates of a world see."""
    styles = {name: each for name, each in _table("style.toml").items() if name != "new"}
    style = {name: chance.choice(values) for name, values in styles.items()}
    uses = {role: any(role in patterns()[n]["uses"] for n in chosen) for role in (*PEOPLE, "place")}
    verbs: Json = {"list": style["list"]}
    options: Json = {}
    for name in chosen:
        verbs |= {verb: chance.choice(v) for verb, v in patterns()[name]["verbs"].items()}
        options |= {key: chance.choice(v) for key, v in patterns()[name]["options"].items()}
    options["quota"] = "lending" in chosen
    options["hours"] = "rota" in chosen
    takes_people = any(name in chosen for name in ("booking", "lending"))
    options["standing"] = takes_people and chance.random() < 0.6
    options["since"] = chance.random() < 0.4
    style["active"], style["barred"], verbs["bar"] = style.pop("standing")
    flat: Json = {role: word for role, word in words.items() if isinstance(word, str | list)}
    for name in chosen:
        flat |= words[name]
    made_up = _table("style.toml")["new"]
    spare: Json = {
        f"new_{many}": _new(chance, flat[many], ways)
        for many, ways in made_up.items()
        if many in flat
    }
    nouns = _nouns(flat, chosen, style.pop("delivery"))
    return {
        **flat,
        **nouns,
        **spare,
        "style": style,
        "verb": verbs,
        "option": options,
        "uses": uses,
        "count": {role: chance.randint(*span) for role, span in PEOPLE.items()},
        "past": past,
    }


def _new(chance: Random, names: list[str], ways: list[str]) -> list[str]:
    """Names that users make up for new records."""
    chosen = chance.sample(names, min(10, len(names)))
    return [chance.choice(ways).format(name) for name in chosen]


def _nouns(flat: Json, chosen: list[str], delivery: str) -> Json:
    """The nouns of a world, each with a prefix of its own."""
    own = [role for name in chosen for role in patterns()[name]["nouns"]]
    roles = [role for role in (*PEOPLE, "place", *own) if role in flat]
    taken: set[str] = set()
    found: Json = {}
    others = {flat[role] for role in roles}
    flat = {**flat, "delivery": delivery if delivery not in others else "incoming lot"}
    for role in (*roles, "delivery"):
        found[role] = Noun(flat[role], _prefix(flat[role], taken))
    if "unit" in flat:
        found["unit"] = Noun(flat["unit"], "")
    return found


def _prefix(word: str, taken: set[str]) -> str:
    """Three letters of a noun that no other noun of this world has."""
    letters = word.replace(" ", "")
    consonants = letters[0] + re.sub("[aeiou]", "", letters[1:])
    options = [consonants[:3], letters[:3], letters[:4], consonants[:4]]
    options += [f"{letters[:2]}{letter}" for letter in "xyzwvqkjhgfdsab"]
    chosen = next(o for o in options if 3 <= len(o) <= 4 and o not in taken)
    taken.add(chosen)
    return chosen


def _rendered(pattern: str, context: Json) -> Json:
    text = templates.fill(f"worlds/patterns/{pattern}.toml.jinja", **context)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SpecError(f"the pattern {pattern} makes no TOML: {problem}") from None


def _merged(parts: list[Json]) -> Json:
    """One spec from the parts of all patterns, in their order."""
    return {
        "entities": [each for part in parts for each in part.get("entities", ())],
        **{name: [each for part in parts for each in part.get(name, ())] for name in TABLES},
        "words": _joined([part.get("words", {}) for part in parts]),
    }


def _joined(words: list[dict[str, Json]]) -> dict[str, Json]:
    """The tables of words of all patterns; tables of the same name become one."""
    names = {name for tables in words for name in tables}
    return {
        name: {key: value for tables in words for key, value in tables.get(name, {}).items()}
        for name in sorted(names)
    }


def _listed(context: Json, chosen: list[str]) -> str:
    """What a world is about, in a few words."""
    mains = [context[patterns()[name]["nouns"][0]].many for name in chosen]
    return f"{', '.join(mains[:-1])} and {mains[-1]}"
