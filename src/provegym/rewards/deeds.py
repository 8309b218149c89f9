"""Deeds in replies: whether a reply tells of what was done, and of nothing that was not done."""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple

import msgspec

from provegym import servers
from provegym.inflection import past
from provegym.language.identity import direct
from provegym.language.templates import templates
from provegym.language.values import in_context, leaves, numbers, stem
from provegym.language.vocabulary import did_by
from provegym.rewards.acts import (
    claimed,
    claimed_deeds,
    claimed_texts,
    claims_deed,
    confirms,
    told_deeds,
    unclear_names,
    unseen_names,
)
from provegym.rewards.figures import DAY, figures, unseen_days, unseen_numbers
from provegym.rewards.layout import WORDS, is_echo
from provegym.rewards.moments import without_dates
from provegym.trace import Call, Step

SHORT = 2
RESULTS = 1_024
# Verbs that tell of many kinds of writes.
VAGUE = frozenset({"added", "changed", "edited", "made", "saved", "set", "updated"})
# "I checked, and there are three" tells of no deed.
READING = {"checked"}
# Deeds that no assistant may claim without having done them, whatever its tools are.
COMMON = frozenset(
    {
        "booked",
        "bought",
        "cancelled",
        "created",
        "deleted",
        "emailed",
        "forwarded",
        "informed",
        "invited",
        "issued",
        "messaged",
        "moved",
        "notified",
        "ordered",
        "paid",
        "posted",
        "published",
        "purchased",
        "refunded",
        "removed",
        "renamed",
        "reserved",
        "scheduled",
        "sent",
        "signed",
        "sold",
        "submitted",
        "subscribed",
        "transferred",
        "upgraded",
    }
)
# The name of a record: at least one capital, and no lowercase beginning.
NAMED = re.compile(r"[A-Z][\w'&-]+(?: [A-Z&][\w'&-]*)*")
REFUSALS = frozenset({"declined", "refused", "rejected"})
REFUSING = re.compile(r"(?:decline|refuse|reject)(?:d|ed)?(?:_|$)")
# Words that tell nothing of what was done.
EMPTY = frozenset(
    {
        "also",
        "asked",
        "been",
        "done",
        "everything",
        "from",
        "have",
        "into",
        "just",
        "requested",
        "successfully",
        "that",
        "them",
        "this",
        "wanted",
        "well",
        "with",
        "your",
        "yours",
    }
)


class Account(NamedTuple):
    """The reply that ends a turn, and all that was said, called and due by then."""

    server: str
    turn: int
    reply: str
    said: Sequence[str]
    calls: Sequence[Call]
    steps: Sequence[Step]
    now: datetime | None = None

    @property
    def writes(self) -> list[Call]:
        """The writes that ran, up to the end of the turn."""
        return [call for call in self.calls if call.writes and call.checks.ran]

    @property
    def own(self) -> list[Call]:
        """The writes of the turn itself."""
        return [call for call in self.writes if call.turn == self.turn]

    @property
    def seen(self) -> str:
        """All that the user said and that calls were given and returned."""
        given = [msgspec.json.encode(call.arguments).decode() for call in self.calls]
        return "\n".join((*self.said, *given, *(call.result for call in self.calls)))

    @property
    def near(self) -> str:
        """What the user said, and what the writes of the turn returned."""
        return "\n".join((*self.said, *(call.result for call in self.own)))

    @property
    def about(self) -> str:
        """The records, as texts, that the writes are about."""
        keys = {leaf for call in self.writes for leaf in leaves(call.arguments)}
        return "\n".join(
            msgspec.json.encode(record).decode()
            for call in self.calls
            if not call.writes
            for record, _ in in_context(_result(call))
            if keys.intersection(direct(record))
        )

    @property
    def is_report(self) -> bool:
        """Whether the turn has a question to answer."""
        return any(step.answers for step in self.steps)


def denies(account: Account) -> bool:
    """Whether the reply to a turn in which something right was done does not say so."""
    writes = account.own
    if not writes or not any(step.writes for step in account.steps):
        return False
    if is_echo(account.reply, account.said[-1]):
        return True
    values = [str(leaf) for call in writes for leaf in leaves(call.arguments)]
    values += [str(leaf) for call in writes for leaf in leaves(msgspec.json.decode(call.result))]
    told = [value for value in values if len(value) > SHORT and value.casefold() != "you"]
    refuses = any(_refuses(call) for call in writes)
    verbs = deeds(account.server) | COMMON | (REFUSALS if refuses else set())
    return not confirms(account.reply, verbs, told, refuses=refuses, count=len(writes))


def _refuses(call: Call) -> bool:
    """Whether a write declines something: by its name, or by one of its arguments."""
    words = [call.tool, *(leaf for leaf in leaves(call.arguments) if isinstance(leaf, str))]
    return any(REFUSING.match(word) for word in words)


def claims_too_much(account: Account) -> bool:
    """Whether a reply claims a deed that was not done.

    It is claimed in a turn without any write; or with a number or a name that is not of the deed;
    or besides what was done.
    """
    verbs = deeds(account.server) | COMMON
    if not account.own:
        return _claims_without_writes(account, verbs)
    if _tells_unheard(account, verbs):
        return True
    told = claimed(account.reply, verbs, reports=account.is_report)
    if not told:
        return False
    return (
        bool(unseen_names(told, account.seen))
        or bool(unclear_names(told, account.near, account.seen))
        or _has_another_number(told, account)
        or _is_on_another_day(told, account)
        or _quotes_unheard(account, verbs)
        or _names_another(told, account)
        or _invents(account)
    )


def _has_another_number(told: str, account: Account) -> bool:
    """Whether a claim has a number that is not of the deed."""
    plain = _without_names(told, account) if re.search(r"\d", told) else ""
    return bool(plain) and bool(unseen_numbers(plain, set(_numbers_of(account))))


def _is_on_another_day(told: str, account: Account) -> bool:
    """Whether a claim has a day that nothing has shown."""
    if not DAY.search(told):
        return False
    return any(unseen_days(told, figures(account.said, account.calls, account.now)))


def _claims_without_writes(account: Account, verbs: frozenset[str]) -> bool:
    """Whether a reply claims a deed in a turn without any write."""
    is_due = any(step.writes for step in account.steps)
    alone = is_due or not account.steps
    shown = {word for call in account.calls for word in _words(call.result)}
    return claims_deed(
        account.reply, verbs, alone=alone, earlier=bool(account.writes), shown=shown
    ) or _tells_unheard(account, verbs)


def _tells_unheard(account: Account, verbs: frozenset[str]) -> bool:
    """Whether a reply tells that something was done which was never spoken of."""
    told = list(told_deeds(account.reply, verbs | VAGUE))
    seen = _words(account.seen) if told else set()
    return any(_is_unheard(words, seen, verb) for verb, words in told)


def _quotes_unheard(account: Account, verbs: frozenset[str]) -> bool:
    """Whether a claim quotes what was never spoken of: I've made the label "Zebra"."""
    texts = claimed_texts(account.reply, verbs)
    seen = _words(account.seen) if texts else set()
    return any(_is_unheard(text, seen) for text in texts)


def _names_another(told: str, account: Account) -> bool:
    """Whether a claim has the whole name of a record that the writes are not about."""
    shown = {name for call in account.calls if not call.writes for name in _names_in(call.result)}
    given = [msgspec.json.encode(call.arguments).decode() for call in account.writes]
    results = [call.result for call in account.writes]
    near = "\n".join((*account.said, *given, *results)).casefold()
    named = [name for name in shown if name in told and name.casefold() not in near]
    if not named:
        return False
    about = account.about.casefold()
    return any(
        name.casefold() not in about and re.search(rf"\b{re.escape(name)}\b", told)
        for name in named
    )


@lru_cache(maxsize=RESULTS)
def _names_in(result: str) -> frozenset[str]:
    """The names of records in a result."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"[,}\]]', result)
    return frozenset(leaf for leaf in found if NAMED.fullmatch(leaf))


def _invents(account: Account) -> bool:
    """Whether a reply claims more deeds than were done.

    A deed is invented if no write has its verb, and it is what an uncalled tool does, or nothing of
    it was ever spoken of. A write of the turn whose verb is not told may have been told in other
    words, so it excuses one; but not one of which nothing was ever spoken.
    """
    server = account.server
    done = {verb for call in account.writes for verb in deeds_of(call.tool, server)}
    told = list(claimed_deeds(account.reply, deeds(server) | COMMON, reports=account.is_report))
    others = [(verb, words) for verb, words in told if verb not in done and verb not in VAGUE]
    if not others:
        return False
    seen = _words(account.seen)
    if any(verb in COMMON and _is_unheard(words, seen, verb) for verb, words in others):
        return True
    verbs = {verb for verb, _ in told}
    untold = [call for call in account.own if not verbs & deeds_of(call.tool, server)]
    invented = [
        words
        for verb, words in others
        if _is_of_a_tool(verb, words, server) or _is_unheard(words, seen)
    ]
    return len(invented) > len(untold)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.casefold()))


def _is_of_a_tool(verb: str, words: str, server: str) -> bool:
    """Whether a server has a write with this verb, and the words name what it writes."""
    stems = {stem(word) for word in _words(words)}
    return any(
        verb in deeds_of(tool, server) and stem(tool.rpartition("_")[2]) in stems
        for tool in _writes(server)
    )


def _is_unheard(words: str, seen: Collection[str], verb: str = "") -> bool:
    """Whether none of the telling words, beside the verb, was ever said or shown."""
    telling = set(re.findall(r"[a-z]{4,}", words.casefold())) - EMPTY - {verb}
    return bool(telling) and not any(word in seen or stem(word) in seen for word in telling)


def _without_names(told: str, account: Account) -> str:
    """A claim without the texts that calls took or returned, such as "33 Cooper Street"."""
    values = [value for call in account.calls for value in (call.arguments, _result(call))]
    texts = {leaf for value in values for leaf in leaves(value) if isinstance(leaf, str)}
    for text in sorted((t for t in texts if re.search(r"\d", t)), key=len, reverse=True):
        told = told.replace(text, " ")
    return told


def _numbers_of(account: Account) -> Iterator[float]:
    """The numbers that a claim may have.

    These are numbers that the user said, numbers of the writes, of their tools' descriptions and of
    the records they are about, and how many things there are.
    """
    for text in account.said:
        yield from numbers(without_dates(text))
        words = re.findall(r"[a-z]+", text.casefold())
        yield from (WORDS.index(word) for word in words if word in WORDS)
    yield from range(len(account.writes) + 1)
    keys = {leaf for call in account.writes for leaf in leaves(call.arguments)}
    for call in account.calls:
        if call.writes:
            yield from _plain_numbers((call.arguments, _result(call)))
            yield from numbers(_description(call.tool, account.server))
            continue
        for record, _ in in_context(_result(call)):
            own = list(direct(record))
            if any(isinstance(leaf, str) and leaf in keys for leaf in own):
                yield from _plain_numbers(own)


def _plain_numbers(value: Any) -> Iterator[float]:
    """The numbers in a value, and the sizes of its lists."""
    if isinstance(value, dict | list | tuple):
        if isinstance(value, list):
            yield len(value)
        for part in value.values() if isinstance(value, dict) else value:
            yield from _plain_numbers(part)
    elif isinstance(value, int | float):
        yield value


def _result(call: Call) -> Any:
    """The result of a call as data; nothing if it failed."""
    return msgspec.json.decode(call.result) if call.checks.ran else None


def _description(tool: str, server: str) -> str:
    """What a tool says of itself: an update may be said to take 25 minutes."""
    known = servers.load(server).tools if servers.is_known(server) else {}
    return known[tool].description if tool in known else ""


def _writes(server: str) -> list[str]:
    if not server or not servers.is_known(server):
        return []
    return [tool.name for tool in servers.load(server).tools.values() if tool.writes]


@cache
def deeds(server: str) -> frozenset[str]:
    """The past participles of what a server's writes do, but for those that also tell of reads."""
    return frozenset(v for tool in _writes(server) for v in deeds_of(tool, server)) - READING


@cache
def deeds_of(tool: str, server: str) -> frozenset[str]:
    """The past participles of what a write does: of its name, and as replies tell it."""
    entry = did_by(tool, server)
    told = templates(entry) if entry is not None else ()
    verbs = {verb for each in told for verb in re.findall(r"(?:^|\band )([a-z]+)", each)}
    return frozenset({past(tool.partition("_")[0]), *verbs})
