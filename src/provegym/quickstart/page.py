"""The page of a quickstart: what was done, the scores, a task told twice, and where to go on."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from provegym import __version__
from provegym.evals.measure import Estimate, reward
from provegym.quickstart.desk import Desk
from provegym.trace import Json, Rollout

if TYPE_CHECKING:
    from provegym.quickstart.report import Report

LONG = 220


def write_page(desk: Desk, report: "Report") -> None:
    """Write the page; it refers to the pictures beside it and to nothing elsewhere."""
    text = files("provegym.quickstart").joinpath("page.html").read_text("utf-8")
    parts = {
        "version": escape(__version__),
        "steps": steps(desk),
        "scores": "".join(table(name, found, report) for name, found in report.scores.items()),
        "pictures": "".join(picture(name, told) for name, told in report.pictures.items()),
        "task": task(report.played),
        "next": rows((f"<code>{escape(cmd)}</code>", escape(what)) for cmd, what in report.next),
    }
    (desk.folder / "report.html").write_text(Template(text).substitute(parts), "utf-8")


def steps(desk: Desk) -> str:
    """A row per step that is done."""
    done = [(name, entry) for name, entry in desk.entries.items() if entry.done]
    return rows(
        (f"<b>{escape(name)}</b>", escape(entry.told), f"{entry.seconds:.0f} s")
        for name, entry in done
    )


def table(name: str, players: Mapping[str, Mapping[str, Estimate]], report: "Report") -> str:
    """The scores of a group, with intervals."""
    count = next(iter(players.values()))["reward"].tasks
    head = "".join(f"<th>{escape(report.names[player])}</th>" for player in players)
    body = rows(
        (metric, *(shown(found.get(metric)) for found in players.values()))
        for metric in report.metrics
        if any(metric in found for found in players.values())
    )
    title = f"<h3>{escape(name)}, {count} tasks</h3>"
    return f'{title}<table class="scores"><tr><th></th>{head}</tr>{body}</table>'


def shown(value: Estimate | None) -> str:
    """A mean and its interval."""
    if value is None:
        return ""
    return f"{value.mean:.2f} <small>[{value.low:.2f}, {value.high:.2f}]</small>"


def picture(name: str, told: str) -> str:
    """A picture and what it shows."""
    image = f'<img src="plots/{name}.svg" alt="{escape(told)}">'
    return f"<figure>{image}<figcaption>{escape(told)}</figcaption></figure>"


def task(played: Mapping[str, Sequence[Rollout]]) -> str:
    """The task on which training helped most, as both models went about it."""
    first = {each.example.id: each for each in played.get("base", ())}
    pairs = [(first[each.example.id], each) for each in played.get("trained", ())]
    if not pairs:
        return ""
    before, after = max(pairs, key=gain)
    columns = (("base model", before), ("shipped adapter", after))
    told = "".join(
        f"<div><h3>{name}: paid {reward(rollout):.2f}</h3>{chat(rollout)}</div>"
        for name, rollout in columns
    )
    return f'<h2>One task, twice</h2><div class="twice">{told}</div>'


def gain(pair: tuple[Rollout, Rollout]) -> tuple[float, int]:
    """How much better the second went; of equals, the one with more calls."""
    return reward(pair[1]) - reward(pair[0]), len(pair[1].calls)


def chat(rollout: Rollout) -> str:
    """A conversation, and what it changed in the world."""
    said = "".join(line for message in rollout.messages[1:] for line in lines(message))
    changed = [f"{each.table} {each.key}" for each in rollout.outcome]
    world = ", ".join(changed) if changed else "nothing"
    return f'{said}<p class="world">changed in the world: {escape(world)}</p>'


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
