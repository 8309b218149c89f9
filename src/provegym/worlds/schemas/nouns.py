"""English for names of tables and columns: snake case, singular and plural, articles, labels."""

import keyword
import re
import unicodedata

from provegym.worlds.check import RESERVED

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
IRREGULAR = {
    "people": "person",
    "persons": "person",
    "children": "child",
    "staff": "staff_member",
    "news": "news",
    "series": "series",
    "species": "species",
    "movies": "movie",
    "cookies": "cookie",
    "media": "medium",
    "criteria": "criterion",
    "data": "record",
    "details": "detail",
}
PLURALS = {"person": "people", "child": "children", "series": "series", "species": "species"}
PLURALS |= {"news": "news"}
ENDS_IN_F = {"shelf": "shelves", "leaf": "leaves", "loaf": "loaves", "half": "halves"}
ENDS_IN_F |= {"calf": "calves", "wolf": "wolves", "thief": "thieves", "knife": "knives"}
ENDS_IN_F |= {"wife": "wives"}
PLURALS |= ENDS_IN_F
IRREGULAR |= {many: one for one, many in ENDS_IN_F.items()}
UNCHANGED = ("ss", "us", "is", "news")
# Words at the start of a table's name that nobody says.
AFFIXES = ("tbl_", "t_", "tb_", "app_", "core_", "auth_", "dim_", "fact_")
# Letters that are not a plain letter with an accent.
SPELLED = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
SPELLED |= {"æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "œ": "oe", "Œ": "Oe", "ł": "l", "Ł": "L"}
# "starts_at" is the start date.
POINTS = {"starts": "start", "begins": "start", "ends": "end", "expires": "expiry"}
LONGEST = 40


def snake(name: str) -> str:
    """A name in lower case with underscores: "InvoiceLine" becomes "invoice_line".

    Letters lose their accents; what is not Latin is left out.
    """
    if not name.isascii():
        name = "".join(SPELLED.get(letter, letter) for letter in name)
        name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "_".join(word.lower() for word in WORDS.findall(name))[:LONGEST].strip("_")


def singular(noun: str) -> str:
    """The singular of the last word of a name in snake case."""
    head, _, last = noun.rpartition("_")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif last.endswith("ies") and len(last) > 4:
        last = f"{last[:-3]}y"
    elif re.search(r"(ss|x|ch|sh|[^aeo]us)es$", last):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(UNCHANGED) and len(last) > 3:
        last = last[:-1]
    return f"{head}_{last}" if head else last


def plural(noun: str) -> str:
    """The plural of the last word of a name."""
    head, last = re.fullmatch(r"(?:(.*[_ ]))?([^_ ]+)", noun).groups()  # type: ignore[union-attr]
    if last in PLURALS:
        last = PLURALS[last]
    elif re.search(r"[^aeiou]y$", last):
        last = f"{last[:-1]}ies"
    else:
        last = f"{last}es" if re.search(r"(s|x|ch|sh)$", last) else f"{last}s"
    return f"{head or ''}{last}"


def noun_of_table(name: str) -> str:
    """The word for one record of a table: "tbl_Customers" becomes "customer"."""
    noun = snake(name.rpartition(".")[2])
    for affix in AFFIXES:
        noun = noun.removeprefix(affix)
    return plain(singular(noun), "item")


def plain(name: str, owner: str) -> str:
    """A name that a spec accepts: no reserved word, no keyword, from a letter on."""
    name = re.sub(r"[^a-z0-9_]", "", name)
    if not name[:1].isalpha():
        name = f"{owner}_{name}".strip("_")
    if name in RESERVED or keyword.iskeyword(name):
        name = f"{owner}_{name}"
    return name[:LONGEST].rstrip("_")


def is_sayable(noun: str) -> bool:
    """Whether people would say a noun: a few words of letters."""
    words = noun.split("_")
    return len(words) <= 3 and all(word.isalpha() and 2 <= len(word) <= 14 for word in words)


def label(name: str, noun: str = "") -> str:
    """The words for a field without the noun of its record; "due_at" is the due date."""
    if noun and name == f"{noun}_id":
        return spaced(noun)
    short = name.removeprefix(f"{noun}_") if noun else name
    short = re.sub(r"_(id|name)$", "", short) if short not in ("id", "name") else short
    if re.search(r".(_at|_on)$", short):
        stem = short[:-3].removesuffix("_date")
        short = f"{POINTS.get(stem, stem)}_date"
    return short.replace("_", " ")


def spaced(name: str) -> str:
    """A name in words."""
    return name.replace("_", " ")


def article(words: str) -> str:
    """The words after "a" or "an"."""
    silent = words.startswith(("hour", "honest", "heir"))
    long_u = re.match(r"(uni|use|usa|eu|one|ut)", words)
    vowel = words[:1] in "aeiou" and not long_u
    return f"{'an' if vowel or silent else 'a'} {words}"


def prefix(noun: str, taken: set[str]) -> str:
    """A prefix for ids: three letters of the noun that no other noun took."""
    letters = re.sub(r"[^a-z]", "", noun) or "rec"
    bones = letters[0] + re.sub(r"[aeiou]", "", letters[1:])
    tries = [bones[:3], letters[:3], *(letters[:n] for n in range(4, 9))]
    tries += [f"{letters[:2]}{chr(97 + n)}{chr(97 + m)}" for n in range(26) for m in range(26)]
    found = next(each for each in tries if 2 <= len(each) <= 8 and each not in taken)
    taken.add(found)
    return found
