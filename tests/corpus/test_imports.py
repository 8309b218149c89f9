"""Imports: rows as they were published become examples in which silence pays."""

import json
from pathlib import Path
from typing import Any

import pytest

from provegym.corpus.imports import argument, examples, rows, schema, write_examples
from provegym.corpus.transcript import transcript
from provegym.players.plan import tool_call
from provegym.players.scripted import Script, noop
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, ToolboxSpec, line, read
from provegym.verify import verify

STATIONS = {
    "name": "charging.stations",
    "description": "Lists chargers near a point.",
    "parameters": {
        "type": "dict",
        "properties": {
            "region": {"description": "Country code.", "type": "str", "default": ""},
            "radius": {"description": "In km.", "type": "int"},
        },
    },
    "required": ["radius"],
}
USER = {"role": "user", "content": "What is trending in Lisbon?"}
SORRY = {"role": "assistant", "content": "I cannot look that up, sorry."}
CALLS = {"role": "assistant", "content": '<TOOLCALL>[{"name": "x", "arguments": {}}]</TOOLCALL>'}
SFT = {"tools": [STATIONS], "messages": [USER, SORRY]}
PREF = {
    "tools": [json.dumps(STATIONS)],
    "messages": [USER],
    "chosen_response": SORRY,
    "rejected_response": CALLS,
}
XLAM = {
    "query": "How far is the moon?",
    "answers": "[]",
    "tools": json.dumps(
        [
            {
                "name": "get_price",
                "description": "The price of a share.",
                "parameters": {
                    "symbol": {"description": "Its symbol.", "type": "str"},
                    "days": {"description": "How many.", "type": "List[int], optional"},
                },
            }
        ]
    ),
}


def written(folder: Path, *each: Any, name: str = "original.jsonl") -> Path:
    """A file with one row per line."""
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in each) + "\n")
    return path


@pytest.mark.parametrize(("source", "row"), [("when2call", SFT), ("when2call", PREF)])
def test_when2call_rows_become_abstentions_with_their_answer(
    source: str, row: dict[str, Any], tmp_path: Path
) -> None:
    example = next(examples(source, written(tmp_path, row)))
    assert example is not None
    assert verify(example) == []
    assert (example.kind, example.server, example.turns[0].text) == (
        "abstention",
        "",
        USER["content"],
    )
    messages, learn = transcript(example)
    assert messages[-1] == SORRY
    assert learn == [False, False, True]
    shown = Toolbox.of(example).openai()[0]["function"]
    assert shown["name"] == "charging_stations"
    assert shown["parameters"]["required"] == ["radius"]
    assert shown["parameters"]["properties"]["radius"]["type"] == "integer"


def test_rows_whose_answer_is_a_call_are_left_out(tmp_path: Path) -> None:
    source = written(tmp_path, SFT, {**SFT, "messages": [USER, CALLS]}, PREF)
    assert write_examples("when2call", source, tmp_path / "out.jsonl") == (2, 1)
    kept = list(read(tmp_path / "out.jsonl", Example))
    assert [example.id for example in kept] == ["when2call/1", "when2call/3"]


def test_xlam_rows_are_read_from_a_list_and_from_lines(tmp_path: Path) -> None:
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps([XLAM, XLAM]))
    assert len(list(rows(whole))) == 2
    (example,) = examples("xlam-irrelevance", written(tmp_path, XLAM))
    assert example is not None
    assert verify(example) == []
    parameters = Toolbox.of(example).schemas["get_price"]
    assert parameters["required"] == ["symbol"]
    assert parameters["properties"]["days"]["type"] == "array"
    assert transcript(example).messages[-1]["role"] == "assistant"


def test_silence_is_paid_and_a_call_is_not_found(tmp_path: Path) -> None:
    (example,) = examples("when2call", written(tmp_path, SFT))
    assert example is not None
    quiet = play_script(example, noop)
    assert quiet.reward is not None
    assert quiet.reward.total == 1
    call = tool_call("charging_stations", {"radius": 5})
    loud = play_script(example, lambda played: Script(played, [[[call]]]))
    assert loud.reward is not None
    assert loud.reward.total == 0
    assert (loud.calls[0].error, loud.calls[0].checks.fits) == ("not_found", True)


def test_an_example_without_a_server_keeps_its_own_contract(tmp_path: Path) -> None:
    from msgspec.structs import replace

    (example,) = examples("when2call", written(tmp_path, SFT))
    assert example is not None
    mixed = replace(example, toolbox=ToolboxSpec(hidden=("x",)))
    assert verify(mixed) == ["without a server a toolbox has schemas alone"]
    bare = replace(example, toolbox=ToolboxSpec(schemas=({"name": "x"},)))
    assert "schema 0" in verify(bare)[0]
    assert verify(replace(example, kind="multi_turn")) != []
    assert read_back(example, tmp_path) == example


def read_back(example: Example, folder: Path) -> Example:
    """An example as it comes out of a file."""
    path = folder / "again.jsonl"
    path.write_bytes(line(example))
    return next(read(path, Example))


@pytest.mark.parametrize(
    ("source", "row", "told"),
    [
        ("when2call", {"messages": [USER, SORRY]}, "tools: expected a list, and it is missing"),
        ("when2call", {"tools": []}, "messages: expected a list, and it is missing"),
        ("when2call", {"tools": [], "messages": [SORRY]}, "the first must be the user's"),
        ("when2call", {"tools": [], "messages": [USER]}, "chosen_response: it is missing"),
        ("when2call", {"tools": [3], "messages": [USER, SORRY]}, "tools: expected an object"),
        ("when2call", [], "row: expected an object, found list"),
        ("xlam-irrelevance", {**XLAM, "answers": '[{"name": "x"}]'}, "answers: must be empty"),
        ("xlam-irrelevance", {**XLAM, "tools": "[{"}, "tools: Input data was truncated"),
        ("xlam-irrelevance", {"answers": "[]", "tools": "[]"}, "query: expected text"),
    ],
)
def test_a_bad_row_names_file_line_and_field(
    source: str, row: Any, told: str, tmp_path: Path
) -> None:
    good = SFT if source == "when2call" else XLAM
    path = written(tmp_path, good, row)
    with pytest.raises(BadFile, match=f"original.jsonl:2: .*{told}"):
        list(examples(source, path))
    with pytest.raises(BadFile):
        write_examples(source, path, tmp_path / "out.jsonl")
    assert [each.name for each in tmp_path.iterdir()] == ["original.jsonl"]


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(SFT) + "\n" + json.dumps(SFT)[:40])
    with pytest.raises(BadFile, match=r"cut\.jsonl:2: Input data was truncated"):
        list(examples("when2call", path))
    with pytest.raises(BadFile, match="No such file"):
        list(examples("when2call", tmp_path / "missing"))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("str, optional", "string"),
        ("Optional[int]", "integer"),
        ("typing.List[str]", "array"),
        ("Dict[str, Any]", "object"),
        ("boolean", "boolean"),
        ("Union[int, str]", None),
        (None, None),
    ],
)
def test_types_are_read_as_python_writes_them(kind: str | None, wanted: str | None) -> None:
    assert argument({"type": kind}).get("type") == wanted


def test_nested_schemas_are_kept() -> None:
    part = {"type": "dict", "properties": {"a": {"type": "list", "items": {"type": "float"}}}}
    inner = argument(part)["properties"]["a"]
    assert inner == {"type": "array", "items": {"type": "number"}}
    assert schema({"name": "bare"})["parameters"] == {
        "type": "object",
        "properties": {},
        "required": [],
    }
