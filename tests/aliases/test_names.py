"""Other names: one to one in every style, on every server, and never somebody else's plain name."""

import re
from random import Random

import pytest
from msgspec.structs import replace

from aliases.aliased import bare_example, every_style, style, view
from provegym import servers
from provegym.aliases import ALIAS_STYLES, draw
from provegym.aliases.bijection import Renaming
from provegym.toolbox import Toolbox, under
from provegym.trace import ToolboxSpec

NAMES = servers.names()
ODD = ("", "~", "~~a", "a", "b", "c", "~c", "~b", "A", "~~~A", "x y", "B")


def test_a_renaming_is_a_bijection_on_all_strings() -> None:
    renaming = Renaming({"a": "b", "b": "a", "c": "A", "d": "d"})
    shown = [renaming.show(text) for text in ODD]
    assert [renaming.read(text) for text in shown] == list(ODD)
    assert [renaming.show(renaming.read(text)) for text in ODD] == list(ODD)
    assert len(set(shown)) == len(ODD)
    assert (renaming.show("c"), renaming.show("A"), renaming.read("c")) == ("A", "~A", "~c")


def test_two_names_cannot_have_the_same_alias() -> None:
    with pytest.raises(ValueError, match="the same alias"):
        Renaming({"a": "x", "b": "x"})


@pytest.mark.parametrize("server", NAMES)
def test_every_name_has_a_name_of_its_own_in_every_style(server: str) -> None:
    for alias in every_style():
        seen = view(server, alias)
        for renaming in (seen.tools, seen.arguments.keys, seen.results.keys, seen.enums):
            for name, shown in renaming.shown.items():
                assert renaming.read(shown) == name
                assert shown == name or shown not in renaming.shown
        assert all(name != shown for name, shown in seen.tools.shown.items())
        assert all(re.fullmatch(r"[\w.-]{1,64}", name) for name in seen.tools.plain)
        assert all(name.isidentifier() for name in seen.arguments.keys.plain)


def test_tools_of_several_servers_do_not_collide() -> None:
    own = Toolbox.of(bare_example("banking")).tools
    others = [name for server in NAMES[1:] for name in servers.load(server).tools]
    for seed in range(12):
        spec = ToolboxSpec(distractors=tuple(Random(seed).sample(others, 60)))
        twin = under(replace(bare_example("banking"), toolbox=spec), draw(seed))
        names = [name for name, _, _ in Toolbox.of(twin).shown()]
        assert len(set(names)) == len(own) + 60


def test_styles_are_drawn_from_the_seed_and_all_of_them_occur() -> None:
    assert draw(4) == draw(4)
    aliases = [draw(seed) for seed in range(300)]
    for name, styles in ALIAS_STYLES.items():
        assert {getattr(alias, name) for alias in aliases} == set(styles)
    for alias in aliases:
        if "opaque" in (alias.tools, alias.names):
            assert alias.descriptions in ("full", "wordy")
        if alias.descriptions == "none":
            assert alias.words == "same"
            assert alias.enums != "codes"


def test_the_styles_look_as_they_are_called() -> None:
    def called(**fields: str) -> str:
        return view("banking", style(**fields)).tools.show("list_standing_orders")

    assert called(tools="camelCase") == "listStandingOrders"
    assert called(tools="nounVerb") == "standingOrdersList"
    assert called(tools="dotted") == "banking.standing_orders.list"
    assert called(words="abbreviations") == "ls_stndng_ords"
    assert called(tools="opaque").startswith("tool_")
    seen = view("banking", style(names="Pascal", enums="upper"))
    assert seen.arguments.keys.show("source_id") == "SourceId"
    assert seen.enums.show("fixed_term") == "FIXED_TERM"
    assert "EUR" not in seen.enums.shown
