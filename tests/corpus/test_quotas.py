"""What a corpus keeps: exact counts, none too like another, nothing too often."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from examples import pay_example
from provegym.conversation.draft import LEVELS
from provegym.conversation.kinds import SHARES, Place, Shape, shape
from provegym.conversation.perturb import SHARES as KNOB_SHARES
from provegym.corpus.near_copies import ALWAYS, MOST_SEQUENCE, MOST_TOOL, NEAR_COPY, Deduplicator
from provegym.corpus.quotas import SLACK, CorpusPart, Quotas, share_out, spread
from provegym.graph.dependency import cached
from provegym.servers import load, names
from provegym.trace import Example, Path, Ref, Step, Turn

MANY = 1_000_000
PAPER = {"multi_turn": 10_895, "clarification": 1_500, "abstention": 806, "irrelevance": 316}


@given(
    st.integers(0, 20_000),
    st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0.01, 100), min_size=1),
)
def test_shares_are_whole_sum_up_and_are_off_by_less_than_one(
    total: int, shares: dict[str, float]
) -> None:
    counts = share_out(total, shares)
    assert counts.keys() == shares.keys()
    assert sum(counts.values()) == total
    for name, count in counts.items():
        assert abs(count - total * shares[name] / sum(shares.values())) < 1 + 1e-6


def test_the_papers_corpus_has_the_papers_counts() -> None:
    assert share_out(13_517, SHARES) == PAPER
    assert PAPER["abstention"] + PAPER["irrelevance"] == 1_122


def filled(part: CorpusPart, seed: int) -> tuple[Quotas, list[tuple[str, Shape]]]:
    """The shapes that are kept if every candidate turns out well."""
    quotas, kept = Quotas(part), []
    spots = dict.fromkeys(part.servers, 0)
    while any(quotas.owed(name) for name in part.servers):
        before = len(kept)
        for name in part.servers:
            for number in range(spots[name], spots[name] + 400):
                if not quotas.owed(name):
                    break
                wanted = shape(Place(name, 0, seed, number, part.servers))
                if quotas.wants(name, wanted):
                    quotas.take(name, wanted)
                    kept.append((name, wanted))
            spots[name] += 400
        if len(kept) == before and max(spots.values()) > 20_000:
            break
    return quotas, kept


SIZES = [(1, 3), (7, 3), (12, 4), (24, 4), (100, 4), (500, 4), (777, 20)]


@pytest.mark.parametrize(("size", "count"), SIZES)
def test_quotas_are_met_exactly(size: int, count: int) -> None:
    part = CorpusPart("train", size, names()[:count])
    for seed in range(3):
        _, kept = filled(part, seed)
        assert len(kept) == size, f"seed {seed}: quotas that shut each other out"
        kinds = Counter(wanted.kind for _, wanted in kept)
        assert kinds == Counter(share_out(size, SHARES))
        assert Counter(name for name, _ in kept) == Quotas(part).of_server
        slack = int(SLACK * size)
        talks = kinds["multi_turn"] + kinds["clarification"]
        for knob, share in KNOB_SHARES.items():
            on = sum(knob in wanted.knobs for _, wanted in kept)
            of = talks if knob == "irrelevance" else size
            assert abs(on - round(share * of)) <= slack
        levels = Counter(wanted.level for _, wanted in kept if wanted.level)
        assert levels.total() == kinds["multi_turn"]
        for level, wanted in share_out(kinds["multi_turn"], LEVELS).items():
            assert levels[level] <= wanted + slack


def test_servers_give_examples_within_a_factor_of_two() -> None:
    """Those with more proven edges give more; none is left out."""
    for size in (200, 13_517):
        counts = Counter(spread(CorpusPart("train", size, names())))
        assert counts.total() == size
        assert counts.keys() == set(names())
        assert max(counts.values()) <= 2 * min(counts.values())
    edges = {name: len(cached(load(name)).pairs()) for name in names()}
    ranked = sorted(names(), key=lambda name: edges[name])
    assert all(counts[one] <= counts[two] + 1 for one, two in pairwise(ranked))


def test_a_mix_may_have_one_kind_alone() -> None:
    part = CorpusPart("train", 60, names()[:3], {"multi_turn": 1})
    _, kept = filled(part, 0)
    assert len(kept) == 60
    assert {wanted.kind for _, wanted in kept} == {"multi_turn"}


def test_kinds_are_dealt_to_the_servers_in_a_fixed_order() -> None:
    part = CorpusPart("train", 200, names())
    assert Quotas(part).left == Quotas(part).left
    assert Quotas(part).left != Quotas(part._replace(name="heldout")).left


def example(calls: Iterable[tuple[str, int]], text: str, server: str = "banking") -> Example:
    """An example that makes some calls."""
    steps = tuple(Step(turn=0, tool=tool, arguments={"n": n}) for tool, n in calls)
    made = pay_example(turns=(Turn(text=text),), paths=(Path(steps=steps),))
    return replace(made, server=server)


def jaccard(one: set[tuple[str, int]], two: set[tuple[str, int]]) -> float:
    """How much of two sets is in both."""
    return len(one & two) / len(one | two)


def test_near_copies_are_those_that_share_seven_tenths() -> None:
    """Against a comparison with every one that was kept."""
    chance = Random("near")
    keeper, kept, copies = Deduplicator(), [], 0
    for number in range(1_500):
        calls = {
            (f"t{chance.randrange(4)}", chance.randrange(3)) for _ in range(chance.randint(1, 9))
        }
        made = example(sorted(calls), f"words {number}")
        near = max((jaccard(calls, other) for other in kept), default=0) >= NEAR_COPY
        assert keeper.objection(made, MANY) == ("a near copy" if near else "")
        copies += near
        if not near:
            keeper.keep(made)
            kept.append(calls)
    assert 50 < len(kept) < 1_500 - 50
    assert copies > 50


def test_exactly_seven_tenths_is_a_near_copy() -> None:
    keeper = Deduplicator()
    ten = [("t", n) for n in range(10)]
    keeper.keep(example(ten, "one"))
    assert keeper.objection(example(ten[:7], "two"), MANY) == "a near copy"
    assert keeper.objection(example(ten[:6], "two"), MANY) == ""


def test_arguments_are_compared_whatever_their_order_and_origin() -> None:
    keeper = Deduplicator()
    one = {"a": 1, "b": Ref(source=(0, "/id"), literal="x")}
    two = {"b": "x", "a": 1}
    for number, arguments in enumerate((one, two)):
        steps = (Step(turn=0, tool="t", arguments=arguments),)
        made = pay_example(turns=(Turn(text=str(number)),), paths=(Path(steps=steps),))
        assert keeper.objection(made, MANY) == ("a near copy" if number else "")
        keeper.keep(made)


@pytest.mark.parametrize(("of_server", "most"), [(10, 1), (100, 1), (499, 8), (1_000, 18)])
def test_no_sequence_of_tools_is_kept_more_often_than_two_in_a_hundred(
    of_server: int, most: int
) -> None:
    assert most == max(1, int(MOST_SEQUENCE * of_server))
    keeper = Deduplicator()
    for number in range(most):
        made = example([("a", number), ("b", number)], f"words {number}")
        assert keeper.objection(made, of_server) == ""
        keeper.keep(made)
    more = [("a", -1), ("b", -1)]
    assert keeper.objection(example(more, "more"), of_server) == "a common sequence of calls"
    assert keeper.objection(example(more[::-1], "more"), of_server) == ""
    assert keeper.objection(example(more, "more", "maps"), of_server) == ""


def test_no_tool_is_in_more_than_its_share_of_a_servers_examples() -> None:
    keeper, of_server = Deduplicator(), 25
    most = int(MOST_TOOL * of_server)
    assert most == 15
    for number in range(most):
        made = example([("hub", number), (f"t{number}", 0)], f"words {number}")
        assert keeper.objection(made, of_server) == ""
        keeper.keep(made)
    more = example([("hub", -1), ("other", 0)], "more")
    assert keeper.objection(more, of_server) == "a tool that is called too often"
    assert keeper.objection(example([("other", 0)], "more"), of_server) == ""
    twice = Deduplicator()
    twice.keep(example([("hub", 1), ("hub", 2)], "counted once"))
    assert list(twice.tools.values()) == [1]


def test_a_small_quota_leaves_room_for_a_servers_one_way_in() -> None:
    keeper = Deduplicator()
    for number in range(ALWAYS):
        made = example([("hub", number), (f"t{number}", 0)], f"words {number}")
        assert keeper.objection(made, 1) == ""
        keeper.keep(made)
    more = example([("hub", -1), ("other", 0)], "more")
    assert keeper.objection(more, 1) == "a tool that is called too often"


def test_the_same_words_are_kept_once_for_each_server() -> None:
    keeper = Deduplicator()
    keeper.keep(example([("a", 1)], "Pay Ada."))
    again = example([("b", 2)], "pay ADA.")
    assert keeper.objection(again, MANY) == "the same words twice"
    assert keeper.objection(replace(again, server="maps"), MANY) == ""
    assert keeper.objection(example([], "Hello."), MANY) == ""
    keeper.keep(example([], "Hello."))
    assert keeper.objection(example([], "hello."), MANY) == "the same words twice"


def test_objections_come_in_a_fixed_order() -> None:
    """An example with every fault, mended one by one."""
    keeper, of_server = Deduplicator(), 2
    for number in range(ALWAYS - 1):
        keeper.keep(example([(f"other {number}", 1), ("a", number)], f"Words {number}"))
    keeper.keep(example([("a", 1), ("b", 2)], "Pay Ada."))
    faults = [
        (example([("a", 1), ("b", 2)], "Pay Ada."), "the same words twice"),
        (example([("a", 1), ("b", 2)], "Pay Bob."), "a common sequence of calls"),
        (example([("b", 2), ("a", 1)], "Pay Bob."), "a tool that is called too often"),
    ]
    for made, objection in faults:
        assert keeper.objection(made, of_server) == objection
    assert keeper.objection(faults[2][0], MANY) == "a near copy"


def test_parts_remember_each_other_but_count_for_themselves() -> None:
    keeper = Deduplicator()
    kept = example([("a", 1), ("b", 2)], "Pay Ada.")
    keeper.keep(kept)
    keeper.next_part()
    assert keeper.objection(kept, MANY) == "the same words twice"
    assert keeper.objection(example([("a", 1), ("b", 2)], "Pay Bob."), MANY) == "a near copy"
    alike = example([("a", 3), ("b", 4)], "Pay Cleo.")
    assert keeper.objection(alike, 2) == ""
    keeper.keep(alike)
    assert keeper.objection(example([("a", 5), ("b", 6)], "Pay Dan."), 2) != ""


def test_what_has_no_calls_counts_as_words_alone() -> None:
    keeper = Deduplicator()
    for number in range(30):
        made = example([], f"Hello {number}.")
        assert keeper.objection(made, 1) == ""
        keeper.keep(made)
    assert not keeper.sets
    assert not keeper.tools
