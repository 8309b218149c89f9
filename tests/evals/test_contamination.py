"""Planted overlaps are found; what only looks alike is not called contaminated."""

import json
from pathlib import Path

import msgspec
import pytest

from evals.ready import run, small
from examples import pay_example
from provegym.evals.bfcl import Bfcl
from provegym.evals.bfcl_single import BfclSingle
from provegym.evals.contamination import Task, ToolText, bfcl_tasks, measure, overlap, tools, words
from provegym.evals.environments import BenchmarkError
from provegym.trace import Example, Step, Turn, write
from provegym.trace import Path as Road
from provegym.verify.complete import complete

ASKS = "Please move all of my savings to the account that pays the most interest today."


@pytest.fixture(scope="module")
def example() -> Example:
    """A payment of our own."""
    return complete(pay_example())


def planted(example: Example, text: str) -> Example:
    """An example whose first request is somebody else's."""
    turns = (Turn(text=text), *example.turns[1:])
    return msgspec.structs.replace(example, id="planted", turns=turns)


def test_words_are_what_is_compared() -> None:
    assert words("Pay $5.00, now!") == ["pay", "5", "00", "now"]


def test_a_request_is_found_by_a_run_of_its_words(example: Example) -> None:
    task = Task(id="theirs", requests=(ASKS,))
    inside = f"Hello! {ASKS.upper()[:60]}, thanks"
    report = overlap("b", [example, planted(example, inside)], [task], [])
    assert report.contaminated == ["planted"]
    (found,) = report.requests
    assert (found.ours, found.theirs) == ("planted", "theirs")
    assert found.shared == "please move all of my savings to the"
    # Seven words in a row are anybody's.
    few = planted(example, " ".join(words(ASKS)[:7]) + " moon")
    assert overlap("b", [few], [task], []).contaminated == []
    # So are eight of grammar and courtesy, with one more.
    polite = "I would appreciate it if you could share {} with Ann."
    kind = Task(id="theirs", requests=(polite.format("the sorted list"),))
    told = overlap("b", [planted(example, polite.format("a journey"))], [kind], [])
    assert (told.contaminated, told.longest and len(told.longest.shared.split())) == ([], 8)
    # A contraction is grammar too.
    polite = "I'd appreciate it if you could send {} to Ann."
    kind = Task(id="theirs", requests=(polite.format("it"),))
    assert not overlap("b", [planted(example, polite.format("a letter"))], [kind], []).requests
    # A short request is compared whole.
    short = Task(id="theirs", requests=("What is my balance?",))
    assert overlap("b", [planted(example, "what is my balance")], [short], []).contaminated
    assert not overlap("b", [planted(example, "what is my name")], [short], []).contaminated
    # It is found in a longer one too, if it says something.
    long = Task(id="theirs", requests=("Hi, cancel my flight to Boston. I would like it if so.",))
    assert overlap("b", [planted(example, "Cancel my flight to Boston")], [long], []).contaminated
    assert not overlap("b", [planted(example, "Cancel my flight to Berlin")], [long], []).requests
    assert not overlap("b", [planted(example, "I would like it")], [long], []).requests


def test_calls_in_a_row_count_with_their_values(example: Example) -> None:
    steps = tuple(Step(turn=0, tool=name, arguments={"id": f"{name}-1"}) for name in "abc")
    mine = msgspec.structs.replace(example, id="mine", paths=(Road(steps=steps),))
    same = Task(id="same", calls=tuple((name, {"id": f"{name}-1"}) for name in "zabc"))
    other = Task(id="other", calls=tuple((name, {"id": "elsewhere"}) for name in "abc"))
    report = overlap("b", [mine], [same], [])
    assert [found.shared for found in report.sequences] == ["a → b → c"]
    assert report.contaminated == ["mine"]
    alike = overlap("b", [mine], [other], [])
    assert (len(alike.sequences), alike.contaminated) == (1, [])


def test_names_and_schemas_are_shown_and_contaminate_nothing(example: Example) -> None:
    ours = {tool.name: tool for tool in tools([example])}["pay_payee"]
    theirs = [
        ToolText(name="pay_payee", description="Something else."),
        ToolText(name="settle", description="Settles.", parameters=ours.parameters),
    ]
    report = overlap("b", [example], [], theirs)
    assert [found.ours for found in report.names] == ["pay_payee"]
    assert ("pay_payee", "settle") in [(found.ours, found.theirs) for found in report.schemas]
    assert report.contaminated == []
    assert report.tools[1] == 2
    assert report.longest is None


def test_how_near_a_clean_corpus_comes_is_said(example: Example) -> None:
    near = planted(example, " ".join(words(ASKS)[:7]) + " moon")
    report = overlap("b", [near], [Task(id="theirs", requests=(ASKS,))], [])
    assert report.longest is not None
    assert report.longest.shared == "please move all of my savings to"


def test_benchmarks_and_corpora_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="did you mean 'bfcl'"):
        measure(tmp_path, ["bfc"])
    with pytest.raises(BenchmarkError, match="provegym synth"):
        measure(tmp_path, ["bfcl"])


@pytest.mark.parametrize(("bench", "kind"), [(Bfcl, "base"), (BfclSingle, "parallel")])
def test_a_task_of_bfcl_in_a_corpus_is_found(
    bench: type[Bfcl], kind: str, example: Example, tmp_path: Path
) -> None:
    small()
    asked = bench().entries(kind)[7]["question"][0][0]["content"]
    write(tmp_path / "corpus.jsonl", [example, planted(example, f"Hi. {asked}")])
    done = run("decontaminate", tmp_path, "--against", "bfcl", "--json")
    assert done.returncode == 1, done.stderr
    (report,) = json.loads(done.stdout)["benchmarks"]
    assert report["contaminated"] == ["planted"]
    write(tmp_path / "corpus.jsonl", [example])
    clean = run("decontaminate", tmp_path, "--against", "bfcl")
    assert clean.returncode == 0, clean.stderr
    assert "contaminated examples" in clean.stdout


def test_all_tasks_and_tools_of_bfcl_are_compared() -> None:
    small()
    tasks, theirs = bfcl_tasks()
    assert (len(tasks), len({task.id for task in tasks})) == (800 + 3641, 800 + 3641)
    assert len({(tool.name, tool.description, tool.arguments) for tool in theirs}) == len(theirs)
    known = {tool.name for tool in theirs}
    # Multi-turn tools, single-turn ones, and dots as a model sees them.
    assert {"cd", "calculate_triangle_area", "math_factorial"} <= known
    by_id = {task.id: task for task in tasks}
    assert [name for name, _ in by_id["parallel_0"].calls] == ["spotify_play", "spotify_play"]
    assert not by_id["irrelevance_0"].calls
    missed = [name for task in tasks for name, _ in task.calls if name not in known]
    assert missed == []
