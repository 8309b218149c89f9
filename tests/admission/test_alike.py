"""How alike two worlds are, and near copies, which are not drawn."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from admission.boats import boats, without
from provegym.admission import run
from provegym.admission.alike import (
    NEAR_COPY,
    SAME_SHAPE,
    Copies,
    jaccard,
    summary,
    traits,
    weighted,
)
from provegym.worlds.grammar import draw_specs
from provegym.worlds.spec import WorldSpec


def test_jaccard_by_hand() -> None:
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 2 / 4
    assert jaccard(frozenset(), frozenset()) == 0
    found = traits(boats())
    assert weighted(found.graph, found.graph) == 0, "there is no graph yet"


def test_the_nearest_world_is_found_by_its_tools() -> None:
    copies = Copies()
    assert copies.nearest(traits(boats())) == (0.0, "")
    copies.add(traits(boats("boats_one")))
    copies.add(traits(boats("boats_two", lambda data: without(data, "repair_boat"))))
    assert copies.nearest(traits(boats("boats_three"))) == (1.0, "boats_one")
    half = boats("boats_four", lambda data: without(data, "repair_boat"))
    assert copies.nearest(traits(half)) == (1.0, "boats_two")


def test_a_world_of_the_same_shape_is_found_under_other_words() -> None:
    copies = Copies()
    assert copies.same_shape(traits(boats())) == ""
    copies.add(traits(boats("boats_one")))
    other = traits(boats("boats_two"))._replace(tools=frozenset({"unlike"}))
    assert copies.nearest(other) == (0.0, "")
    assert copies.same_shape(other) == "boats_one"
    fewer = boats("boats_four", lambda data: without(data, "repair_boat"))
    assert weighted(traits(fewer).shape, other.shape) < SAME_SHAPE
    assert copies.same_shape(traits(fewer)) == ""


def test_the_rarest_tools_are_enough_to_find_each_near_shape() -> None:
    found = [traits(spec) for spec in islice(draw_specs(4), 160)]
    copies = Copies()
    for at, each in enumerate(found):
        near = {one.name for one in found[:at] if weighted(one.shape, each.shape) >= SAME_SHAPE}
        assert (copies.same_shape(each) in near) if near else copies.same_shape(each) == ""
        copies.add(each)


def test_similarities_of_all_pairs() -> None:
    assert summary([traits(boats())]) == {}
    found = summary([traits(boats("boats_one")), traits(boats("boats_two"))])
    assert found["tools, all pairs"] == found["tools, nearest"] == 1
    assert found["schemas, all pairs"] == 1
    apart = summary([traits(boats()), *map(traits, islice(draw_specs(2), 1))])
    assert apart["tools, nearest"] == 0


def test_near_copies_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def specs(seed: int) -> Iterator[WorldSpec]:
        for number, spec in enumerate(draw_specs(seed)):
            yield spec
            yield msgspec.structs.replace(spec, name=f"copy_{number}")

    monkeypatch.setattr(run, "draw_specs", specs)
    assert run.draw_folder(3, 0, tmp_path, lambda: None) == (3, 2)
    assert not list(tmp_path.glob("copy_*"))


def test_worlds_of_one_seed_are_no_near_copies() -> None:
    found = [traits(spec) for spec in islice(draw_specs(4), 24)]
    scores = [jaccard(one.tools, two.tools) for one in found for two in found if one is not two]
    assert max(scores) < NEAR_COPY
