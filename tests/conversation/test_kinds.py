"""The kinds of examples: functions of their place, with nothing to call where nothing is right."""

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from conversation.talks import candidates, place
from provegym.conversation import kinds
from provegym.conversation.draft import LEVELS
from provegym.conversation.kinds import (
    KINDS,
    SHARES,
    WHYS,
    Place,
    Shape,
    candidate,
    chain_of,
    shape,
)
from provegym.conversation.perturb import SHARES as KNOB_SHARES
from provegym.conversation.perturb import strangers
from provegym.corpus.candidates import DrawJob, draw
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.corpus.split import ALL_WORLDS, HELD_OUT, TRAIN_WORLDS
from provegym.language.phrasing import Said, Voice
from provegym.language.questions import read_way
from provegym.servers import asks, load, names
from provegym.toolbox import all_tools
from provegym.trace import Example, line
from provegym.verify import verify
from provegym.verify.complete import complete

SPOTS = [(name, number) for name in ("banking", "maps", "email", "crm") for number in range(7)]
HERE = Path(__file__)


def lines(spots: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """The candidates of some places, as they are written."""
    found = {}
    for name, number in spots:
        spot = place(name, number, held_out=number % 4 == 3)
        made = candidate(spot, shape(spot))
        found[name, number] = line(made).decode() if made else ""
    return found


def test_a_candidate_is_a_function_of_its_place() -> None:
    """Twice the same, whatever was drawn before, and in another process with other hashes."""
    one = lines(SPOTS)
    assert sum(map(bool, one.values())) > len(SPOTS) // 2
    shuffled = Random("order").sample(SPOTS, len(SPOTS))
    assert lines(shuffled) == one
    code = (
        f"import sys; sys.path.insert(0, {str(HERE.parents[1])!r})\n"
        "from conversation.test_kinds import SPOTS, lines\n"
        "for made in lines(SPOTS[::-1]).values(): print(made.strip())"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == [one[spot].strip() for spot in SPOTS[::-1]]


def test_another_seed_number_or_world_gives_another_candidate() -> None:
    spot = place("banking", 2)
    others = [spot._replace(seed=6), spot._replace(number=3), spot._replace(world=77)]
    sort = Shape("multi_turn", (), "complete")
    made = [candidate(each, sort) for each in (spot, *others)]
    texts = [tuple(turn.text for turn in each.turns) for each in made if each]
    assert len(texts) > 2
    assert len(set(texts)) == len(texts)


def test_shapes_stand_in_the_papers_proportions() -> None:
    shapes = [shape(place("banking", number)) for number in range(6_000)]
    counts = Counter(each.kind for each in shapes)
    whole = sum(SHARES.values())
    for kind, share in SHARES.items():
        assert counts[kind] / 6_000 == pytest.approx(share / whole, abs=0.02)
    talks = [each for each in shapes if each.kind == "multi_turn"]
    for level, share in LEVELS.items():
        assert sum(t.level == level for t in talks) / len(talks) == pytest.approx(share, abs=0.03)
    for knob, share in KNOB_SHARES.items():
        on = sum(knob in each.knobs for each in talks) / len(talks)
        assert on == pytest.approx(share, abs=0.03)
    rest = [each for each in shapes if each.kind != "multi_turn"]
    assert not any("irrelevance" in each.knobs or each.level for each in rest)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_made_on_every_server(kind: str) -> None:
    made = candidates(kind)
    assert {each.example.kind for each in made} == {kind}
    assert {each.example.server for each in made} == set(names())
    assert all(each.example.id == each.place.key for each in made)
    assert len({each.example.id for each in made}) == len(made)


def test_kinds_and_shares_are_the_same() -> None:
    assert KINDS.keys() == SHARES.keys()


def test_clarifications_hide_what_serves() -> None:
    turns: Counter[int] = Counter()
    for each in candidates("clarification"):
        example, hidden = each.example, each.example.toolbox.hidden
        claim = example.provenance.unserved
        assert claim is not None
        assert claim.tool in hidden
        assert example.provenance.would_serve == hidden
        assert not [step for step in example.paths[0].steps if step.turn == claim.turn]
        assert not {step.tool for step in example.paths[0].steps} & set(hidden)
        turns[len(example.turns)] += 1
    assert turns.keys() == {1, 2, 3}


def test_clarifications_keep_the_contract() -> None:
    some = [each.example for each in candidates("clarification")][::4]
    good = [example for example in some if not verify(complete(example))]
    assert len(good) > 0.7 * len(some)


def reason(example: Example) -> str:
    """Why there is nothing to call."""
    return "hidden" if example.provenance.unserved else example.provenance.why


def test_abstentions_have_nothing_to_call_for_five_reasons() -> None:
    reasons: Counter[str] = Counter()
    for each in candidates("abstention"):
        example = complete(each.example)
        assert not [step for path in example.paths for step in path.steps]
        assert len(example.turns) == 1
        assert verify(example) == []
        assert (example.turns[0].asks is not None) == (reason(example) == "missing")
        reasons[reason(example)] += 1
    assert reasons.keys() == set(WHYS)
    assert min(reasons.values()) > 5


def test_irrelevance_is_small_talk_or_belongs_elsewhere() -> None:
    reasons = Counter(reason(each.example) for each in candidates("irrelevance"))
    assert reasons.keys() == {"smalltalk", "no_tool"}
    for each in candidates("irrelevance"):
        assert verify(complete(each.example)) == []


@pytest.mark.parametrize("name", names())
def test_others_are_never_the_server_itself_or_its_kin(name: str) -> None:
    others = strangers(name, names())
    kin = set(names()) - {*others, name}
    assert kin == {each for each in names() if is_named(each, name) or is_named(name, each)}
    assert name not in others
    assert strangers(name, ("maps",)) in (["maps"], [])
    for other in others:
        assert name in strangers(other, names())
        both = set(others) & set(strangers(other, names()))
        assert sum(len(load(each).tools) for each in both) >= 8


def is_named(name: str, by: str) -> bool:
    """Whether a server's asks.toml names another as its kin."""
    return name in asks(by).get("kin", ())


def test_servers_that_are_named_are_there() -> None:
    assert set(HELD_OUT) <= set(names())
    for name in names():
        assert set(asks(name).get("kin", ())) <= set(names()) - {name}


@pytest.mark.parametrize("kind", KINDS)
def test_distractors_come_from_strangers(kind: str) -> None:
    seen = 0
    for each in candidates(kind):
        shown = each.example.toolbox.distractors
        assert bool(shown) == ("distractors" in each.shape.knobs)
        assert not shown or 3 <= len(set(shown)) == len(shown) <= 8
        foreign = {all_tools()[tool].server for tool in shown}
        assert foreign <= set(strangers(each.example.server, names()))
        seen += bool(shown)
    assert seen > 10


def test_what_belongs_elsewhere_is_served_by_no_distractor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request's own server, and its kin, show none of their tools."""
    visited: list[str] = []
    setting = kinds.scene

    def watched(name: str, world: int) -> object:
        visited.append(name)
        return setting(name, world)

    monkeypatch.setattr(kinds, "scene", watched)
    checked = 0
    for name in names():
        for number in range(6):
            visited.clear()
            sort = Shape("irrelevance", ("distractors",), "")
            made = candidate(place(name, number), sort)
            if made is None or reason(made) != "no_tool":
                continue
            elsewhere, here = visited
            assert (here, made.provenance.elsewhere) == (name, elsewhere)
            assert elsewhere in strangers(name, names())
            foreign = {all_tools()[tool].server for tool in made.toolbox.distractors}
            assert foreign <= set(strangers(elsewhere, names()))
            checked += 1
    assert checked > 20


def pattern(way: str) -> re.Pattern[str]:
    """What a way of asking looks like when it is filled in."""
    parts = re.split(r"(\{\w+\}|[\[\]()|])", re.sub(r"\b(on|at) (?=\{)", "§", way))
    forms = {"[": "(?:", "]": ")?"}
    if "|" in way:  # a group such as (this|that)
        forms |= {"(": "(?:", ")": ")", "|": "|"}
    text = "".join(forms.get(p, ".+" if p.startswith("{") else re.escape(p)) for p in parts)
    return re.compile(text.replace("§", "(?:on |at )?"), re.DOTALL)


def test_held_out_places_use_the_reserved_way_of_asking_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[Voice, str, str]] = []
    ask = Voice.ask

    def watched(self: Voice, tool: object, arguments: dict[str, object]) -> Said | None:
        said = ask(self, tool, arguments)  # type: ignore[arg-type]
        if said is not None:
            asked.append((self, tool.name, said.text))  # type: ignore[attr-defined]
        return said

    monkeypatch.setattr(Voice, "ask", watched)
    counts: Counter[bool] = Counter()
    for held_out in (True, False):
        asked.clear()
        for name in HELD_OUT:
            for kind in KINDS:
                spots = (place(name, number, held_out=held_out) for number in range(5))
                for spot in spots:
                    candidate(spot, Shape(kind, (), "complete" if kind == "multi_turn" else ""))
        for voice, tool, text in asked:
            written = asks(voice.server.name)["asks"][tool]
            *common, reserved = (read_way(way).words for way in written)
            assert voice.held_out == held_out
            ways = [reserved] if held_out else common
            assert any(pattern(way).fullmatch(text) for way in ways), (tool, text)
            counts[held_out] += 1
    assert min(counts.values()) > 50


@pytest.mark.parametrize("name", ["train", "heldout"])
def test_held_out_worlds_are_never_trained_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the round."""
    worlds: list[int] = []

    def nothing(spot: Place, sort: Shape) -> None:
        worlds.append(spot.world)
        assert spot.held_out == (name == "heldout")

    monkeypatch.setattr("provegym.corpus.candidates.candidate", nothing)
    part = CorpusPart(name, 50, ("payments",))
    for number in (0, 1, 99, 100, 899, 900, 901, 5_000):
        draw(DrawJob(part, "payments", 3, number, 0, Quotas(part)))
    assert worlds
    apart = range(TRAIN_WORLDS, ALL_WORLDS)
    assert all((world in apart) == (name == "heldout") for world in worlds)
    assert max(worlds) < ALL_WORLDS


def test_candidates_of_different_parts_have_different_ids() -> None:
    assert place("banking", 3).key != place("banking", 3, held_out=True).key


def test_chains_are_dealt_in_order_and_every_tool_has_its_turn() -> None:
    chains = [chain_of("payments", index) for index in range(400)]
    assert chains == [chain_of("payments", index) for index in range(400)]
    alone = {chain.tools[0] for chain in chains if len(chain.tools) == 1}
    assert alone == load("payments").tools.keys()
    assert {len(chain.tools) for chain in chains} >= {1, 2, 3, 4, 5}
    assert all(len(chain.edges) == len(chain.tools) - 1 for chain in islice(chains, 50))
