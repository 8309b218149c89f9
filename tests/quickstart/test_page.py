"""What the page says: which task it tells, whether that succeeded, what is paid, and of how many.

From rollouts of scripts, so that no model is needed.
"""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from examples import pay_example
from provegym.players.scripted import SCRIPTS
from provegym.quickstart import pictures
from provegym.quickstart.page import page, showcase
from provegym.quickstart.report import METRICS, PLAYERS, Report, score
from provegym.rollout import play_script
from provegym.trace import Example, Reward, Rollout, Verdict, numbered, write
from provegym.trace import Path as Road

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"


def example(name: str) -> Example:
    """One with something to call, that knows how the world should be in the end."""
    bare = pay_example(id=name)
    return replace(bare, outcome=play_script(bare, SCRIPTS["oracle"]).outcome)


def idle(name: str) -> Example:
    """One with nothing to call."""
    return pay_example(id=name, kind="abstention", paths=(Road(steps=()),))


def play(name: str, script: str) -> Rollout:
    """What a script does there."""
    return play_script(example(name), SCRIPTS[script])


def told(**played: list[Rollout]) -> str:
    """The page of some rollouts, by who played."""
    everybody = {"oracle": [], **played}
    return page(Report(everybody, score(everybody), {}, [], PLAYERS, METRICS, ""))


def half(name: str) -> Rollout:
    """All calls right, but the world is not: paid in full, and a failure."""
    return replace(play(name, "oracle"), outcome=(), verdict=Verdict(answer=True, ended=True))


def test_the_task_told_is_one_that_only_the_adapter_succeeds_at() -> None:
    before = replace(play("b", "noop"), reward=Reward(total=0.4))
    text = told(base=[play("a", "noop"), before], trained=[half("a"), play("b", "oracle")])
    assert "The base model fails it, and with the shipped adapter it succeeds." in text
    assert "base model: failed (state), paid 0.40 of 1.30" in text
    assert "shipped adapter: succeeded, paid 1.30 of 1.30" in text
    assert "<code>list_accounts, list_payees, pay_payee, set_card_status</code>" in text


def test_where_the_adapter_never_succeeds_the_right_calls_stand_beside_it() -> None:
    right = [play("a", "oracle"), play("b", "oracle")]
    base = [play("a", "noop"), play("b", "noop")]
    text = told(oracle=right, base=base, trained=[play("a", "noop"), half("b")])
    assert "The shipped adapter fails it; the right calls succeed." in text
    assert "No task of these went from failure to success." in text
    assert "shipped adapter: failed (state), paid 1.30 of 1.30" in text
    assert "right calls: succeeded, paid 1.30 of 1.30" in text
    assert "One task, twice" not in told(base=base, trained=[half("a"), half("b")])


def test_a_success_that_is_shown_is_right_in_all_three() -> None:
    cut = replace(play("b", "oracle"), verdict=Verdict(state=True, answer=True))
    base = [play("a", "noop"), play("b", "noop")]
    shown = showcase({"base": base, "trained": [play("a", "oracle"), cut]})
    assert shown is not None
    assert shown.succeeded.example.id == "a"
    assert showcase({"base": base, "trained": [cut]}) is None


def test_the_headline_says_who_was_compared_and_what_came_out() -> None:
    base = [play("a", "noop"), play("b", "noop")]
    text = told(oracle=[play("a", "oracle")], base=base, trained=[play("a", "oracle"), half("b")])
    result = re.search(r'<p class="result">(.*)</p>', text)
    assert result is not None
    assert result[1] == (
        "On 2 held-out tasks the shipped adapter gets a reward of 1.30 and succeeds in 50 % of"
        " them; the base model gets 0.00 and succeeds in 0 %."
    )
    figures = re.search(r'class="player trained">.*?</section>', text, re.DOTALL)
    assert figures is not None
    found = re.findall(r"<dt>(\w+)</dt><dd>([^<]+)</dd>", figures[0])
    assert found[:3] == [("reward", "1.30"), ("success", "50 %"), ("state", "50 %")]
    assert "No model has played yet" in told(oracle=[play("a", "oracle")])


def test_the_page_has_dark_colours() -> None:
    text = told(oracle=[play("a", "oracle")])
    assert "prefers-color-scheme: dark" in text
    rules = text[text.index("</style>") - 9_000 : text.index("</style>")]
    body = [line for line in rules.splitlines() if ":root" not in line]
    assert not re.findall(r"(?:background|color): #\w+", "\n".join(body))


def test_every_part_of_success_that_is_missing_is_named() -> None:
    cut = replace(play("a", "noop"), verdict=Verdict(answer=True))
    text = told(base=[cut], trained=[play("a", "oracle")])
    assert "base model: failed (state and ended)" in text
    for part in ("success", "state", "answer", "ended"):
        assert re.search(rf"<tr><td>{part} <small>", text)


def test_why_the_right_calls_are_paid_less_than_most_is_said() -> None:
    right = [play("a", "oracle")]
    text = told(oracle=right)
    assert "0.5 validity + 0.5 coverage + 0.15 efficiency + 0.2 name + 0.1 argument: 1.3" in text
    assert "on average" not in text
    text = told(oracle=[*right, play_script(idle("b"), SCRIPTS["oracle"])])
    assert "in 1 of these 2 tasks" in text
    assert "the right calls less than 1.3 on average" in text


def test_every_score_has_its_number_of_tasks_and_an_interval_only_where_tasks_differ() -> None:
    examples = (example("a"), example("b"), idle("c"))
    played = {"oracle": [play_script(each, SCRIPTS["oracle"]) for each in examples]}
    report = Report(played, score(played), {}, [], PLAYERS, METRICS, "")
    [name] = report.scores
    counts = {metric: report.tasks(name, metric) for metric in METRICS}
    assert [counts[metric] for metric in ("reward", "coverage", "abstention")] == [3, 2, 1]
    assert counts["clarification"] == 0
    text = page(report)
    cells = dict(re.findall(r"<tr><td>(\w+) .*?</td><td>(\d+)</td>", text))
    assert cells == {metric: str(count) for metric, count in counts.items() if count}
    intervals = re.findall(r"<tr><td>(\w+) (?:(?!</tr>).)*\[", text)
    assert intervals == ["reward", "calls"]


def test_dots_of_grpo_stand_apart_and_no_line_joins_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    for step in (1, 2):
        groups = [
            [play(f"{step}{at}", "oracle")] * 2 + [play(f"{step}{at}", "noop")] for at in "ab"
        ]
        rollouts = [each for group in groups for each in group]
        write(tmp_path / f"step-{step:06}.jsonl", numbered(rollouts))
    drawn: list[Any] = []
    monkeypatch.setattr(pictures, "save_figure", lambda figure, path: drawn.append(figure))
    pictures.draw_lesson(tmp_path, tmp_path / "grpo")
    [axes] = drawn[0].axes
    dots = [each.get_offsets() for each in axes.collections if each.get_label() == "a rollout"]
    assert [len(prompt) for prompt in dots] == [3, 3, 3, 3]
    assert len({x for prompt in dots for x, _ in prompt}) == 12
    assert [label.get_text() for label in axes.get_xticklabels()] == ["step 1", "step 2"]
    bars = [each.get_segments()[0] for each in axes.collections if "mean" in each.get_label()]
    for prompt, (left, right) in zip(dots, bars, strict=True):
        assert left[0] < min(x for x, _ in prompt) < max(x for x, _ in prompt) < right[0]
        assert left[1] == right[1] == pytest.approx(2.6 / 3)
    assert all(one[1][0] < two[0][0] for one, two in pairwise(bars))
    assert all(len(set(line.get_xdata())) == 1 for line in axes.lines)


def test_the_steps_it_points_to_are_those_of_the_results() -> None:
    assert re.search(r"150 steps of GRPO[^|\n]*\(shipped\)", RESULTS.read_text("utf-8"))
