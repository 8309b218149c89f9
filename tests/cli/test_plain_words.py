"""Commands report in plain words: no reason is told in a word that only this project uses."""

import re
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

from command import run
from provegym.cli import evaluation
from provegym.cli.plain_words import DROPPED, REFUSED, SUCCESS, counted
from provegym.evals.measure import Estimate
from provegym.trace import KINDS, Example, ExampleKind, label, read, write

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "provegym"
DATA = ROOT / "tests" / "data" / "banking.jsonl"


def literals(pattern: str, *files: str) -> set[str]:
    """The texts that a pattern finds in some files of the source."""
    return {each for file in files for each in re.findall(pattern, (SOURCE / file).read_text())}


def test_every_reason_for_dropping_a_candidate_has_plain_words() -> None:
    reasons = literals(r'Made\(\S+, None, "(.+?)"\)', "corpus/candidates.py")
    reasons |= literals(r'CRASHED = "(.+?)"', "corpus/foreign.py")
    reasons |= literals(r'NO_GOAL = "(.+?)"', "corpus/candidates.py")
    reasons |= literals(r'return "([a-z ]{9,})"', "corpus/near_copies.py", "corpus/corpus.py")
    assert reasons == set(DROPPED)


def test_every_reason_for_refusing_a_world_has_plain_words() -> None:
    assert literals(r'NotAdmitted\("(.+?)"', "admission/admit.py") == set(REFUSED)


def test_the_word_clarification_is_explained_where_it_is_printed(tmp_path: Path) -> None:
    assert set(KINDS) == set(get_args(ExampleKind))
    assert label("clarification") == "clarification (tool hidden)"
    assert label("multi_turn") == "multi_turn"
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    write(data, [each for each in read(DATA, Example) if each.kind == "clarification"][:1])
    run("rollout", "--data", data, "--out", out, "--policy", "noop")
    told = run("compare", out, out).stdout
    assert "clarification (tool hidden)" in told


def test_reasons_are_counted_line_by_line() -> None:
    counts = {"a near copy": 3, "no goal found": 12, "something new": 1}
    assert list(counted(counts, DROPPED)) == [
        "  12: the world had nothing suitable to ask for",
        "   3: another example has nearly the same calls",
        "   1: something new",
    ]


def test_a_corpus_tells_why_candidates_were_dropped(tmp_path: Path) -> None:
    options = ("--servers", "maps", "--size", 6, "--workers", 1, "--out", tmp_path / "corpus")
    first, *others = run("synth", *options).stdout.splitlines()
    told = r"train: 6 examples written, of \d+ candidates\. The others were dropped because"
    assert re.fullmatch(told, first)
    assert {line.partition(": ")[2] for line in others} <= set(DROPPED.values())


def test_figures_are_explained_where_they_are_shown(tmp_path: Path) -> None:
    data, out = tmp_path / "data.jsonl", tmp_path / "rollouts.jsonl"
    write(data, list(read(DATA, Example))[:2])
    played = run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    assert SUCCESS in played.stdout
    assert SUCCESS in run("score", out).stdout
    measured = run("eval", "heldout", "--model", "noop", "--data", data).stdout
    assert SUCCESS in measured
    assert len(re.findall(r" doing *\n.+ nothing *\n", measured)) == 1
    assert "2 examples checked, every one keeps all rules" in run("verify", data).stdout


def test_a_table_of_scores_fits_into_eighty_columns_with_whole_intervals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "console", Console(width=80))
    both = {"model": Estimate(0.25, 0.125, 0.625, 8), "noop": Estimate(0.0, 0.0, 0.0, 8)}
    scores = dict.fromkeys(("success", "clarification"), both)
    groups = ("unseen servers", "unseen worlds")
    evaluation._print_groups({group: {"tasks": 128, "scores": scores} for group in groups})
    told = capsys.readouterr().out
    assert told.count("0.250 [0.125, 0.625]") == 4
    assert all(len(row) <= 80 for row in told.splitlines())
