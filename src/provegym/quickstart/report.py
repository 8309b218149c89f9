"""The results of a quickstart: scores of every player, plots, and the HTML report."""

from collections.abc import Mapping
from dataclasses import dataclass

from provegym.evals.heldout import group
from provegym.evals.measure import Estimate, measure
from provegym.models.optional import NotInstalled
from provegym.players.scripted import SCRIPTS
from provegym.quickstart.curve import draw_curve
from provegym.quickstart.folder import QuickstartFolder
from provegym.quickstart.page import write_page
from provegym.quickstart.pictures import draw_lesson, draw_scores
from provegym.rollout import play_script
from provegym.trace import Example, Rollout, read

PLAYERS = {
    "noop": "does nothing",
    "base": "base model",
    "trained": "shipped adapter",
    "oracle": "right calls",
}
METRICS = {
    "reward": "what is paid",
    "success": "all three of the next",
    "state": "the world is right, answers were looked up",
    "answer": "replies say what was asked (if anything), claim nothing false",
    "ended": "the conversation came to its end",
    "validity": "calls that exist, fit and run",
    "coverage": "right steps, in order",
    "efficiency": "minus calls beyond a budget",
    "name": "calls of right tools",
    "argument": "right values in right calls",
    "calls": "per task",
    "abstention": "no call where none is right",
    "clarification": "no call where the tool is hidden",
}
PICTURES = {
    "scores": "What each player scores on the held-out tasks, with 95 % intervals.",
    "grpo": "A column is a prompt, a dot one of its rollouts. Where a prompt's dots are all level,"
    " there is nothing to learn from: GRPO compares rollouts of the same prompt.",
    "curve": "The mean reward of each step in this run, on the same tasks at every step.",
}
TASKS = (
    "On servers that training never saw, and on new worlds of those it did. These are the shortest"
    " that were drawn, so that a laptop gets through them"
)
SHORT_TASKS = (
    "Requests of one turn on worlds that training never saw, of one server that it did see. These"
    " are the shortest that were drawn: too few and too easy to measure a model. docs/results.md"
    " has the scores on 400 tasks of all kinds, which are far lower"
)

Scores = dict[str, dict[str, Mapping[str, Estimate]]]


@dataclass
class Report:
    """All that the HTML report shows."""

    played: dict[str, list[Rollout]]
    scores: Scores
    pictures: dict[str, str]
    next: list[tuple[str, str]]
    names: Mapping[str, str]
    metrics: Mapping[str, str]
    lesson: str
    about: str = TASKS

    def tasks(self, group: str, metric: str) -> int:
        """The number of tasks of a group that a metric applies to."""
        found = [player[metric].tasks for player in self.scores[group].values() if metric in player]
        return max(found, default=0)


def make_report(desk: QuickstartFolder) -> Report:
    """Score the rollouts, draw the plots and write the HTML report."""
    played = rollouts(desk)
    scores = score(played)
    drawn = {name: PICTURES[name] for name in pictures(desk, scores)}
    report = Report(played, scores, drawn, where_next(desk), PLAYERS, METRICS, lesson(desk))
    write_page(desk, report)
    return report


def rollouts(desk: QuickstartFolder) -> dict[str, list[Rollout]]:
    """The rollouts of each player: scripts play now, models only if their step is done."""
    examples = list(read(desk.tasks, Example))
    played = {}
    for name in PLAYERS:
        if name in SCRIPTS:
            played[name] = [play_script(example, SCRIPTS[name]) for example in examples]
        elif desk.figures(name) or desk.figures("models"):
            played[name] = list(read(desk.rollouts(name), Rollout))
    return played


def make_short_report(desk: QuickstartFolder) -> Report:
    """Write the HTML report of the short job, with the curve of its GRPO run."""
    played, drawn = rollouts(desk), {}
    if found := desk.figures("grpo"):
        draw_curve([past["reward"] for past in found["history"]], desk.folder / "plots/curve.svg")
        drawn["curve"] = PICTURES["curve"]
    told, commands = short_lesson(desk), short_next(desk)
    report = Report(played, score(played), drawn, commands, PLAYERS, METRICS, told, SHORT_TASKS)
    write_page(desk, report)
    return report


def score(played: Mapping[str, list[Rollout]]) -> Scores:
    """Every metric of every player, group by group."""
    names = dict.fromkeys(group(each.example) for some in played.values() for each in some)
    return {
        name: {
            player: measure([each for each in some if group(each.example) == name])
            for player, some in played.items()
        }
        for name in names
    }


def pictures(desk: QuickstartFolder, scores: Scores) -> list[str]:
    """Draw the plots and return their names; none if matplotlib is not installed."""
    folder, drawn = desk.folder / "plots", []
    try:
        draw_scores(scores, PLAYERS, folder / "scores")
        drawn.append("scores")
        if desk.figures("grpo"):
            draw_lesson(desk.run / "rollouts", folder / "grpo")
            drawn.append("grpo")
    except NotInstalled:
        return []
    return drawn


def lesson(desk: QuickstartFolder) -> str:
    """A sentence that says that so few GRPO steps show nothing, and where results are."""
    if not (found := desk.figures("grpo")):
        return ""
    return (
        f"{len(found['history'])} steps, each on new prompts, are too few to measure what they"
        " changed. The shipped adapter comes from 150 larger ones: what those changed, on 400"
        " held-out tasks, is in docs/results.md."
    )


def where_next(desk: QuickstartFolder) -> list[tuple[str, str]]:
    """Commands to go on with, and what each is for."""
    found = [
        ("provegym demo maps", "a task on one server, call by call"),
        (f"provegym samples {desk.corpus} --count 5", "some examples as chats"),
    ]
    if desk.figures("grpo"):
        model = f"--model embedded --adapter {desk.run / 'adapter'}"
        found += [
            (f"provegym score {desk.run / 'rollouts'} --explain", "what each call was paid"),
            (f"provegym eval heldout {model} --count 16", "how good it is now"),
        ]
    return [*found, ("provegym train embedded --dry-run", "the whole run, on a GPU")]


def short_lesson(desk: QuickstartFolder) -> str:
    """What the GRPO run of the short job was, and whether its reward rose."""
    if not (found := desk.figures("grpo")):
        return ""
    first, last = found["first"], found["last"]
    rose = "rose" if last > first else "did not rise in this run"
    return (
        f"The mean reward {rose}: {first:.2f} in the first third of {len(found['history'])} steps,"
        f" {last:.2f} in the last. The run starts from the shipped adapter with its weights times"
        f" {desk.plan.short.strength:g}, a model between the base and the trained one. It practises"
        " the same few requests at every step, one call each, so this says nothing about other"
        " tasks. What 150 larger steps changed, on 400 held-out tasks, is in docs/results.md."
    )


def short_next(desk: QuickstartFolder) -> list[tuple[str, str]]:
    """Commands to go on with after the short job."""
    found = [("provegym demo maps", "a task on another server, call by call")]
    if desk.figures("models"):
        files = f"{desk.rollouts('base')} {desk.rollouts('trained')} {desk.folder}"
        found.insert(0, (f"provegym view {files}", "compare both models in a browser"))
        found.append(("provegym quickstart --full", "all servers, 300 examples, ten minutes"))
    return [*found, ("provegym train embedded --dry-run", "the whole run, on a GPU")]
