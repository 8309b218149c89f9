"""Text from files on a terminal: no control character of it arrives there as such."""

import ast
import json
import re
from pathlib import Path

import pytest
from rich.table import Table

import provegym
from command import run
from examples import pay_example
from provegym.cli.base import SafeConsole, cell
from provegym.terminal import CONTROL, printable, printable_json
from provegym.trace import line, write

SOURCE = Path(provegym.__file__).parent
BAD = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u2066\u200b\x7f\r\u2028"
ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u202e\u2066]")


def test_control_characters_are_escaped_and_text_stays() -> None:
    assert printable("Grüße\tan 東京 🚆\n") == "Grüße\tan 東京 🚆\n"
    assert printable("a\x1b[2J\u202eb\x9b") == "a\\x1b[2J\\u202eb\\x9b"
    assert printable("\U000e0041\ud800") == "\\U000e0041\\ud800"
    assert not CONTROL.search(printable(BAD))


def test_json_means_the_same() -> None:
    text = json.dumps({"a": BAD + "\U000e0041"}, ensure_ascii=False)
    shown = printable_json(text)
    assert not ESCAPED.search(shown)
    assert json.loads(shown) == json.loads(text)


def test_a_hostile_file_cannot_reach_the_terminal(tmp_path: Path) -> None:
    told = json.loads(line(pay_example()))
    told["turns"][0]["text"] = f"Pay [red]it[/red] {BAD}"
    told["system"] = BAD
    told["toolbox"] = {"hidden": ["pay_payee"]}
    data = tmp_path / "hostile.jsonl"
    data.write_text(json.dumps(told) + "\n")
    out = tmp_path / "rollouts.jsonl"
    commands = (
        ("samples", data),
        ("verify", data),
        ("verify", data, "--json"),
        ("rollout", "--policy", "oracle", "--data", data, "--out", out),
        ("score", out, "--explain"),
        ("score", out, "--json"),
        ("export", data, "--format", "sft", "--out", tmp_path / "x.jsonl"),
        ("compare", out, out),
    )
    for command in commands:
        done = run(*command)
        assert not ESCAPED.search(done.stdout + done.stderr), command
    assert "\\x1b" in run("samples", data).stdout


@pytest.mark.parametrize("mark", ["\x1b[2J", "\x9b", "\u202e", "\x07", "\n"])
def test_a_hostile_id_is_refused(mark: str, tmp_path: Path) -> None:
    data = tmp_path / "hostile.jsonl"
    write(data, [pay_example(id=f"a{mark}b")])
    done = run("verify", data)
    assert done.returncode == 2
    assert "id has 1 to 200 characters, and no control characters" in done.stderr


def test_a_hostile_file_name_is_escaped(tmp_path: Path) -> None:
    done = run("verify", tmp_path / "a\x1b[2Jb.jsonl")
    assert "\\x1b[2Jb.jsonl: No such file" in done.stderr


def test_tables_show_brackets_and_escape_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name")
    table.add_row(cell("[red]x[/red]\x1b[2J"))
    SafeConsole(width=60).print(table)
    SafeConsole(width=60).print("\x1b[2Jtitle")
    told = capsys.readouterr().out
    assert "[red]x[/red]\\x1b[2J" in told
    assert "\x1b" not in told


def test_nothing_is_printed_past_the_one_function() -> None:
    """`say` escapes. The runners run in environments without this package."""
    others = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        if path.name != "terminal.py" and "runners" not in path.parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "print" or node.func.id == "Console"
    ]
    assert others == []
