"""The short quickstart's steps without a model: a story, sixty examples, and tasks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from time import sleep
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import Progress

from provegym import demo
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.corpus.samples import given, shortened
from provegym.corpus.transcript import transcript
from provegym.evals.heldout import drawn
from provegym.play import verify_file
from provegym.players.scripted import SCRIPTS
from provegym.quickstart.folder import Figures, QuickstartFolder
from provegym.quickstart.plan import cores
from provegym.quickstart.steps import KINDS, length
from provegym.rewards import BEST
from provegym.rollout import play_script
from provegym.trace import BadFile, Example, read, write
from provegym.train.data import show
from provegym.verify.first_turn import first_turn

# Seconds between the lines of the story, in a terminal.
PAUSE = 0.25
# The most characters of a result, and of a reply.
RESULT, REPLY = 160, 320


def story(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Play the demo of the server, call by call."""
    bar.stop()
    name = desk.plan.short.server
    wait = _wait if desk.console.is_terminal else None
    found = demo.tell(desk.console, name, demo.SEED, wait)
    desk.console.print()
    told = (
        f"{found['calls']} calls on a live world of {name}, {found['refused']} refused,"
        f" {found['changed']} records changed"
    )
    return told, dict(found)


def _wait() -> None:
    sleep(PAUSE)


def examples(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Make verified examples on one server, verify them again, and show one as a chat."""
    short = desk.plan.short
    order = Order(short.examples, 0, desk.corpus, (short.server,), workers=cores())
    made = Corpus(order)
    funnel = sum(made.make(bar).values(), Counter[str]())
    if missing := made.missing():
        raise BadFile(missing)
    failed, count = verify_file(desk.corpus, bar)
    if failed:
        first = next(iter(failed))
        raise BadFile(f"{len(failed)} of {count} break the contract; {first}: {failed[first][0]}")
    bar.stop()
    kept = list(read(desk.corpus, Example))
    chosen = readable(kept)
    desk.console.print(f"\n  [bold]one of {count} examples[/bold], {chosen.id}")
    chat(desk.console, chosen)
    kinds = Counter(example.kind for example in kept)
    some = ", ".join(f"{number} {KINDS[kind]}" for kind, number in kinds.most_common())
    told = (
        f"{count} examples on {short.server} from {sum(funnel.values())} candidates: {some}. Each"
        f" was verified on its world: the right calls are paid {BEST}, or 1 where there is nothing"
        " to call"
    )
    return told, {"kinds": dict(kinds), "examples": count, "shown": chosen.id}


def readable(examples: Sequence[Example]) -> Example:
    """The shortest example of several turns that all have a call; if there is none, the shortest.

    Its length is that of the conversation in characters.
    """

    def size(example: Example) -> tuple[bool, int]:
        called = {step.turn for path in example.paths for step in path.steps}
        several = len(example.turns) > 1 and len(called) == len(example.turns)
        return not several, sum(len(str(message)) for message in transcript(example).messages)

    return min(examples, key=size)


def chat(console: Console, example: Example) -> None:
    """Print an example as a chat: what the user says, the right calls, and a right reply."""
    console.print()
    for message in transcript(example).messages[1:]:
        for line in said(message):
            console.print(Padding(line, (0, 0, 0, 4)), highlight=False)
    console.print()


def said(message: Any) -> Iterator[str]:
    """A message in lines of rich markup; long ones are cut."""
    role, content = message["role"], " ".join((message.get("content") or "").split())
    if role == "tool":
        yield f"  [dim]{escape(cut(shortened(content), RESULT))}[/dim]"
    elif content:
        colour = "cyan" if role == "user" else "green"
        yield f"[bold {colour}]{role}[/bold {colour}]  {escape(cut(content, REPLY))}"
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield f"[bold]→[/bold] {escape(function['name'])}({escape(given(function['arguments']))})"


def cut(text: str, most: int) -> str:
    """The text, with a sign where it was cut."""
    return text if len(text) <= most else f"{text[:most]}…"


def choose(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Choose the tasks that models play, from unseen worlds, and those that GRPO learns from."""
    short = desk.plan.short
    bar.add_task("drawing tasks on worlds that training never saw", total=None)
    found = first_turns(drawn((short.server,), short.drawn), short.tools)
    lessons = [each for each in first_turns(read(desk.corpus, Example), 1) if is_one_call(each)]
    if not found or not lessons:
        raise BadFile(f"no task with one user turn was found on {short.server}")
    tasks, chosen = found[: short.tasks], lessons[: short.lessons]
    write(desk.tasks, tasks)
    write(desk.lessons, chosen)
    told = (
        f"the {len(tasks)} shortest of {len(found)} requests on worlds that training never saw,"
        f" {short.tools} tools shown; and for GRPO the {len(chosen)} shortest of {len(lessons)}"
        f" requests of one call among the {short.examples} examples, with their tool alone"
    )
    return told, {"tasks": len(tasks), "lessons": len(chosen)}


def first_turns(examples: Sequence[Example] | Iterator[Example], tools: int) -> list[Example]:
    """The first turns that are tasks of their own, verified, with few tools; the shortest first."""
    cut = (first for example in examples if (first := first_turn(example)) is not None)
    shown = [show(example, tools) for example in cut]
    return sorted(shown, key=lambda each: length(play_script(each, SCRIPTS["oracle"])))


def is_one_call(example: Example) -> bool:
    """Whether one call is all that the task needs."""
    return all(len(path.steps) == 1 for path in example.paths)
