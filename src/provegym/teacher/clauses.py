"""Clauses of a user's message: which of them ask for something, and which only state a fact.

The rules look at a few words only, as the lists in sense.toml give them. The text is masked: each
phrase of the plan is one character of a private Unicode area.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from provegym.teacher.vocabulary import function_words, lists, order_verbs, stem, straight, words

QUOTED = "\ue000"
FIRST_SLOT = 0xE001
SLOT = re.compile("[\ue000-\uf8ff]")
QUOTATION = re.compile(r'"([^"]*)"|“([^”]*)”|(?<!\w)\'([^\']* [^\']*)\'(?!\w)')
SENTENCES = re.compile(r"(?<=[.!?;\n])\s*")
CLAUSES = re.compile(
    r"[.!?;:,()\n]+|\s[-\u2013\u2014]+\s|\b(?:and|then|but|so|or)\b|(?<!'d |ld |ll |an )\balso\b"
)
ENDINGS = ("ing", "ed", "ly")
# A phrase of the plan that ends a sentence: its own full stop stands before a capital letter.
LAST = re.compile(r"[.!?][\"'\u201d]?$")
SUBJECT = re.compile(
    "^\\W*(?:the |my |our )?[\ue000-\uf8ff]"
    "(?: (?:with|from|of|at|in|on|for|by|and) (?:the )?[\ue000-\uf8ff])* ([a-z]{2,}\\b.*)"
)
NEXT = r"(?=\s+[A-Z@\ue000-\uf8ff])"


def slot(number: int) -> str:
    """The character that stands for a phrase of the plan in a masked text."""
    return chr(FIRST_SLOT + number)


def masked(text: str, kept: Sequence[str]) -> str:
    """A text in small letters with one character for each kept phrase and each quotation.

    A quotation of nothing but kept phrases stays, so that one can see which phrases it holds.
    """
    text = straight(unicodedata.normalize("NFKC", text))
    phrases = sorted(enumerate(kept), key=lambda pair: len(pair[1]), reverse=True)
    for number, phrase in phrases:
        if phrase:
            whole = rf"(?<!\w){re.escape(phrase)}(?!\w)"
            text = re.sub(whole, slot(number), text, flags=re.IGNORECASE)
            if LAST.search(phrase):
                text = re.sub(slot(number) + NEXT, slot(number) + ".", text)
    return QUOTATION.sub(_mask_quotation, text).casefold()


def _mask_quotation(quotation: re.Match[str]) -> str:
    return QUOTED if words(SLOT.sub(" ", quotation[0])) else quotation[0]


def sentences(rest: str) -> list[str]:
    """The sentences of a masked text, each with the mark at its end."""
    return [part.strip() for part in SENTENCES.split(rest) if part.strip()]


def clauses(rest: str) -> list[str]:
    """The clauses of a masked text."""
    return [part.strip() for part in CLAUSES.split(rest) if part and part.strip()]


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The regular expressions of a word list as one."""
    return re.compile("|".join(lists()[name]))


def is_request(clause: str) -> bool:
    """Whether a clause asks for something: "please", "I need", "it should", or an imperative."""
    return bool(pattern("requests").search(clause) or imperative(clause))


def imperative(clause: str) -> str:
    """The verb that orders something at the start of a clause; empty if there is none.

    It is a verb of the list, or any word before an object: "water the plants".
    """
    clause = pattern("places").sub(" ", clause)
    found = [word for word in words(clause) if word not in lists()["connectives"]]
    verb = found[0] if found else ""
    if verb in order_verbs() or verb in lists()["plain_verbs"]:
        return verb
    has_object = len(found) > 1 and found[1] in lists()["objects"]
    is_other = stem(verb) in function_words() or verb in lists()["no_verbs"]
    # "Anna fills a gap" has a subject.
    has_subject = bool(verb and SLOT.search(clause.partition(verb)[0]))
    is_verb = has_object and not is_other and not has_subject
    return verb if is_verb and not verb.endswith(ENDINGS) else ""


def is_statement(clause: str) -> bool:
    """Whether a clause only says how things are: "it is off", "she agrees"."""
    if is_request(clause):
        return False
    return bool(pattern("statements").search(clause)) or _has_predicate(clause)


def _has_predicate(clause: str) -> bool:
    """Whether a clause begins with a name and a verb: "Moss Loafers come in three colours"."""
    found = SUBJECT.search(clause)
    if found is None or words(found[1])[0] in lists()["no_predicates"]:
        return False
    return not pattern("wanted_predicates").search(found[1])


def asking_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that ask for something.

    They are requests, and in a question everything from its question word on. A sentence without
    a verb asks as a whole: "room Kestrel for it, and a reminder".
    """
    found = clauses(sentence)
    starts = [at for at, clause in enumerate(found) if pattern("questions").search(clause)]
    asked = found[starts[0] :] if starts and sentence.endswith("?") else []
    if not asked and not any(map(is_statement, found)):
        return found
    return [clause for clause in found if clause in asked or is_request(clause)]
