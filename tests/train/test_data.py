"""Which examples a run sees: nothing of held-out servers, none too long; and worlds drawn ahead."""

import signal
from itertools import islice

import msgspec
import pytest

from conversation.talks import verified
from examples import pay_example
from provegym import servers
from provegym.corpus.transcript import transcript
from provegym.trace import Example, Provenance
from provegym.train.data import CHUNK, keep_out, show, spread
from provegym.train.prefetch import Prefetcher

EXAMPLE = pay_example()


def test_what_belongs_to_held_out_servers_is_left_out() -> None:
    spec = msgspec.structs.replace(EXAMPLE.toolbox, distractors=("search_leads", "list_files"))
    kept = keep_out(msgspec.structs.replace(EXAMPLE, toolbox=spec))
    assert kept is not None
    assert kept.toolbox.distractors == ("list_files",)
    assert keep_out(msgspec.structs.replace(EXAMPLE, server="crm")) is None
    about = Provenance(why="no_tool", elsewhere="payments")
    assert keep_out(msgspec.structs.replace(EXAMPLE, provenance=about)) is None


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_work_is_spread_over_cores_in_order() -> None:
    grown = 5
    items = list(range(CHUNK * 4))
    assert spread(lambda item: item + grown, items) == [item + grown for item in items]
    assert spread(lambda item: item + grown, items[:3]) == [5, 6, 7]


def test_the_worlds_of_the_next_step_are_drawn_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    examples = {f"e{n}": pay_example(id=f"e{n}", seed=700 + n) for n in range(5)}
    drawn: list[int] = []
    world = servers.load("banking").world
    monkeypatch.setattr(
        servers.load("banking"), "world", lambda seed: drawn.append(seed) or world(seed)
    )
    ahead = Prefetcher(list(examples), examples)
    ahead.wait()
    ahead.draw(["e1", "e1", "e2", "e2"])
    ahead.wait()
    assert set(drawn) == {703, 704}
    ahead.draw(["e4"])
    ahead.wait()
    assert set(drawn) == {703, 704, 700}


def test_an_example_without_a_server_has_no_world() -> None:
    bare: Example = msgspec.structs.replace(EXAMPLE, id="bare", server="")
    ahead = Prefetcher(["bare"], {"bare": bare})
    ahead.draw(["bare"])
    ahead.wait()
    assert not ahead.thread.is_alive()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_that_are_ended_print_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Our commands treat SIGTERM as Ctrl-C, and forked processes would inherit that."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("inherited"))
    try:
        assert spread(str, list(range(CHUNK * 4)))[-1] == str(CHUNK * 4 - 1)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr().err == ""


def test_no_reference_transcript_calls_a_tool_that_a_limit_hides() -> None:
    given_up = verified("multi_turn", lambda example: example.provenance.infeasible)
    for example in islice(given_up, 4):
        told = transcript(show(example, 1)).messages
        answers = [message["content"] for message in told if message["role"] == "tool"]
        assert answers
        assert not any("unknown tool" in answer for answer in answers)
