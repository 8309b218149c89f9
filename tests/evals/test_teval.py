"""T-Eval's six abilities in both formats, on small tasks of our own in its files' shapes."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evals.ready import run
from provegym.evals import teval
from provegym.evals.benchmark import BenchmarkRun, draw
from provegym.evals.environments import TEVAL, BenchmarkError
from provegym.evals.teval import PARTS, TevalFolder, evaluate, right, script
from provegym.evals.teval_scores import match, plan, read, score
from provegym.models.served import Refused
from provegym.trace import Json, Reply
from teacher.fake_endpoint import fake_model

ASKED = [{"role": "system", "content": "Tools: …"}, {"role": "user", "content": "Do it."}]
APIS = ["Maps.find_place", "Maps.get_route", "Mail.send"]
PLAN = [
    {"id": 0, "name": "Maps.find_place", "args": {"name": "Berlin"}},
    {"id": 1, "name": "Maps.get_route", "args": {"to": "Berlin"}},
    {"id": 2, "name": "FinishAction", "args": {}},
]
NEXT = {"thought": "First find the place.", "name": "Maps.find_place", "args": {"name": "Berlin"}}
SAID = {
    "thought_start": "Thought: ",
    "thought_end": "\n",
    "action_start": "Action: ",
    "action_end": "\n",
    "args_start": "Args: ",
    "args_end": "",
}
KEYS = {"thought": "why", "action": "tool", "args": "input"}
TASKS: dict[str, Json] = {
    "instruct": {
        "template": KEYS,
        "meta_data": {"response_format": "json"},
        "ground_truth": {"action": "send", "args": {"to": "Ann", "text": "Hi"}},
    },
    "plan_json": {"meta": {"prompt_type": "json", "API_list": APIS}, "ground_truth": PLAN},
    "plan_str": {"meta": {"prompt_type": "str", "API_list": APIS}, "ground_truth": PLAN},
    "reason_str": {"ground_truth": NEXT},
    "retrieve_str": {"ground_truth": NEXT},
    "understand_str": {"ground_truth": {**NEXT, "args": "Berlin"}},
    "reason_retrieve_understand_json": {"ground_truth": json.dumps(NEXT)},
    "review_str": {"template": "", "ground_truth": {"answer": "B"}},
}
SPOKEN: Json = {**TASKS["instruct"], "template": SAID, "meta_data": {"response_format": "string"}}


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Letters counted: alike texts are alike."""
    return [[float(text.lower().count(chr(n))) for n in range(97, 123)] for text in texts]


class Letters:
    """Stands in for a model in an environment of its own."""

    def __init__(self, _: str) -> None:
        """Any model."""

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """Letters counted."""
        return embed(texts)

    def close(self) -> None:
        """There is no process to end."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with every file of the benchmark."""
    for part, task in TASKS.items():
        tasks = {"1": {**task, "origin_prompt": ASKED}}
        if part == "instruct":
            tasks["2"] = {**SPOKEN, "origin_prompt": ASKED}
        (tmp_path / f"{part}_v2.json").write_text(json.dumps(tasks))
    return tmp_path


@pytest.mark.parametrize("part", PARTS)
def test_the_right_answer_is_worth_all_and_none_is_worth_nothing(part: str) -> None:
    found = score(part, TASKS[part], right(part, TASKS[part]), embed)
    assert found == pytest.approx(dict.fromkeys(found, 1.0))
    assert set(score(part, TASKS[part], "", embed).values()) == {0.0}


def test_half_of_an_instruction_is_its_format() -> None:
    def paid(task: Json, answer: str) -> float:
        (value,) = score("instruct", task, answer, None).values()
        return value

    half = {"why": "", "tool": "send", "input": {"to": "Ann", "text": "Bye"}}
    assert paid(TASKS["instruct"], json.dumps(half)) == pytest.approx((1 + 2 / 3) / 2)
    assert paid(TASKS["instruct"], f"```json\n{half}\n```") == pytest.approx((1 + 2 / 3) / 2)
    assert paid(TASKS["instruct"], json.dumps({**half, "input": "none"})) == pytest.approx(2 / 3)
    assert paid(TASKS["instruct"], '{"tool": "send"}') == 0
    assert paid(SPOKEN, right("instruct", SPOKEN)) == 1
    assert paid(SPOKEN, "Thought: hm\nAction: send\nArgs: all") == pytest.approx((1 + 1 / 3) / 2)
    assert paid(SPOKEN, "send it") == 0
    assert score("instruct", SPOKEN, "", None).keys() == {"instruct_str"}


def test_a_plan_is_paid_for_steps_in_order() -> None:
    def paid(*steps: Json) -> float:
        return plan(TASKS["plan_json"], json.dumps(steps), embed)

    first, second, _ = PLAN
    assert paid(first, second) == 1
    assert paid(first) == pytest.approx(2 / 3)  # one of one, one of two
    assert paid({**second, "id": 0}, {**first, "id": 1}) == pytest.approx(0.5)  # one is in order
    assert paid({**first, "name": "Mail.send", "args": {"qq": "zz"}}) == pytest.approx(2 / 3)
    assert paid({"id": "no number", "name": "x", "args": {}}) == 0
    words = "1. Use Maps.find_place to find Berlin. 2. Use Maps.get_route to Berlin"
    assert plan(TASKS["plan_str"], words, embed) == 1


def test_steps_are_matched_for_the_most_weight_in_all() -> None:
    assert match([[0.9, 0.95], [0.0, 0.9]]) == {0: 0, 1: 1}
    assert match([[0.9, 1.0], [0.85, 1.0], [0.0, 0.0]]) == {0: 0, 1: 1}
    assert match([[0.0, 0.0]]) == {}


def test_names_and_arguments_are_compared_as_they_are() -> None:
    def paid(part: str, answer: str) -> dict[str, float]:
        return score(part, TASKS[part], answer, None)

    assert paid("retrieve_str", "Maps.find_place, for sure") == {"retrieve_str": 1}
    assert paid("retrieve_str", "Maps.find_place or Mail.send") == {"retrieve_str": 0}
    assert paid("retrieve_str", "Maps.find_place, then FinishAction") == {"retrieve_str": 0}
    assert paid("understand_str", "'Berlin'") == {"understand_str": 1}
    assert paid("reason_retrieve_understand_json", json.dumps({**NEXT, "args": {}})) == {
        "retrieve_json": 1,
        "understand_json": 0,
    }
    assert paid("review_str", "Answer: B, I think") == {"review_str": 1}
    assert paid("review_str", "B") == {"review_str": 1}
    assert paid("review_str", "Answer: (B)") == {"review_str": 0}


def test_values_are_read_as_json_or_python() -> None:
    assert read('{"a": true}') == read("{'a': True}") == {"a": True}
    assert read("Sure: [1, 2] ok", "[", "]") == [1, 2]
    assert read("{'a': true}") == {"a": True}
    assert read("nothing", "{", "}") is None
    assert read([1]) == [1]


def test_an_oracle_run_has_every_ability_and_the_average(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = SimpleNamespace(need=lambda: None, versions=lambda: {"letters": "1"})
    monkeypatch.setattr(teval, "TEVAL", ready)
    monkeypatch.setattr(teval, "Sentences", Letters)
    folder, some = TevalFolder(data, "letters"), BenchmarkRun("oracle", "o", tmp_path / "out")
    answer = script(folder, some, "oracle")
    assert answer is not None
    report: Any = evaluate(folder, some, lambda: answer, lambda *_: None)
    abilities = ("instruct", "plan", "reason", "retrieve", "understand", "review", "average")
    assert tuple(report["scores"])[:7] == abilities
    assert {name: each["score"] for name, each in report["scores"].items()} == pytest.approx(
        dict.fromkeys(report["scores"], 1.0)
    )
    assert all(each["floor"] == 0 for each in report["scores"].values())
    assert report["sentences"] == "compared by letters"
    assert report["versions"] == {"letters": "1"}


def test_a_model_in_its_environment_compares_sentences(data: Path, tmp_path: Path) -> None:
    if not TEVAL.is_ready():
        pytest.skip("teval is not set up here: provegym eval teval --setup (1.5 GB)")
    arguments = ("eval", "teval", "--data", data, "--endpoint", "oracle", "--json")
    done = run(*arguments, "--out", tmp_path / "out", "--embedder", "minilm")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["scores"]["average"]["score"] == pytest.approx(1)
    assert report["sentences"] == "compared by minilm"
    other = run(*arguments, "--out", tmp_path / "out", "--embedder", "/no/such/model")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1), other.stderr


def test_without_an_embedder_plan_and_reason_are_not_scored_and_it_is_said(
    data: Path, tmp_path: Path
) -> None:
    arguments = ("eval", "teval", "--data", data, "--endpoint", "noop", "--out", tmp_path / "out")
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {"plan", "reason", "average"}.isdisjoint(report["scores"])
    assert report["scores"]["instruct"]["score"] == 0
    assert "--embedder" in report["notes"][1]
    # The answers are kept: the same command asks nothing again, and scores them anew.
    kept = (tmp_path / "out" / "answers.jsonl").read_bytes()
    assert run(*arguments).returncode == 0
    assert (tmp_path / "out" / "answers.jsonl").read_bytes() == kept
    bare = tmp_path / "cache"
    other = run(*arguments, "--embedder", "minilm", cache=bare)
    assert (other.returncode, other.stderr.count("\n")) == (2, 1), other.stderr
    assert "provegym eval teval --setup" in other.stderr


def test_answers_are_scored_anew_without_an_endpoint(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with fake_model(lambda _: "Answer: B") as model:
        where = ("--endpoint", model.url, "--model", "m")
        first = run("eval", "teval", "--data", data, *where, "--out", out, "--json")
        assert first.returncode == 0, first.stderr
        asked = len(model.seen)
    again = run("eval", "teval", "--data", data, *where, "--out", out, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["scores"] == json.loads(first.stdout)["scores"]
    assert asked == 1 + len(TASKS) + 1  # a probe, and two instructions


def test_a_prompt_that_is_too_long_fails_its_task_alone(data: Path, tmp_path: Path) -> None:
    async def short(body: Json) -> Reply:
        if body["model"] in ("instruct/1", "review_str/1"):
            raise Refused(f"{body['model']} is too long")
        return Reply(text="Hm.")

    some = BenchmarkRun("m", "e", tmp_path / "out")
    report: Any = evaluate(TevalFolder(data), some, lambda: short, lambda *_: None)
    assert report["failures"] == {"prompt too long": 2}
    assert report["done"] == len(TASKS) + 1


def test_some_tasks_are_drawn_as_those_of_other_benchmarks_are(tmp_path: Path) -> None:
    tasks = {str(at): {"origin_prompt": ASKED} for at in range(30)}
    (tmp_path / "review_str.json").write_text(json.dumps(tasks))
    found = TevalFolder(tmp_path).tasks(BenchmarkRun("m", "e", tmp_path, limit=5))
    names = [f"review_str/{at}" for at in range(30)]
    assert list(found) == draw("teval", names, 5) != names[:5]
    assert list(TevalFolder(tmp_path).tasks(BenchmarkRun("m", "e", tmp_path, limit=40))) == names


def test_a_folder_without_its_files_says_which_are_wanted(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="plan_json"):
        TevalFolder(tmp_path).tasks(BenchmarkRun("m", "e", tmp_path))
    (tmp_path / "review_str.json").write_text("[")
    with pytest.raises(BenchmarkError, match=r"review_str\.json"):
        TevalFolder(tmp_path).tasks(BenchmarkRun("m", "e", tmp_path))
