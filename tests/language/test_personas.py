"""Personas change how a turn sounds and never what it says."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym import servers
from provegym.language.personas import PERSONAS, answer, draw, expand, styled, words
from provegym.language.questions import read_way
from provegym.language.templates import vary

PLACES = ("first", "later", "answer", "closers")
SPOKEN = ("plain", "terse", "chatty", "formal", "non_native")
TRICKY = [
    "O'Neil & Sons",
    "iPhone 15 Pro",
    "the 2nd",
    "3 pm",
    "50.00",
    "on",
    "Please",
    "A",
    "mr. x?",
]

# Phrases with such a word that do not refer to an earlier turn.
NOT_BEFORE = {
    "And then I'm off!",
    "Then I can relax!",
    "I am still learning English.",
    "Still half asleep here, sorry!",
}

personas = pytest.mark.parametrize("persona", PERSONAS)


def lists(name: str) -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("provegym.language").joinpath(f"{name}.toml").read_text("utf-8"))


STYLE = lists("personas")


def asked(chance: Random) -> tuple[str, list[str]]:
    """A real way of asking with made-up values, and the values."""
    server = servers.asks(chance.choice(servers.names()))["asks"]
    written = chance.choice(server[chance.choice(list(server))])
    way = vary(read_way(written).words, chance)
    way = re.sub(r"\[([^\]]*)\]", lambda part: part[1] if chance.random() < 0.4 else "", way)
    kept: list[str] = []

    def fill(_: re.Match[str]) -> str:
        kept.append(f"{expand('{colour} {thing}', words(), chance).title()} {len(kept)}")
        return kept[-1]

    return re.sub(r"\{\w+\}", fill, way), kept


def turns(count: int, persona: str | None = None) -> Iterator[tuple[str, str]]:
    """Turns before and after they are styled, with their values masked."""
    chance = Random(f"turns {persona}")
    for _ in range(count):
        text, kept = asked(chance)
        chosen = persona or chance.choice(list(PERSONAS))
        said = styled(text, chosen, kept, chance, chance.choice(["first", "later"]))
        assert all(said.count(value) == text.count(value) for value in kept), said
        yield masked(text, kept), masked(said, kept)


def masked(text: str, kept: list[str]) -> str:
    return re.sub("|".join(map(re.escape, kept)) or "$^", "_", text)


@given(
    values=st.lists(st.sampled_from(TRICKY), min_size=1, max_size=3, unique=True),
    persona=st.sampled_from(list(PERSONAS)),
    seed=st.integers(0, 10_000),
)
def test_kept_phrases_and_quotations_come_through(
    values: list[str], persona: str, seed: int
) -> None:
    chance = Random(seed)
    text = f'Please move the {" to the ".join(values)}, and say "It\'s the End, please".'
    said = styled(text, persona, values, chance, ["later", "first"][seed % 2])
    assert '"It\'s the End, please"' in said
    for value in values:
        assert re.search(rf"(?<![^\s]){re.escape(value)}(?![^\s,])", said), said


def test_a_quoted_text_is_kept_whole_also_if_it_quotes() -> None:
    text = 'Please post "She said "Hello there" twice" for me.'
    for persona in PERSONAS:
        for seed in range(20):
            said = styled(text, persona, ['She said "Hello there" twice'], Random(seed))
            assert '"She said "Hello there" twice"' in said


@personas
def test_same_chance_same_words(persona: str) -> None:
    texts = {styled("Show me the lamps, please.", persona, [], Random(7)) for _ in range(3)}
    assert len(texts) == 1


@personas
def test_sentences_join_as_they_should(persona: str) -> None:
    for _, said in turns(400, persona):
        assert not re.search(r"  |[,;:][.,;:!?]|[!?][.,]|\.\.|\.,|^\W*$| [.,!?](?!\w)", said), said
        assert said == said.strip()
        if persona not in ("terse", "typos"):
            starts = re.findall(r"(?:^|[!?] |(?<=[a-z])\. )([a-z])", said)
            assert starts == [], said


def test_terse_leaves_out_courtesy() -> None:
    said = [
        styled("Could you please send Anna the file, please?", "terse", ["Anna"], Random(seed))
        for seed in range(200)
    ]
    assert not [text for text in said if re.search("please|could|thank", text.lower())]
    assert sum(text[-1] not in ".?!" for text in said) > 100
    assert sum(text == text.replace("Anna", "").lower() or text[0].islower() for text in said) > 80
    assert all("Anna" in text for text in said)


def test_formal_contracts_nothing_and_asks_kindly() -> None:
    pairs = list(turns(600, "formal"))
    short = "|".join(re.escape(pair[0]) for pair in STYLE["formal"]["contractions"])
    assert not [said for _, said in pairs if re.search(rf"\b(?:{short})\b", said)]
    said = [styled("Lock the gate.", "formal", [], Random(seed)) for seed in range(100)]
    assert sum("lock the gate" in text for text in said) > 50


def test_chatty_talks_more() -> None:
    pairs = list(turns(300, "chatty"))
    assert sum(len(said) for _, said in pairs) > 1.4 * sum(len(text) for text, _ in pairs)
    assert sum("!" in said for _, said in pairs) > 200


def test_typos_slip_in_one_to_three_words() -> None:
    text, counts = (
        "Please change the delivery address of Brandon Carter to somewhere else.",
        Counter(),
    )
    for seed in range(300):
        said = styled(text, "typos", ["Brandon Carter"], Random(seed))
        typed = Counter(re.findall(r"[a-z']+", said.lower()))
        known = set(
            re.findall(
                r"[a-z']+",
                " ".join(
                    [text, *(phrase for phrases in STYLE["plain"].values() for phrase in phrases)]
                ).lower(),
            )
        )
        counts[sum(typed[word] for word in typed if word not in known)] += 1
    assert set(counts) == {1, 2, 3}


def test_non_native_slips_and_keeps_the_words_that_matter() -> None:
    said = [
        styled("Show me the orders of a customer.", "non_native", [], Random(seed))
        for seed in range(100)
    ]
    assert sum("the orders of a customer" in text for text in said) < 30
    assert sum("please show" in text.lower() for text in said) > 30
    assert all("orders of" in text and "customer" in text for text in said)


def test_plain_is_sometimes_untouched() -> None:
    pairs = list(turns(300, "plain"))
    assert 30 < sum(said == text for text, said in pairs) < 150


@pytest.mark.parametrize(
    ("question", "clause"),
    [
        ("Where is X?", "where X is"),
        ("Is X still locked?", "whether X is still locked"),
        ("Are there any alerts on X?", "whether there are any alerts on X"),
        ("Which coupons do I have?", "which coupons I have"),
        ("Which rooms are there?", "which rooms there are"),
        ("How much can I still spend from X?", None),
        ("Who is coming to X, and have they answered?", None),
        ("When does X open?", None),
    ],
)
def test_a_question_turns_indirect_if_its_word_order_is_known(
    question: str, clause: str | None
) -> None:
    said = [styled(question, "plain", ["X"], Random(seed)) for seed in range(100)]
    rest = [text for text in said if question[:-1].lower() not in text.lower()]
    assert bool(rest) == (clause is not None)
    assert all(clause and clause in text for text in rest), rest


def test_an_order_turns_into_a_question_only_if_it_is_short() -> None:
    for text in ("Lock the gate, it's late.", "Lock the gate. It's late.", "Lock the gate: now."):
        said = {styled(text, persona, [], Random(n)) for persona in SPOKEN for n in range(60)}
        assert not [each for each in said if re.search(r"gate[^?]*\?", each)], said
    said = {styled("Lock the gate.", "plain", [], Random(n)) for n in range(900)}
    assert {"Could you lock the gate?", "I need you to lock the gate."} <= said


@personas
def test_nothing_polite_or_hurried_is_said_twice_or_against_itself(persona: str) -> None:
    for text in ("Lock the gate right away, please.", "Thanks. Lock the gate now."):
        for seed in range(300):
            said = styled(text, persona, [], Random(seed), ["later", "first"][seed % 2]).lower()
            assert len(re.findall("thank|thx", said)) <= 1, said
            assert said.count("please") <= 1, said
            assert not re.search("no rush|no pressure|when you get|whenever", said), said


def test_nobody_is_back_in_a_first_turn() -> None:
    again = re.compile(r"(?i)\b(?:again|back|another|still|then|next|also)\b")
    for persona in SPOKEN:
        phrases = [*STYLE[persona]["first"], *STYLE[persona]["closers"]]
        found = [phrase for phrase in phrases if again.search(phrase)]
        assert set(found) <= NOT_BEFORE, found


def test_nobody_has_a_persona_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no persona 'grumpy'; choose one of plain, terse"):
        styled("Hi.", "grumpy", [], Random(1))


def test_language_is_varied(capsys: pytest.CaptureFixture[str]) -> None:
    count = 4_000
    texts = [said for _, said in turns(count)]
    opening = Counter(" ".join(re.findall(r"[\w']+", text.lower())[:3]) for text in texts)
    (trigram, most), distinct = opening.most_common(1)[0], len(set(texts))
    with capsys.disabled():
        print(
            f"\ncommonest opening {trigram!r} {most / count:.2%}, distinct {distinct / count:.1%}"
        )
    assert most <= 0.015 * count
    assert distinct >= 0.85 * count


@pytest.mark.parametrize(
    ("persona", "least"),
    [("chatty", 60), ("formal", 30), ("plain", 25), ("terse", 15), ("non_native", 20)],
)
def test_there_are_enough_openers_and_closers(persona: str, least: int) -> None:
    table = STYLE[persona]
    assert len(set(table["first"])) >= least
    assert len(set(table["later"])) >= min(least, 30) - 8
    assert len(set(table["closers"])) >= (least if persona != "terse" else 0)
    assert not set(table["first"]) & set(table["closers"])
    for place in PLACES:
        assert len(set(table[place])) == len(table[place])


def test_openers_and_closers_name_nothing_a_tool_is_for() -> None:
    plain = {"to", "from", "and", "on", "in", "use", "makes", "make", "finds", "follows", "like"}
    tools = {
        part
        for server in servers.load_all()
        for name in (*server.tools, server.name)
        for part in name.split("_")
    }
    topics = (tools | {f"{part}s" for part in tools}) - plain
    values = {*words()["month"], *words()["weekday"]} - {"May"}
    values |= {"today", "tomorrow", "tonight", "yesterday"}
    values |= {"two", "three", "four", "five", "ten", "hundred", "million", "morning", "afternoon"}
    values |= {"don't", "not", "stop", "wait", "cancel"}
    forbidden = topics | {value.lower() for value in values}
    allowed = {"Hope that's not too much trouble!", "Hope I'm not interrupting anything!"}
    allowed |= {"Sorry, my English is not so good."}
    for persona in SPOKEN:
        for phrase in (phrase for place in PLACES for phrase in STYLE[persona][place]):
            found = set(re.findall(r"[a-z']+", phrase.lower())) & forbidden
            assert phrase in allowed or (not found and not re.search(r"\d", phrase)), (
                phrase,
                found,
            )


@pytest.mark.parametrize("kind", ["name", "number", "date", "text"])
def test_answers(kind: str) -> None:
    assert len(set(STYLE["answers"][kind])) >= 20
    for persona in PERSONAS:
        said = {answer("the Blue Lamp", kind, persona, Random(seed)) for seed in range(80)}
        assert all(re.search(r"(?<!\w)the Blue Lamp(?!\w)", text) for text in said)
        assert all('"the Blue Lamp"' in text for text in said) or kind != "text"
        assert len(said) >= 30
    assert not re.search(r'[.!?]"\.', answer("Bye.", "text", "plain", Random(3)))


def test_expand_fills_slots_within_slots() -> None:
    given = {
        "who": ["{name} of {town}"],
        "name": ["Ada"],
        "town": ["{colour} Hill"],
        "colour": ["Red"],
    }
    assert expand("I am {who}.", given, Random(1)) == "I am Ada of Red Hill."
    assert expand("a {thing}", {"thing": ["umbrella"]}, Random(1)) == "an umbrella"
    with pytest.raises(ValueError, match=r"no list to fill \{who\}"):
        expand("I am {who}.", {}, Random(1))
    with pytest.raises(ValueError, match="deeper than 3"):
        expand("{loop}", {"loop": ["{loop}"]}, Random(1))


def test_words_are_many_and_whole() -> None:
    for name in ("town", "colour", "animal", "thing", "given", "family"):
        assert len(set(words()[name])) == len(words()[name]) >= 40
    assert re.fullmatch(r"\w+ \w+", expand("{person}", words(), Random(1)))


def test_there_is_much_to_say_that_no_tool_is_for() -> None:
    tables = {name: lists("smalltalk")[name] for name in ("smalltalk", "knowledge", "beyond")}
    assert sum(len(table["frames"]) for table in tables.values()) >= 60
    assert sum(len(table["topics"]) for table in tables.values()) >= 120
    combinations = 0
    for table in tables.values():
        known = {**table, "topic": table["topics"]}
        for frame in table["frames"]:
            combinations += prod(len(known[slot]) for slot in re.findall(r"\{(\w+)\}", frame))
            assert frame[-1] in ".?", frame
    assert combinations >= 3_000
    assert len({draw(name, Random(n)) for name in tables for n in range(700)}) > 1_500


@pytest.mark.parametrize("persona", SPOKEN)
def test_nobody_thanks_for_what_was_not_done(persona: str) -> None:
    openers = STYLE[persona]["anyway"]
    assert not any(re.search("(?i)thank|perfect|great|nice|brilliant", each) for each in openers)
    said = {styled("Who's in?", persona, [], Random(seed), "anyway") for seed in range(200)}
    assert any(text.startswith(opener) for opener in openers for text in said)


@pytest.mark.parametrize("persona", [name for name in PERSONAS if name != "typos"])
def test_an_answer_is_no_request(persona: str) -> None:
    said = {answer("the Blue Lamp", "name", persona, Random(seed)) for seed in range(200)}
    assert not any(re.search("(?i)could you|would you|i need you|please to", text) for text in said)
