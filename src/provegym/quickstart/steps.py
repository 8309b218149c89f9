"""The quickstart steps without a model: worlds, corpus, verification, held-out tasks."""

from collections import Counter

import msgspec
from rich.progress import Progress

from provegym.corpus.card import card
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.demo import SEED, walk
from provegym.evals.heldout import group, tasks
from provegym.evals.measure import has_gold, measure
from provegym.files import write_atomically
from provegym.play import verify_file
from provegym.players.scripted import SCRIPTS
from provegym.quickstart.folder import Figures, QuickstartFolder
from provegym.quickstart.plan import cores
from provegym.rewards import BEST
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, Rollout, read, write
from provegym.train.data import show

KINDS = {
    "multi_turn": "conversations",
    "clarification": "with a tool missing",
    "abstention": "with nothing to call",
    "irrelevance": "off the subject",
}


def worlds(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Play the demo task of every server."""
    found = walk(SEED)
    told = (
        f"{found['servers']} servers with {found['tools']} tools, a task walked on each:"
        f" {found['calls']} calls, {found['refused']} refused without a trace,"
        f" {found['changed']} records changed"
    )
    return told, dict(found)


def corpus(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Make verified examples; four servers are held out."""
    order = Order(desk.plan.examples, 0, desk.corpus, workers=cores(), split="servers")
    made = Corpus(order)
    funnel = sum(made.make(bar).values(), Counter[str]())
    if missing := made.missing():
        raise BadFile(missing)
    write_atomically(desk.corpus / "README.md", card(desk.corpus, funnel, order))
    kinds = Counter(example.kind for example in read(desk.corpus, Example))
    some = ", ".join(f"{count} {KINDS[kind]}" for kind, count in kinds.most_common())
    kept, all_drawn = sum(kinds.values()), sum(funnel.values())
    told = (
        f"{desk.plan.examples} examples for training and {kept - desk.plan.examples} of held-out"
        f" servers, of {all_drawn} candidates: {some}"
    )
    return told, {"kinds": dict(kinds), "kept": kept, "candidates": all_drawn}


def contract(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Verify every example again, as read from its file."""
    failed, count = verify_file(desk.corpus, bar)
    if failed:
        first = next(iter(failed))
        raise BadFile(f"{len(failed)} of {count} break the contract; {first}: {failed[first][0]}")
    told = (
        f"all {count} keep the contract on their worlds: the right calls are paid {BEST}, doing"
        " nothing 0 (1 where there is nothing to call), and other solutions of the same length"
        " as much as the right calls"
    )
    return told, {"examples": count}


def choose(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Make held-out tasks, and keep the shortest of each group so that a laptop can play."""
    bar.add_task("drawing tasks", total=None)
    found: dict[str, list[Rollout]] = {}
    for example in tasks(desk.corpus, desk.plan.drawn):
        played = play_script(show(example, desk.plan.tools), SCRIPTS["oracle"])
        found.setdefault(group(example), []).append(played)
    best = [each for some in found.values() for each in sorted(some, key=length)[: desk.plan.tasks]]
    examples = [rollout.example for rollout in best]
    write(desk.tasks, examples)
    idle = [play_script(example, SCRIPTS["noop"]) for example in examples]
    least, most = (measure(some)["reward"].mean for some in (idle, best))
    groups = Counter(map(group, examples))
    some = " and ".join(f"{count} on {name}" for name, count in groups.items())
    idle_count = sum(not has_gold(example) for example in examples)
    told = (
        f"{some}, {idle_count} of them with nothing to call; on average doing nothing is paid"
        f" {least:.2f} there and the right calls {most:.2f}"
    )
    return told, {"groups": dict(groups), "noop": least, "oracle": most}


def length(rollout: Rollout) -> int:
    """The length of a task in bytes: tool schemas and messages."""
    shown = msgspec.json.encode(Toolbox.of(rollout.example).openai())
    return len(shown) + len(msgspec.json.encode(rollout.messages))
