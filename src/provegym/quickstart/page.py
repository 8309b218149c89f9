"""The HTML report of a quickstart: the steps, the scores, one task by two models, next commands."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from provegym import __version__
from provegym.evals.measure import PARTS, has_gold, success
from provegym.quickstart.folder import Entry, QuickstartFolder
from provegym.rewards import BEST, WEIGHTS, paid
from provegym.rewards.success import PARTS as SUCCESS
from provegym.rewards.success import verdict_of
from provegym.templates import fill
from provegym.trace import Rollout

if TYPE_CHECKING:
    from provegym.quickstart.report import Report

# The most characters of a message that the page shows.
LONG = 221


def write_page(desk: QuickstartFolder, report: "Report") -> None:
    """Write the report as one HTML file; its pictures are inside."""
    plots = {name: desk.folder / "plots" / f"{name}.svg" for name in report.pictures}
    images = {name: b64encode(plot.read_bytes()).decode() for name, plot in plots.items()}
    done = [(name, entry) for name, entry in desk.entries.items() if entry.done]
    (desk.folder / "report.html").write_text(page(report, done, images), "utf-8")


def page(
    report: "Report",
    done: Sequence[tuple[str, Entry]] = (),
    images: Mapping[str, str] | None = None,
) -> str:
    """The HTML of a report; `images` are pictures in base64, by name."""
    right = report.played["oracle"]
    return fill(
        "quickstart/page.html.jinja",
        version=__version__,
        report=report,
        done=done,
        images=images or {},
        formula=" + ".join(f"{WEIGHTS[part]:g} {part}" for part in PARTS),
        best=BEST,
        idle=sum(not has_gold(rollout.example) for rollout in right),
        tasks=len(right),
        pair=most_helped(report.played),
        shown=LONG,
        success=success,
        missed=missed,
        paid=paid,
        has_gold=has_gold,
    )


def missed(rollout: Rollout) -> str:
    """The parts of success that a rollout lacks; nothing if it succeeded."""
    verdict = verdict_of(rollout)
    return " and ".join(part for part in SUCCESS if not getattr(verdict, part))


def most_helped(played: Mapping[str, Sequence[Rollout]]) -> tuple[Rollout, Rollout] | None:
    """The rollouts of base and trained model on the task that training helped most."""
    first = {each.example.id: each for each in played.get("base", ())}
    pairs = [(first[each.example.id], each) for each in played.get("trained", ())]
    return max(pairs, key=gain, default=None)


def gain(pair: tuple[Rollout, Rollout]) -> tuple[bool, float, int]:
    """Sort key of a pair: only the second succeeded, gain in reward, calls of the second."""
    before, after = pair
    return success(before) < success(after), paid(after) - paid(before), len(after.calls)
