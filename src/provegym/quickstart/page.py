"""The page of a quickstart: what was done, the scores, a task told twice, and where to go on."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from provegym import __version__
from provegym.evals.measure import PARTS, Estimate, has_gold, reward, success
from provegym.quickstart.folder import Desk
from provegym.rewards import WEIGHTS
from provegym.trace import Json, Rollout
from provegym.verify.proofs import BEST

if TYPE_CHECKING:
    from provegym.quickstart.report import Report

LONG = 220


def write_page(desk: Desk, report: "Report") -> None:
    """Write the page: one file that can be sent, with its pictures in it."""
    text = files("provegym.quickstart").joinpath("page.html").read_text("utf-8")
    tables = "".join(table(name, report) for name in report.scores)
    parts = {
        "version": escape(__version__),
        "steps": steps(desk),
        "paid": paid(report.played["oracle"]),
        "scores": picture(desk, report, "scores") + tables,
        "task": task(report.played),
        "grpo": grpo(desk, report),
        "next": "".join(
            f"<p>{escape(what)}<code>{escape(cmd)}</code></p>" for cmd, what in report.next
        ),
    }
    (desk.folder / "report.html").write_text(Template(text).substitute(parts), "utf-8")


def steps(desk: Desk) -> str:
    """A row per step that is done."""
    done = [(name, entry) for name, entry in desk.entries.items() if entry.done]
    return rows(
        (f"<b>{escape(name)}</b>", escape(entry.told), f"{entry.seconds:.0f} s")
        for name, entry in done
    )


def paid(right: Sequence[Rollout]) -> str:
    """What the reward is made of, and why the right calls are paid less than most on average."""
    formula = " + ".join(f"{WEIGHTS[part]:g} {part}" for part in PARTS)
    idle = sum(not has_gold(rollout.example) for rollout in right)
    told = (
        f"The reward is {formula}: {BEST} for the right calls, 0 for none. Where there is nothing"
        " to call, it is 1 for no call and 0 for any."
    )
    if not idle:
        return told
    return (
        f"{told} That is so in {idle} of these {len(right)} tasks: hence doing nothing is paid"
        f" something here, and the right calls less than {BEST} on average."
    )


def table(name: str, report: "Report") -> str:
    """The scores of a group, with intervals."""
    players = report.scores[name]
    head = "".join(f"<th>{escape(report.names[player])}</th>" for player in players)
    body = rows(
        (
            f"{metric} <small>{escape(told)}</small>",
            str(count),
            *(shown(found.get(metric)) for found in players.values()),
        )
        for metric, told in report.metrics.items()
        if (count := report.tasks(name, metric))
    )
    title = f"<h3>{escape(name)}, {report.tasks(name, 'reward')} tasks</h3>"
    row = f"<tr><th></th><th>n</th>{head}</tr>"
    return f'{title}<div class="wide"><table class="scores">{row}{body}</table></div>'


def shown(value: Estimate | None) -> str:
    """A mean and its interval; where all tasks are alike, drawing anew gives none."""
    if value is None:
        return ""
    mean = f'<span class="mean">{value.mean:.2f}</span>'
    if value.low == value.high:
        return mean
    return f"{mean} <small>[{value.low:.2f}, {value.high:.2f}]</small>"


def picture(desk: Desk, report: "Report", name: str) -> str:
    """A picture, if it was drawn, and what it shows."""
    if name not in report.pictures:
        return ""
    told = escape(report.pictures[name])
    data = b64encode((desk.folder / "plots" / f"{name}.svg").read_bytes()).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{told}">'
    return f'<figure><div class="wide">{image}</div><figcaption>{told}</figcaption></figure>'


def grpo(desk: Desk, report: "Report") -> str:
    """The steps of GRPO, and what can be said of them."""
    if not report.lesson:
        return ""
    drawn = picture(desk, report, "grpo")
    return f"<h2>Steps of GRPO</h2><p>{escape(report.lesson)}</p>{drawn}"


def task(played: Mapping[str, Sequence[Rollout]]) -> str:
    """The task on which training helped most, as both models went about it."""
    first = {each.example.id: each for each in played.get("base", ())}
    pairs = [(first[each.example.id], each) for each in played.get("trained", ())]
    if not pairs:
        return ""
    before, after = max(pairs, key=gain)
    told = "The base model fails it, and with the shipped adapter it succeeds."
    if not success(before) < success(after):
        told = "No task went from failure to success; this is the one whose reward rose most."
    right = ", ".join(step.tool for step in after.example.paths[0].steps) or "none"
    columns = "".join(
        f"<div><h3>{name}: {verdict(rollout)}</h3>{chat(rollout)}</div>"
        for name, rollout in (("base model", before), ("shipped adapter", after))
    )
    return (
        f"<h2>One task, twice</h2><p>{told} Steps on the way are paid; a task succeeds only if, in"
        " the end, the world is as it should be, every question was looked up, and what the user"
        f" left out was asked for. The right calls here: <code>{escape(right)}</code>.</p>"
        f'<div class="twice">{columns}</div>'
    )


def gain(pair: tuple[Rollout, Rollout]) -> tuple[bool, float, int]:
    """Whether the second alone succeeded, how much more it was paid, and how many calls it made."""
    before, after = pair
    return success(before) < success(after), reward(after) - reward(before), len(after.calls)


def verdict(rollout: Rollout) -> str:
    """Whether it succeeded, and what it was paid of what there is."""
    most = BEST if has_gold(rollout.example) else 1.0
    said = "succeeded" if success(rollout) else "failed"
    return f"{said}, paid {reward(rollout):.2f} of {most:.2f}"


def chat(rollout: Rollout) -> str:
    """A conversation, and what it changed in the world."""
    said = "".join(line for message in rollout.messages[1:] for line in lines(message))
    world = ", ".join(f"{each.table} {each.key}" for each in rollout.outcome) or "nothing"
    return f'{said}<p class="world">{escape(world)}</p>'


def lines(message: Json) -> Iterable[str]:
    """A message: what was said, and each call."""
    role = message["role"]
    if text := message.get("content"):
        yield f'<p class="{role}">{escape(short(text))}</p>'
    for call in message.get("tool_calls") or ():
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        yield f'<p class="call">{escape(short(f"{name} {arguments}"))}</p>'


def short(text: str) -> str:
    """As much of a text as fits the page."""
    return text if len(text) <= LONG else f"{text[:LONG]}…"


def rows(cells: Iterable[Sequence[str]]) -> str:
    """Rows of a table."""
    return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
