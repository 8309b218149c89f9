"""Exports: the columns trainers read, nothing lost on the way, a clear word where it cannot be."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from aliases.aliased import style, under
from examples import pay_example
from provegym.corpus.exports import FORMS, export, from_row, shards
from provegym.corpus.transcript import transcript
from provegym.lines import has_sums
from provegym.toolbox import Toolbox
from provegym.trace import Attempt, BadFile, Claim, Example, Provenance, Step, line, read, write
from provegym.trace import Path as Steps

DATA = Path(__file__).parents[1] / "data" / "banking.jsonl"
VERL = ("data_source", "prompt", "ability", "reward_model", "extra_info")
COUNT = len(DATA.read_bytes().splitlines())
needs_pyarrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow (provegym[data]) is not installed"
)


def exported(form: str, folder: Path, source: Path = DATA) -> list[dict[str, Any]]:
    """The rows of an export."""
    out = folder / f"{form}.jsonl"
    assert list(export(source, out, form)) == list(range(1, COUNT + 1))
    assert [path.name for path in folder.iterdir()] == [out.name]
    return [json.loads(row) for row in out.read_text("utf-8").splitlines()]


def decoded(text: str) -> Example:
    """An example from its JSON text."""
    return msgspec.json.decode(text, type=Example)


def test_trl_rows_are_found_by_id(tmp_path: Path) -> None:
    for row, example in zip(exported("trl", tmp_path), read(DATA, Example), strict=True):
        assert row.keys() == {"prompt", "example"}
        assert row["prompt"] == example.id
        assert decoded(row["example"]) == example


def test_verl_rows_have_its_columns(tmp_path: Path) -> None:
    for at, row in enumerate(exported("verl", tmp_path)):
        assert list(row) == [*VERL, "agent_name"]
        example = decoded(row["extra_info"]["example"])
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]
        assert row["prompt"][1]["content"] == example.turns[0].text
        assert row["reward_model"]["style"] == "rule"
        truth = json.loads(row["reward_model"]["ground_truth"])
        assert len(truth) == len(example.paths)
        extra = row["extra_info"]
        assert (extra["index"], extra["split"]) == (at, "train")
        assert row["agent_name"] == "provegym"


def test_sft_rows_have_messages_with_objects_and_the_tools_shown(tmp_path: Path) -> None:
    for row, example in zip(exported("sft", tmp_path), read(DATA, Example), strict=True):
        assert json.loads(row["tools"]) == Toolbox.of(example).openai()
        assert len(row["learn"]) == len(row["messages"])
        calls = [c for m in row["messages"] for c in m.get("tool_calls", ())]
        assert len(calls) == len(example.paths[0].steps)
        assert all(isinstance(call["function"]["arguments"], dict) for call in calls)


def test_openai_rows_keep_texts_and_mark_what_is_not_to_be_learnt(tmp_path: Path) -> None:
    for row, example in zip(exported("openai", tmp_path), read(DATA, Example), strict=True):
        assert list(row) == ["messages", "tools", "parallel_tool_calls"]
        assert row["messages"] == transcript(example).messages
    attempt = Attempt(
        before=2, tool="pay_payee", arguments={"amount": -1}, error="invalid_argument"
    )
    failing = pay_example(provenance=Provenance(attempts=(attempt,)))
    messages = FORMS["openai"].make(failing, 0, "train")["messages"]
    marked = [message for message in messages if "weight" in message]
    assert [message["weight"] for message in marked] == [0]
    assert '"amount":-1' in marked[0]["tool_calls"][0]["function"]["arguments"]


def test_a_row_of_datasets_is_an_example_again() -> None:
    claim = Claim(turn=0, tool="pay", arguments={"fees": [1.95, {"far": 20148.83}], "none": 3})
    example = pay_example(provenance=Provenance(infeasible=claim))
    row = json.loads(line(example).replace(b"1.95", b"1.9500000000000002"))
    assert row["provenance"]["infeasible"]["arguments"]["fees"][0] != 1.95
    fields = dict.fromkeys(Example.__struct_fields__)
    assert from_row({**fields, **row}) == example


def unplayable() -> Example:
    """An example whose only call fails."""
    step = Step(turn=0, tool="close_account", arguments={"account_id": "acc_0"}, writes=True)
    return pay_example(id="broken", paths=(Steps(steps=(step,)),))


@pytest.mark.parametrize("form", ["sft", "openai"])
def test_one_bad_example_is_left_out_and_named(form: str, tmp_path: Path) -> None:
    source = tmp_path / "some.jsonl"
    write(source, [pay_example(id="one"), unplayable(), pay_example(id="two")])
    left_out: list[str] = []
    assert list(export(source, tmp_path / "out.jsonl", form, left_out=left_out)) == [1, 2]
    (problem,) = left_out
    assert problem.startswith("broken: close_account fails")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


def test_an_example_of_another_world_is_left_out(tmp_path: Path) -> None:
    source = tmp_path / "some.jsonl"
    write(source, [pay_example(id="one"), pay_example(id="moved", digest="0" * 32)])
    left_out: list[str] = []
    assert list(export(source, tmp_path / "out.jsonl", "sft", left_out=left_out)) == [1]
    (problem,) = left_out
    assert problem.startswith("moved: world ")


def test_a_folder_gives_the_split_asked_for(tmp_path: Path) -> None:
    for name in ("train-00000", "train-00001", "heldout-00000"):
        (tmp_path / f"{name}.jsonl").write_bytes(line(pay_example(id=name)))
    out = tmp_path / "out"
    out.mkdir()
    assert list(export(tmp_path, out / "a.jsonl", "trl")) == [1, 2]
    assert list(export(tmp_path, out / "b.jsonl", "trl", "heldout")) == [1]
    assert "heldout-00000" in (out / "b.jsonl").read_text()
    assert [path.name for path in shards(DATA.parent, "train")][:1] == ["banking.jsonl"]
    (tmp_path / "heldout-00000.jsonl").unlink()
    with pytest.raises(BadFile, match="no heldout shards"):
        list(export(tmp_path, out / "c.jsonl", "trl", "heldout"))


def test_what_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"JSON lines only; name the output \.jsonl"):
        list(export(DATA, tmp_path / "x.parquet", "openai"))
    with pytest.raises(BadFile, match="No such file or directory"):
        list(export(DATA, tmp_path / "missing" / "x.jsonl", "trl"))
    with pytest.raises(BadFile, match="there is no such file or folder"):
        list(export(tmp_path / "missing", tmp_path / "x.jsonl", "trl"))
    with pytest.raises(BadFile, match=r"holds no \.jsonl"):
        list(export(tmp_path, tmp_path / "x.jsonl", "trl"))
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(line(pay_example()) + b'{"schema": 1, "id": 3}\n')
    with pytest.raises(BadFile, match=r"broken\.jsonl:2"):
        list(export(broken, tmp_path / "x.jsonl", "trl"))
    broken.write_bytes(b"")
    with pytest.raises(BadFile, match="holds no examples"):
        list(export(broken, tmp_path / "x.jsonl", "trl"))
    assert [path.name for path in tmp_path.iterdir()] == ["broken.jsonl"]


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(BadFile, match="pip install pyarrow"):
        list(export(DATA, tmp_path / "x.parquet", "sft"))


@needs_pyarrow
@pytest.mark.parametrize("form", ["trl", "verl", "sft"])
def test_parquet_has_the_same_rows(form: str, tmp_path: Path) -> None:
    from pyarrow import parquet

    (tmp_path / "lines").mkdir()
    rows = exported(form, tmp_path / "lines")
    list(export(DATA, tmp_path / "x.parquet", form))
    held = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    if form == "sft":
        held = [{**row, "messages": [json.loads(m) for m in row["messages"]]} for row in held]
    assert held == rows


def test_examples_are_read_one_at_a_time(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    write(broken, [pay_example(), pay_example(id="pay-2")])
    broken.write_bytes(broken.read_bytes() + b"{}\n")
    steps = export(broken, tmp_path / "x.jsonl", "trl")
    assert (next(steps), next(steps)) == (1, 2)
    with pytest.raises(BadFile):
        next(steps)


def test_checksums_are_no_rows_for_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "corpus"
    folder.mkdir()
    write(folder / "train-00000.jsonl", [pay_example(), pay_example(id="pay-2")])
    assert has_sums(folder / "train-00000.jsonl")
    cache = str(tmp_path / "cache")
    for named in ({"path": str(folder)}, {"path": "json", "data_dir": str(folder)}):
        found = datasets.load_dataset(**named, split="train", cache_dir=cache)
        assert found["id"][:] == ["pay-1", "pay-2"]


def test_tools_in_openai_rows_have_no_dots(tmp_path: Path) -> None:
    dotted = 0
    for example in read(DATA, Example):
        row = FORMS["openai"].make(under(example, style(tools="dotted")), 0, "train")
        names = [tool["function"]["name"] for tool in row.get("tools", ())]
        called = [
            call["function"]["name"]
            for message in row["messages"]
            for call in message.get("tool_calls") or ()
        ]
        assert set(called) <= set(names)
        assert not any("." in name for name in names)
        dotted += sum("__" in name for name in names)
    assert dotted
