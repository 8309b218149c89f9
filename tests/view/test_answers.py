"""Lists and comparisons: the live page and a report give the same answers, and the right ones."""

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from provegym.rewards.success import rates, verdict_of
from provegym.trace import Rollout, Verdict, line, write
from provegym.view.columns import fold
from provegym.view.library import Library
from provegym.view.report import embed, freeze
from provegym.view.summary import cut, summarise
from view.browser.driver import Unavailable, serving
from view.page_data import ask_both, bundle
from view.samples import HOSTILE, example_of, hostile, played, replace, some

QUESTIONS = 400
ALL = 10_000
ORDERS = ("line", "-line", "reward", "-reward", "calls", "-calls")
SPOKEN = "Pay the Straße bill of ΣΊΣΥΦΟΣ, ﬁnally"
Query = dict[str, list[str]]


def vary(rollout: Rollout, chance: random.Random) -> Rollout:
    """The rollout with another kind, pay, verdict and end: there is something to filter by."""
    kind = chance.choice(["multi_turn", "clarification"])
    knobs = tuple(chance.sample(["distractors", "stripped", "hidden"], chance.randrange(3)))
    example = replace(rollout.example, kind=kind, knobs=knobs)
    reward = rollout.reward and replace(rollout.reward, total=chance.choice([-0.2, 0, 0.3, 1.3, 2]))
    if chance.random() < 0.2:
        failed = {"reward": None, "verdict": None, "ended": "policy_error"}
        return replace(rollout, example=example, **failed)
    verdict = chance.choice([None, rollout.verdict, Verdict(state=True, ended=True)])
    return replace(rollout, example=example, reward=reward, verdict=verdict)


def sample() -> dict[str, list[Rollout]]:
    """Two files of rollouts with examples in common, some of them played more than once."""
    chance = random.Random(3)
    left = [vary(rollout, chance) for rollout in [*some(30), *some(12), *some(3)]]
    right = [vary(played("oracle", number % 20), chance) for number in range(35)]
    spoken = replace(example_of().turns[0], text=SPOKEN)
    odd = replace(played("noop", 99), example=example_of(id="odd", turns=(spoken,)))
    return {"left": [*left, odd, *map(hostile, HOSTILE)], "right": [*right, *some(4)]}


ROLLOUTS = sample()
SUMMARIES = {name: [summarise(line(r), "rollouts") for r in all] for name, all in ROLLOUTS.items()}
WORDS = ["pay", "HARBOUR", "20", "pay-1", "noop", "STRASSE", "straße", "σίσυφοσ", "FIN", "zzz", "<"]


def random_query(chance: random.Random) -> Query:
    """A list's filters, search and order, drawn at random."""
    values = {
        "server": ["banking", "nowhere"],
        "kind": ["multi_turn", "clarification", "irrelevance"],
        "knob": ["none", "distractors", "stripped", HOSTILE[0]],
        "error": ["none", "rejected", "not_found"],
        "policy": ["oracle", "noop", "guesser", cut(HOSTILE[4])],
        "ending": ["done", "policy_error"],
        "success": ["1", "0"],
        "state": ["1", "0"],
        "answer": ["1", "0"],
        "ended": ["1", "0"],
        "id": ["pay-1", "pay-2", "odd"],
    }
    query = {
        name: chance.sample(all, chance.randint(1, 2))
        for name, all in values.items()
        if chance.random() < 0.15
    }
    ranges = {"least": [0, 0.3, 1], "most": [0.3, 1.3], "calls_least": [1, 4], "calls_most": [3, 5]}
    for name, numbers in ranges.items():
        if chance.random() < 0.1:
            query[name] = [str(chance.choice(numbers))]
    if chance.random() < 0.3:
        query["text"] = [" ".join(chance.sample(WORDS, chance.randint(1, 2)))]
    if chance.random() < 0.7:
        query["sort"] = [chance.choice(ORDERS)]
    return query


@cache
def values_of(name: str, at: int) -> Query:
    """What each filter by value sees in a rollout."""
    rollout = ROLLOUTS[name][at]
    errors = {call.error for call in rollout.calls if call.error}
    return {
        "server": [rollout.example.server],
        "kind": [rollout.example.kind],
        "knob": [cut(knob) for knob in rollout.example.knobs] or ["none"],
        "error": sorted(errors) or ["none"],
        "policy": [cut(rollout.policy)],
        "ending": [rollout.ended],
        **{
            part: ["1" if getattr(verdict_of(rollout), part) else "0"]
            for part in ("success", "state", "answer", "ended")
        },
        "id": [cut(rollout.example.id)],
    }


def fits(name: str, at: int, query: Query, but: str = "") -> bool:
    """Whether a rollout passes every filter but one."""
    rollout = ROLLOUTS[name][at]
    for filtered, values in values_of(name, at).items():
        wanted = query.get(filtered)
        if wanted and filtered != but and not set(wanted) & set(values):
            return False
    text = fold(SUMMARIES[name][at].searched)
    if not all(fold(word) in text for word in query.get("text", [""])[0].split()):
        return False
    paid = rollout.reward.total if rollout.reward else None
    return (but == "reward" or is_between(paid, query, "least", "most")) and (
        but == "calls" or is_between(len(rollout.calls), query, "calls_least", "calls_most")
    )


def is_between(value: float | None, query: Query, least: str, most: str) -> bool:
    low, high = query.get(least), query.get(most)
    if low is None and high is None:
        return True
    return value is not None and float((low or ["-inf"])[0]) <= value <= float((high or ["inf"])[0])


def listed(name: str, query: Query) -> list[int]:
    """The rows of a list by a plain filter and a plain sort."""
    rollouts = ROLLOUTS[name]
    found = [at for at in range(len(rollouts)) if fits(name, at, query)]
    order = query.get("sort", ["line"])[0]
    down = order.startswith("-")
    if order == "-line":
        return found[::-1]
    if order.endswith("calls"):
        return sorted(found, key=lambda at: len(rollouts[at].calls), reverse=down)
    if order.endswith("reward"):
        paid = {at: r.total for at in found if (r := rollouts[at].reward)}
        known = sorted(paid, key=paid.__getitem__, reverse=down)
        return [*known, *(at for at in found if at not in paid)]
    return found


def counted(name: str, facet: str, query: Query) -> dict[str, int]:
    """How many rows each value of a filter would leave, by a plain count."""
    tally: Counter[str] = Counter()
    for at, rollout in enumerate(ROLLOUTS[name]):
        if fits(name, at, query, but=facet):
            seen = values_of(name, at)
            tally.update(seen[facet] if facet in seen else [str(len(rollout.calls))])
    return dict(tally)


class Pages(NamedTuple):
    """Both pages over one folder, ready to be asked."""

    script: Path
    url: str
    report: dict[str, Any]

    def ask(self, *questions: list[object]) -> list[Any]:
        """The answers of the live page, which must be those of the report."""
        told = ask_both(self.script, self.url, self.report, questions)
        for each in told:
            for answer in each.values():
                if isinstance(answer, dict):
                    answer.pop("took_ms", None)
        for question, each in zip(questions, told, strict=True):
            assert each["live"] == each["report"], question
        return [each["live"] for each in told]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("answers") / "data"
    folder.mkdir()
    for name, rollouts in ROLLOUTS.items():
        write(folder / f"{name}.jsonl", rollouts)
    write(folder / "train-00000.jsonl", [example_of(id=f"pay-{number}") for number in range(4)])
    try:
        script = bundle(folder.parent / "answers.mjs")
    except Unavailable as reason:
        pytest.skip(f"the page's data layer cannot run here: {reason}")
    report = msgspec.json.decode(embed(freeze(Library([folder]).settle(), ALL)))
    with serving(folder) as url:
        yield Pages(script, url, report)


LEFT, RIGHT, CORPUS = 0, 1, 2


def test_both_pages_list_the_same_rows_in_the_same_order(pages: Pages) -> None:
    chance = random.Random(11)
    queries = [random_query(chance) for _ in range(QUESTIONS)]
    told = pages.ask(*(["rows", LEFT, query, 0, ALL] for query in queries))
    rewards = [rollout.reward and rollout.reward.total for rollout in ROLLOUTS["left"]]
    for query, answer in zip(queries, told, strict=True):
        assert [row["at"] for row in answer["rows"]] == listed("left", query), query
        assert answer["total"] == len(answer["rows"])
        assert (answer["of"], answer["done"]) == (len(rewards), True)
        for row in answer["rows"]:
            shown = SUMMARIES["left"][row["at"]]
            assert (row["id"], row["text"], row["calls"]) == (shown.id, shown.text, shown.calls)
            assert row["reward"] == rewards[row["at"]]
            assert row["verdict"] == (shown.verdict and msgspec.to_builtins(shown.verdict))
    assert sum(0 < answer["total"] < len(rewards) for answer in told) > QUESTIONS / 3


FACETS = (
    *("server", "kind", "knob", "error", "policy", "ending", "calls"),
    *("success", "state", "answer", "ended"),
)


def test_both_pages_count_the_same(pages: Pages) -> None:
    chance = random.Random(12)
    queries = [random_query(chance) for _ in range(QUESTIONS)]
    for query, told in zip(
        queries, pages.ask(*(["facets", LEFT, query] for query in queries)), strict=True
    ):
        for facet in FACETS:
            assert told[facet] == counted("left", facet, query), (facet, query)
        paid = [at for at, r in enumerate(ROLLOUTS["left"]) if r.reward]
        assert sum(told["reward"]) == sum(fits("left", at, query, but="reward") for at in paid)


def test_rewards_are_counted_in_twenty_buckets_up_to_the_best(pages: Pages) -> None:
    [told] = pages.ask(["facets", RIGHT, {"ending": ["done"]}])
    totals = Counter(r.reward.total for r in ROLLOUTS["right"] if r.reward and r.ended == "done")
    bucket = [0] * 20
    for total, count in totals.items():
        bucket[min(19, max(0, int(total / 1.3 * 20)))] += count
    assert told["reward"] == bucket


def test_pages_of_a_list_are_parts_of_it(pages: Pages) -> None:
    query = {"sort": ["-reward"]}
    parts = pages.ask(*(["rows", LEFT, query, at, 7] for at in range(0, 63, 7)))
    assert [row["at"] for part in parts for row in part["rows"]] == listed("left", query)


def test_an_item_knows_its_neighbours_in_the_list(pages: Pages) -> None:
    chance = random.Random(13)
    queries = [random_query(chance) for _ in range(40)]
    asked = [(query, chance.randrange(45)) for query in queries]
    told = pages.ask(*(["item", LEFT, at, query] for query, at in asked))
    for (query, at), item in zip(asked, told, strict=True):
        found = listed("left", query)
        place = found.index(at) if at in found else None
        around = [None, *found, None]
        expected = (None, None) if place is None else (around[place], around[place + 2])
        assert (item["at"], item["place"], item["total_items"]) == (at, place, len(found))
        assert (item["previous"], item["next"]) == expected


def paid(name: str, at: int) -> float:
    reward = ROLLOUTS[name][at].reward
    return reward.total if reward else 0.0


@pytest.mark.parametrize("sort", ["", "difference", "-difference"])
def test_both_pages_pair_the_same_rollouts(pages: Pages, sort: str) -> None:
    [told] = pages.ask(["compare", LEFT, RIGHT, sort, 0, ALL])
    rows = {
        name: {
            (r.example.id, [x.example.id for x in all[:at]].count(r.example.id)): at
            for at, r in enumerate(all)
        }
        for name, all in ROLLOUTS.items()
    }
    pairs = [(at, rows["right"][key]) for key, at in rows["left"].items() if key in rows["right"]]
    gains = {pair: paid("right", pair[1]) - paid("left", pair[0]) for pair in pairs}
    sign = {"": 0, "difference": 1, "-difference": -1}[sort]
    pairs.sort(key=lambda pair: sign * gains[pair] if sign else -abs(gains[pair]))
    assert [(row["left"], row["right"]) for row in told["rows"]] == pairs
    assert told["pairs"] == len(pairs) > 10
    assert told["only_left"] == len(ROLLOUTS["left"]) - len(pairs)
    assert told["only_right"] == len(ROLLOUTS["right"]) - len(pairs)
    assert told["wins_right"] == sum(gain > 0 for gain in gains.values())
    assert told["wins_left"] == sum(gain < 0 for gain in gains.values())
    assert told["ties"] == len(pairs) - told["wins_left"] - told["wins_right"]
    assert told["mean_left"] == pytest.approx(sum(paid("left", at) for at, _ in pairs) / len(pairs))
    for row in told["rows"]:
        left, right = ROLLOUTS["left"][row["left"]], ROLLOUTS["right"][row["right"]]
        assert row["changed"] == changed(left, right)
        assert row["left_reward"] == (left.reward and left.reward.total)
        for side, rollout in (("left", left), ("right", right)):
            assert row[f"{side}_verdict"] == msgspec.to_builtins(verdict_of(rollout))
    for side, name in enumerate(("left", "right")):
        verdicts = [verdict_of(ROLLOUTS[name][pair[side]]) for pair in pairs]
        assert told[f"rates_{name}"] == pytest.approx(rates(verdicts))


def changed(left: Rollout, right: Rollout) -> list[str]:
    """What is different, by comparing the rollouts themselves."""
    tools = [[call.tool for call in each.calls] for each in (left, right)]
    calls = [[(call.tool, call.arguments) for call in each.calls] for each in (left, right)]
    told = []
    if sorted(tools[0]) != sorted(tools[1]):
        told.append("tools called")
    elif tools[0] != tools[1]:
        told.append("order of calls")
    elif calls[0] != calls[1]:
        told.append("arguments")
    if [call.error for call in left.calls] != [call.error for call in right.calls]:
        told.append("errors")
    if left.outcome != right.outcome:
        told.append("outcome")
    if left.ended != right.ended:
        told.append("ending")
    if not told and left.messages != right.messages:
        told.append("words")
    return told


def test_both_pages_see_the_first_difference_of_a_pair(pages: Pages) -> None:
    chance = random.Random(14)
    asked = [(chance.randrange(45), chance.randrange(35)) for _ in range(20)]
    told = pages.ask(*(["pair", LEFT, left, RIGHT, right] for left, right in asked))
    for (left, right), pair in zip(asked, told, strict=True):
        one, two = ROLLOUTS["left"][left].messages, ROLLOUTS["right"][right].messages
        longest = max(len(one), len(two))
        differ = (at for at in range(longest) if one[at : at + 1] != two[at : at + 1])
        assert pair["first_difference"] == next(differ, None)
        assert (pair["left"]["at"], pair["right"]["at"]) == (left, right)


def test_both_pages_show_a_success_beside_a_failure_at_the_same_example(pages: Pages) -> None:
    [contrast, alone] = pages.ask(["showcase", LEFT, RIGHT], ["showcase", None, RIGHT])
    left, right = ROLLOUTS["left"][contrast["left"]], ROLLOUTS["right"][contrast["right"]]
    assert left.example.id == right.example.id
    assert verdict_of(right).success
    assert not verdict_of(left).success
    assert alone["left"] is None
    assert verdict_of(ROLLOUTS["right"][alone["right"]]).success


def test_where_nothing_succeeded_nothing_is_shown_as_a_success(pages: Pages) -> None:
    [told] = pages.ask(["showcase", RIGHT, CORPUS])
    assert "rollouts" in told["error"]
    [told] = pages.ask(["showcase", None, CORPUS])
    assert told is None


def test_both_pages_refuse_with_the_same_words(pages: Pages) -> None:
    told = pages.ask(
        ["rows", LEFT, {"sort": ["mood"]}, 0, 10],
        ["rows", LEFT, {"least": ["much"]}, 0, 10],
        ["compare", LEFT, CORPUS, "", 0, 10],
        ["compare", LEFT, RIGHT, "reward", 0, 10],
        ["pair", LEFT, 0, CORPUS, 0],
    )
    for answer, words in zip(
        told, ("mood", "number", "rollouts", "sorted", "rollouts"), strict=True
    ):
        assert words in answer["error"]


def test_a_long_search_is_cut(pages: Pages) -> None:
    long = " ".join(f"pay-{number} ß{'x' * 100}" for number in range(30))
    [told, other] = pages.ask(
        ["rows", LEFT, {"text": [long]}, 0, 10], ["rows", LEFT, {"text": ["  "]}, 0, 10]
    )
    assert (told["total"], other["total"]) == (0, len(ROLLOUTS["left"]))
