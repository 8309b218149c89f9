"""Samples: drawn fairly and again the same, told as a chat that shows every call."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from examples import pay_example
from provegym.corpus.samples import SHOWN, WIDTH, sample, shortened, tell
from provegym.trace import Attempt, Example, Provenance, ToolboxSpec, Turn, line, read

DATA = Path(__file__).parents[1] / "data"


def told(example: Example) -> str:
    """An example as it is printed."""
    return "\n".join(tell(example))


def drawn(count: int, seed: int, of: int = 20) -> list[int]:
    """The numbers of the examples that are drawn of so many."""
    stream = (pay_example(id=str(number)) for number in range(of))
    found = sample(stream, count, seed)
    assert found.total == of
    return [int(example.id) for example in found.examples]


def test_a_sample_is_as_large_as_asked_in_order_and_the_same_again() -> None:
    first = drawn(6, seed=1)
    assert len(first) == 6
    assert first == sorted(set(first))
    assert first == drawn(6, seed=1)
    assert first != drawn(6, seed=2)
    assert drawn(50, seed=1) == list(range(20))


def test_every_example_is_as_likely_as_any_other() -> None:
    examples = [pay_example(id=str(number)) for number in range(10)]
    counts: Counter[str] = Counter()
    for seed in range(1_000):
        counts.update(example.id for example in sample(examples, 3, seed).examples)
    assert len(counts) == 10
    assert 240 < min(counts.values()) <= max(counts.values()) < 360  # 300 each, to four sigma


def test_a_kind_with_a_name_that_says_little_is_told_in_words() -> None:
    text = told(pay_example(kind="clarification"))
    assert "clarification (the tool for one request is hidden, and the assistant must say" in text


def test_an_example_is_told_as_a_chat_with_its_calls() -> None:
    text = told(pay_example(knobs=("stripped",), toolbox=ToolboxSpec(hidden=("close_account",))))
    assert text.startswith("## pay-1\n\nmulti_turn · banking, world 7 · knobs stripped · hidden")
    assert "`close_account`" in text
    first, later = text.split("*5 minutes later*")
    assert "**User:** Pay Harbour 20 from Freelance." in first
    assert 'list_accounts(name: "Freelance")' in first
    assert first.index("list_payees(") < first.index("pay_payee(") < first.index("**Assistant:**")
    assert "**User:** Freeze my card." in later
    assert 'status: "frozen"' in later
    assert later.count("**Assistant:**") == 1


def test_calls_that_go_out_together_stand_together() -> None:
    block = told(pay_example()).split("```text\n")[1].split("\n```")[0]
    together, alone = block.split("\n\n")
    assert "list_accounts(" in together
    assert "list_payees(" in together
    assert alone.startswith("pay_payee(")


def test_a_failed_attempt_is_marked() -> None:
    wanted = pay_example().paths[0].steps[2].arguments
    attempt = Attempt(
        before=2, tool="pay_payee", arguments={**wanted, "amount": 900_000}, error="rejected"
    )
    text = told(pay_example(provenance=Provenance(attempts=(attempt,), persona="terse")))
    assert "persona terse" in text
    assert text.count("(fails, and is not to be learnt)") == 1
    assert text.index("900000") < text.index("not to be learnt") < text.index('"rejected"')


def test_long_results_are_cut_and_long_lines_folded() -> None:
    for path in sorted(DATA.glob("*.jsonl"))[:5]:
        text = told(next(read(path, Example)))
        blocks = text.split("```")[1::2]
        assert all(len(each) <= WIDTH for block in blocks for each in block.splitlines())
    assert "…" in told(pay_example())
    assert shortened('{"id":"acc_1"}') == '{"id": "acc_1"}'
    assert len(shortened(f'{{"note":"{"x" * 1_000}"}}')) == SHOWN + 1


def test_markdown_in_what_is_said_is_shown_as_it_is() -> None:
    said = "Find *.md files with `x` and <b> in [notes]."
    turns = (Turn(text=said), *pay_example().turns[1:])
    assert r"Find \*.md files with \`x\` and \<b> in \[notes]." in told(pay_example(turns=turns))


def printed(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """What the command comes to."""
    command = [sys.executable, "-m", "provegym", "samples", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_prints_the_same_page_again(tmp_path: Path) -> None:
    for number in range(3):
        shard = tmp_path / f"train-{number:05}.jsonl"
        shard.write_bytes(b"".join(line(pay_example(id=f"e-{number}-{n}")) for n in range(4)))
    options = (str(tmp_path), "--count", "5", "--seed", "3")
    one, two = printed(*options), printed(*options)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert one.stdout == two.stdout
    assert one.stdout.startswith("# Samples\n\n5 of 12 examples")
    assert one.stdout.count("\n## e-") == 5


@pytest.mark.parametrize(
    ("name", "says"), [("empty", "holds no examples"), ("missing", "No such file or directory")]
)
def test_nothing_to_draw_from_is_one_line(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "empty").mkdir()
    done = printed(str(tmp_path / name))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
