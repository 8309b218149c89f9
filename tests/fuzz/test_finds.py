"""What was found by hand and by fuzzing: each is refused in a sentence, or read and used."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import run
from examples import pay_example
from provegym import servers
from provegym.config import BadRecipe, load_recipe
from provegym.errors import BadFile, UserError
from provegym.language.values import normal, numbers
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED, rescore
from provegym.rewards.answers import states_enough
from provegym.rewards.binding import _by_field
from provegym.rewards.figures import figures, invents_figure, same_number
from provegym.rewards.layout import SENTENCES
from provegym.rewards.success import time_of
from provegym.rollout import play_script
from provegym.trace import Call, Example, Rollout, line, point, read

Change = Callable[[dict[str, Any]], None]
DEEP: Any = 1
for _ in range(60):
    DEEP = {"a": DEEP}


def put(*path: str | int, value: Any) -> Change:
    """A change of one value, at a place in JSON."""

    def change(told: Any) -> None:
        for part in path[:-1]:
            told = told.setdefault(part, {}) if isinstance(told, dict) else told[part]
        told[path[-1]] = value

    return change


def chat_call(arguments: str) -> dict[str, Any]:
    """A message with a call, as chat endpoints have it."""
    function = {"name": "list_accounts", "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": function}]}


STEP = ("paths", 0, "steps", 2)
EXAMPLES: dict[str, tuple[Change, str]] = {
    "a year of minutes": (put("turns", 0, "minutes", value=10**12), "0 to 527,040 minutes"),
    "negative minutes": (put("turns", 0, "minutes", value=-1), "0 to 527,040 minutes"),
    "evidence about a list": (
        put(*STEP, "evidence", value={"facts": [{"about": [[1, "a", None]]}]}),
        "Expected `bool | int | float | str`",
    ),
    "evidence about nothing": (
        put(*STEP, "evidence", value={"facts": [{"about": [None]}]}),
        "Expected `bool | int | float | str`",
    ),
    "eleven years in all": (
        put("turns", value=[{"text": "wait", "minutes": 527_040}] * 11),
        "more than 10 years in all",
    ),
    "64 paths of 64 steps": (
        put("paths", value=[{"steps": [{"turn": 0, "tool": "x"}] * 64}] * 64),
        "more than 512 steps in all",
    ),
    "a transcript of other things": (
        put("provenance", "transcript", value=[{"role": "tool"}, {"role": "zzz", "content": 5}]),
        "holds no chat messages",
    ),
    "a transcript with a call and no result": (
        put("provenance", "transcript", value=[chat_call("{}")]),
        "has no result",
    ),
    "a transcript whose arguments are cut": (
        put("provenance", "transcript", value=[chat_call("{")]),
        "holds no chat messages",
    ),
    "a transcript without words": (
        put("provenance", "transcript", value=[{"role": "assistant", "content": None}]),
        "neither a text nor a call",
    ),
    "a transcript with too many turns": (
        put("provenance", "transcript", value=[{"role": "user", "content": "hi"}] * 9),
        "more messages of the user than turns",
    ),
    "no paths": (put("paths", value=[]), "0 paths; 1 to 64"),
    "no turns": (put("turns", value=[]), "0 turns; 1 to 64"),
    "5,000 paths": (
        put("paths", value=[{"steps": [{"turn": 0, "tool": "x"}]}] * 5000),
        "5000 paths",
    ),
    "an empty path beside others": (
        put("paths", value=[{}, {"steps": [{"turn": 0, "tool": "x"}]}]),
        "without steps",
    ),
    "a reference to a later step": (
        put(*STEP, "arguments", "amount", value={"$from": [9, "/id"], "literal": 1}),
        "takes a value from step 9",
    ),
    "a reference to a negative step": (
        put(*STEP, "arguments", "amount", value={"$from": [-1, "/id"], "literal": 1}),
        "takes a value from step -1",
    ),
    "no pointer": (
        put(*STEP, "arguments", "amount", value={"$from": [0, "id"], "literal": 1}),
        "JSON pointer",
    ),
    "a step in no turn": (put(*STEP, "turn", value=7), "turn 7, which does not exist"),
    "an edge to itself": (
        put(*STEP, "needs", value=[{"step": 2, "kind": "explicit"}]),
        "needs step 2",
    ),
    "more values than answers": (
        put(*STEP, "values", value=[1, 2]),
        "a value for each of its answers",
    ),
    "a negative limit": (put("toolbox", value={"limit": -3}), "toolbox.limit is -3"),
    "a long turn": (put("turns", 0, "text", value="x" * 200_000), "100,000 characters"),
    "deep arguments": (put(*STEP, "arguments", "amount", value=DEEP), "nested more than 32"),
    "a hostile id": (put("id", value="x\x1b[2J"), "no control characters"),
    "a forged line": (put("id", value="x\n60 examples checked"), "no control characters"),
    "a server with an escape": (put("server", value="\x9b31m"), "no control characters"),
    "a huge seed": (put("seed", value=2**70), "0 to 2^64"),
    "a claim of another turn": (
        put("provenance", value={"infeasible": {"turn": 9, "tool": "x", "arguments": {}}}),
        "turn 9, which does not exist",
    ),
    "a derived step that is none": (
        put("provenance", value={"derived": {"²": "x"}}),
        "provenance.derived",
    ),
    "a schema that is none": (
        put("toolbox", value={"schemas": [{"name": "f", "description": "", "parameters": 5}]}),
        "a name, a description and parameters",
    ),
    "parameters of an unknown type": (
        put(
            "toolbox",
            value={"schemas": [{"name": "f", "description": "", "parameters": {"type": "no"}}]},
        ),
        "no JSON schema",
    ),
}


def hostile(change: Change) -> bytes:
    """The example with one change, as a line."""
    told = json.loads(line(pay_example()))
    change(told)
    return json.dumps(told).encode() + b"\n"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_out_of_bounds_is_refused_when_it_is_read(name: str, tmp_path: Path) -> None:
    change, says = EXAMPLES[name]
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(hostile(change))
    with pytest.raises(BadFile) as problem:
        list(read(file, Example))
    told = str(problem.value)
    assert told.startswith(f"{file}:1: ")
    assert says in told
    assert told.endswith("; correct this line, or take it out")


COMMANDS = (
    ("verify",),
    ("export", "--format", "sft", "--out", "{out}.jsonl"),
    ("samples",),
    ("rollout", "--policy", "oracle", "--out", "{out}.jsonl", "--data"),
    ("audit", "--data"),
    ("report", "--out", "{out}.html"),
)


@pytest.mark.parametrize(
    "name", ["no paths", "a year of minutes", "eleven years in all", "deep arguments", "no turns"]
)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_command_ends_in_a_traceback(
    name: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(hostile(EXAMPLES[name][0]))
    told = [each.format(out=tmp_path / "out") for each in command]
    done = run(*told[:1], *told[1:], file) if told[-1] == "--data" else run(*told, file)
    assert done.returncode in (0, 2)
    assert done.returncode == 0 or done.stderr.startswith("provegym: ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("toolbox", value={"distractors": ["no_such_tool"]}), "no_such_tool"),
        (put("server", value="people"), "people"),
        (put("server", value="..people"), "..people"),
        (put("server", value="kernel.session"), "kernel.session"),
    ],
)
def test_tools_and_servers_that_do_not_exist_are_named(
    change: Change, says: str, tmp_path: Path
) -> None:
    """Beside an example that is good, so that the file is read to its end."""
    file, out = tmp_path / "hostile.jsonl", tmp_path / "out.jsonl"
    bad = hostile(lambda told: (change(told), put("id", value="bad")(told)))
    file.write_bytes(line(pay_example()) + bad)
    commands = (
        ("verify", file),
        ("export", file, "--format", "sft", "--out", out),
        ("rollout", "--policy", "oracle", "--data", file, "--out", tmp_path / "r.jsonl"),
    )
    for command in commands:
        done = run(*command)
        assert done.returncode in (1, 2), command
        assert says in done.stdout + done.stderr, command
        assert "Traceback" not in done.stderr
    assert run("report", file, "--out", tmp_path / "r.html").returncode == 0


@pytest.mark.parametrize(
    "change",
    [
        put(*STEP, "tool", value="no_such_tool"),
        put("toolbox", value={"hidden": ["list_accounts"]}),
        put("server", value=""),
    ],
)
def test_the_audit_names_an_example_whose_right_tools_are_not_shown(
    change: Change, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(hostile(change))
    done = run("audit", "--data", file)
    assert done.returncode == 2
    assert "which it does not show; `provegym verify` says" in done.stderr


@pytest.mark.parametrize("pointer", ["/items/²", "/items/٣", "/items/99999999999999999999"])
def test_no_command_breaks_on_a_place_that_is_no_number(pointer: str, tmp_path: Path) -> None:
    file, out = tmp_path / "hostile.jsonl", tmp_path / "out"
    places = {"answers": [pointer], "values": [1]}
    file.write_bytes(hostile(lambda told: told["paths"][0]["steps"][0].update(places)))
    for command in (("verify",), ("samples",), ("export", "--format", "sft", "--out", out)):
        done = run(*command, file)
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr
    assert run("report", file, "--out", tmp_path / "r.html").returncode == 0


def test_only_known_servers_are_loaded() -> None:
    for name in ("people", "..kernel", "people.Person", "__init__", ""):
        with pytest.raises(UserError, match="there is no server"):
            servers.load(name)


def test_a_pointer_takes_plain_digits_alone() -> None:
    assert point({"items": [1, 2]}, "/items/1") == (True, 2)
    for pointer in ("/items/²", "/items/٣", "/items/-1", "/items/99999999999999999999", "/items/"):
        assert point({"items": [1, 2]}, pointer) == (False, None)


def test_numbers_that_no_float_holds_are_not_stated() -> None:
    assert not same_number(10**400, 5.0)
    assert not same_number(5.0, float("inf"))
    assert normal(10**400) == "inf"
    assert list(numbers("9" * 400 + " and 5")) == [5]
    call = Call(turn=0, message=0, tool="x", arguments={"n": 10**400}, result='{"a": 1}')
    known = figures(["1"], [call], None).with_terms([10**400, 7])
    assert invents_figure("It is 123.45.", known)


def test_names_of_fields_are_no_patterns() -> None:
    assert _by_field({"[amount_(": 5, "total+_x": 7})


def test_a_day_that_does_not_exist_is_no_time() -> None:
    for day in ("2026-13-45 99:99", "9999-12-31 23:59"):
        example = pay_example(system=f"It is {day}.")
        assert time_of(example, 1) is None


ROLLOUTS: dict[str, tuple[Change, str]] = {
    "a result that is no JSON": (put("calls", 0, "result", value="{no"), "is JSON"),
    "a reward of another path": (put("reward", "path", value=3), "path 3, which does not exist"),
    "a served call that is none": (
        put("reward", "served", value=[{"call": 99, "step": 0, "in_order": True, "equal": 1.0}]),
        "a call or a step that does not exist",
    ),
    "a message without a role": (put("messages", 0, value={"content": "x"}), "has a role"),
    "a negative turn": (put("calls", 0, "turn", value=-1), "from 0 on"),
    "600 calls": (
        put("calls", value=[{"turn": 0, "message": 0, "tool": "x", "arguments": None}] * 600),
        "600 calls",
    ),
    "a deep outcome": (put("outcome", 0, "after", value=DEEP), "outcome: nested more than 32"),
    "a deep result of a call": (
        put("calls", 2, "diff", value=[{"server": "a", "table": "b", "key": "c", "after": DEEP}]),
        "diff: nested more than 32",
    ),
    "a hostile example": (put("example", "turns", 0, "minutes", value=10**12), "minutes"),
}


@pytest.mark.parametrize("name", ROLLOUTS)
def test_a_rollout_out_of_bounds_is_refused_when_it_is_read(name: str, tmp_path: Path) -> None:
    change, says = ROLLOUTS[name]
    told = json.loads(line(play_script(pay_example(), SCRIPTS["oracle"])))
    change(told)
    file = tmp_path / "hostile.jsonl"
    file.write_bytes(json.dumps(told).encode() + b"\n")
    with pytest.raises(BadFile, match=says):
        list(read(file, Rollout))
    for command in (("score",), ("compare", file)):
        done = run(*command, file)
        assert done.returncode == 2
        assert done.stderr.startswith(f"provegym: {file}:1: ")


def test_a_deep_result_is_scored_or_named(tmp_path: Path) -> None:
    told = json.loads(line(play_script(pay_example(), SCRIPTS["oracle"])))
    told["calls"][0]["result"] = '{"a":' * 700 + "1" + "}" * 700
    file = tmp_path / "deep.jsonl"
    file.write_bytes(json.dumps(told).encode() + b"\n")
    done = run("score", file)
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


def test_a_reply_with_a_number_of_400_digits_is_scored() -> None:
    played = play_script(pay_example(), SCRIPTS["oracle"])
    messages = [
        {**each, "content": "9" * 400} if each["role"] == "assistant" else each
        for each in played.messages
    ]
    import msgspec

    rescore(msgspec.structs.replace(played, messages=tuple(messages)), HARDENED)


@pytest.mark.parametrize(
    "text", ["9" * 200_000, f"1{'/' * 200_000}", f"1{'/' * 200_000}a1", " " * 200_000]
)
def test_a_degenerate_reply_is_judged_in_linear_time(text: str) -> None:
    """These took hours: one regex for a row of numbers, and one for the end of a sentence."""
    assert not states_enough(text, ["/balance"], [45.5])
    assert "".join(SENTENCES.split(text)) == text


def test_a_recipe_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_bytes(b"[reward]\nscheme = '\xe1'\n")
    for command in (("recipes", file), ("train", file, "--dry-run")):
        done = run(*command)
        assert done.returncode == 2
        assert str(file) in done.stderr


def test_a_recipe_that_extends_no_name_is_refused(tmp_path: Path) -> None:
    for extended in ('"\\u0000"', "5", "[]"):
        (tmp_path / "r.toml").write_text(f"extends = {extended}\n")
        with pytest.raises(BadRecipe, match="extends is the name of a recipe"):
            load_recipe(str(tmp_path / "r.toml"))
