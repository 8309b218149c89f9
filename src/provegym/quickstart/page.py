"""The HTML report of a quickstart: the steps, the scores, one task by two models, next commands."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from provegym import __version__
from provegym.evals.measure import PARTS, Estimate, has_gold, measure, success
from provegym.files import write_atomically
from provegym.quickstart.folder import Entry, QuickstartFolder
from provegym.rewards import BEST, WEIGHTS, paid
from provegym.rewards.success import PARTS as SUCCESS
from provegym.rewards.success import verdict_of
from provegym.templates import fill
from provegym.trace import Rollout, label

if TYPE_CHECKING:
    from provegym.quickstart.report import Report

# The most characters of a result or a call that the page shows, and of a reply.
LONG, REPLY = 221, 900
# More calls than these make a conversation long rather than interesting.
ENOUGH_CALLS = 5
# How much more a failure teaches that called something, compared with one more call of the success.
TRIED = 2
# Who is shown beside whom, best first: the second must succeed at a task that the first fails.
CONTRASTS = (("base", "trained"), ("trained", "oracle"), ("base", "oracle"), ("noop", "oracle"))


class Headline(NamedTuple):
    """What was compared and what came out: a sentence, and the means of each player."""

    told: str
    players: Mapping[str, Mapping[str, Estimate]]


class Showcase(NamedTuple):
    """One task twice: who failed at it, who succeeded, and their rollouts."""

    left: str
    right: str
    failed: Rollout
    succeeded: Rollout


def write_page(desk: QuickstartFolder, report: "Report") -> None:
    """Write the report as one HTML file; its pictures are inside."""
    plots = {name: desk.folder / "plots" / f"{name}.svg" for name in report.pictures}
    images = {name: b64encode(plot.read_bytes()).decode() for name, plot in plots.items()}
    done = [(name, entry) for name, entry in desk.entries.items() if entry.done]
    write_atomically(desk.folder / "report.html", page(report, done, images))


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
        headline=headline(report),
        parts=("reward", "success", *SUCCESS),
        pair=showcase(report.played),
        shown=LONG,
        reply=REPLY,
        missed=missed,
        paid=paid,
        has_gold=has_gold,
        label=label,
    )


def missed(rollout: Rollout) -> str:
    """The parts of success that a rollout lacks; nothing if it succeeded."""
    verdict = verdict_of(rollout)
    return " and ".join(part for part in SUCCESS if not getattr(verdict, part))


def headline(report: "Report") -> Headline:
    """The result in a sentence, over the tasks of all groups together."""
    players = {name: measure(some) for name, some in report.played.items() if some}
    tasks = max((len(some) for some in report.played.values()), default=0)

    def scored(name: str) -> str:
        found = players[name]
        return f"{found['reward'].mean:.2f} and succeeds in {100 * found['success'].mean:.0f} %"

    if "trained" in players and "base" in players:
        told = (
            f"On {tasks} held-out tasks the {report.names['trained']} gets a reward of"
            f" {scored('trained')} of them; the {report.names['base']} gets {scored('base')}."
        )
    else:
        told = (
            "No model has played yet: these are the scores of scripts, between which a model will"
            " be."
        )
    return Headline(told, players)


def showcase(played: Mapping[str, Sequence[Rollout]]) -> Showcase | None:
    """The task that shows a success best: beside it stands a rollout of the same task that failed.

    Only a rollout whose state, answer and end are right is shown as a success.
    """
    for left, right in CONTRASTS:
        first = {each.example.id: each for each in played.get(left, ())}
        pairs = [
            Showcase(left, right, first[each.example.id], each)
            for each in played.get(right, ())
            if each.example.id in first
        ]
        found = [each for each in pairs if success(each.failed) < success(each.succeeded)]
        if found:
            return max(found, key=_interest)
    return None


def _interest(shown: Showcase) -> tuple[int, float]:
    """Sort key: several calls but no long row of them, more if the failure tried; then the gain."""
    calls = len(shown.succeeded.calls)
    gain = paid(shown.succeeded) - paid(shown.failed)
    return (calls if calls <= ENOUGH_CALLS else 1) + TRIED * bool(shown.failed.calls), gain
