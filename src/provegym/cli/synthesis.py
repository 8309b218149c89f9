"""The command `synth`: makes a corpus of verified examples."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from provegym.cli.base import (
    Ray,
    RayCommand,
    app,
    check_folder,
    fail,
    hands,
    load,
    option_groups,
    progress_bar,
    say_next,
    stoppable,
    tell,
)
from provegym.cli.endpoints import EndpointLimits
from provegym.cli.graphs import Refresh, Theirs, forget_graph
from provegym.cli.own import contract
from provegym.cli.plain_words import DROPPED, counted
from provegym.kernel.errors import suggest
from provegym.terminal import say

if TYPE_CHECKING:
    from provegym.corpus.corpus import Corpus
    from provegym.corpus.order import Order
    from provegym.hosts.foreign import ForeignServer
    from provegym.teacher.lessons import Lessons

# Too few examples came from them: so many servers are checked for what they lack.
MOST_CHECKED = 3


@dataclass(frozen=True)
class Variety:
    """Options: more than the twenty servers as they are."""

    aliases: Annotated[
        float,
        typer.Option(help="The share of examples whose tools have other names.", min=0, max=1),
    ] = 0.0
    worlds: Annotated[
        Path | None,
        typer.Option(
            help="Also make examples on the worlds of this folder that passed `worlds admit`."
        ),
    ] = None
    worlds_share: Annotated[
        float, typer.Option(help="The share of examples on --worlds.", min=0, max=1)
    ] = 0.5


@dataclass(frozen=True)
class TeacherOptions(EndpointLimits):
    """Options: a model that words the conversations."""

    teacher: Annotated[
        str, typer.Option(help="The URL of an endpoint: its model words the conversations.")
    ] = ""
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default"
    rephrase: Annotated[bool, typer.Option(help="The model only rephrases what users say.")] = False

    def lessons(self, out: Path) -> "Lessons | None":
        """What the teacher has to word; None without a teacher."""
        from provegym.teacher.lessons import Lessons

        if self.rephrase and not self.teacher:
            fail("--rephrase needs a --teacher")
        if self.given_limits and not self.teacher:
            fail(f"{' and '.join(self.given_limits)}: limits for a --teacher; name one")
        if not self.teacher:
            return None
        return Lessons(out, self.teacher, self.model, self.rephrase, reply_limits=self.reply_limits)


@app.command("synth", cls=RayCommand)
@option_groups
def synthesise(
    *,
    size: Annotated[int, typer.Option(help="How many examples.", min=1)],
    out: Annotated[
        Path, typer.Option(help="The folder of the corpus; an unfinished one is continued.")
    ],
    seed: Annotated[int, typer.Option(help="Another number gives another corpus.", min=0)] = 0,
    names: Annotated[
        str, typer.Option("--servers", help="Servers, with commas; all of ours if left out.")
    ] = "",
    workers: Annotated[int, typer.Option(help="How many processes work.", min=1)] = 2,
    mix: Annotated[
        str, typer.Option(help="paper: also questions back and refusals; or multi_turn.")
    ] = "paper",
    split: Annotated[str, typer.Option(help="servers: keep four apart, for evaluation.")] = "",
    wording: TeacherOptions,
    ray: Ray = None,
    variety: Variety,
    refresh: Refresh = False,
    theirs: Theirs,
) -> None:
    """Make verified examples from live worlds, offline; the same seed gives the same files."""
    from provegym.corpus.corpus import Corpus
    from provegym.corpus.order import MIXES, Order
    from provegym.teacher.lessons import PLANS

    check_folder(out)
    if mix not in MIXES:
        fail(f"no mix {mix!r}; {suggest(mix, list(MIXES))}")
    if split not in ("", "servers"):
        fail(f"no split {split!r}; leave it out, or say --split servers")
    if variety.aliases and (wording.teacher or theirs.mcp):
        fail("--aliases is for offline examples of our servers: leave --teacher and --mcp out")
    _check_theirs(theirs, ray, refresh, bool(names or split or variety.worlds))
    lessons = wording.lessons(out)
    folder = out / PLANS if lessons else out
    if not theirs.mcp:
        chosen = tuple(load(name).name for name in names.split(",")) if names else ()
        order = Order(size, seed, folder, chosen, workers, mix, split, **vars(variety))
        _make(Corpus(order), out, lessons, ray)
        return
    begun = monotonic()
    with theirs.connected() as server:
        if refresh:
            forget_graph(server)
        foreign = _foreign_corpus(theirs, server, Order(size, seed, folder, mix=mix), begun)
        _make(foreign, out, lessons, again=theirs.again)


def _check_theirs(theirs: Theirs, ray: str | None, refresh: bool, ours: bool) -> None:
    """Refuse options that do not go together; `ours` if some are for our servers alone."""
    if theirs.mcp and ours:
        fail("somebody's server makes a corpus of its own: leave --servers, --split, --worlds out")
    if theirs.mcp and ray is not None:
        fail("somebody's server is connected to this machine alone: leave --ray out")
    if refresh and not theirs.mcp:
        fail("--refresh is for somebody's server: give --mcp, or leave it out")


def _foreign_corpus(
    theirs: Theirs, server: "ForeignServer", order: "Order", begun: float
) -> "Corpus":
    """The synthesis on a foreign server; says how long it may take."""
    from provegym.corpus.foreign import ForeignCorpus, ForeignOrder, expected

    tell(expected(server, order.size, monotonic() - begun))
    whose = {**asdict(theirs), "reads": theirs.reading}
    asked = (order.size, order.seed, order.out, (server.name,))
    return ForeignCorpus(ForeignOrder(*asked, mix=order.mix, **whose), server)


def _make(
    corpus: "Corpus",
    out: Path,
    lessons: "Lessons | None",
    ray: str | None = None,
    again: tuple[str, ...] = (),
) -> None:
    """Make a corpus, let the teacher reword it if there is one, and write its card.

    `again` are the options that the next command needs too.
    """
    from provegym.corpus.card import card
    from provegym.corpus.corpus import PRELOAD
    from provegym.files import write_atomically

    with stoppable():
        with hands(ray, corpus.order.workers, PRELOAD) as workers, progress_bar() as bar:
            funnel = corpus.make(bar, workers)
        if lessons:
            _teach(lessons)
    for part, counts in funnel.items():
        say(f"{part}: {_summary(counts)}")
    total = sum(funnel.values(), Counter[str]())
    write_atomically(out / "README.md", card(out, total, corpus.order))
    if missing := corpus.missing():
        _say_lacks(corpus.short())
        fail(missing)
    say_next("samples", out, "--count", 3, *again)


def _say_lacks(names: list[str]) -> None:
    """Say which rules of the contract the first servers break from which too few examples came."""
    for name in names[:MOST_CHECKED]:
        server = load(name)
        broken = [] if server.foreign else [each for each in contract(server) if not each.holds]
        for rule in broken:
            tell(f"{name} lacks something: {rule}")
        if broken:
            tell(f"`provegym check-server {name}` checks it again")


def _summary(counts: Counter[str]) -> str:
    """How many examples were written, and why the other candidates were dropped."""
    from provegym.corpus.card import KEPT

    dropped = {why: count for why, count in counts.items() if why != KEPT}
    told = f"{counts[KEPT]} examples written, of {counts.total()} candidates."
    if not dropped:
        return told
    return "\n".join([f"{told} The others were dropped because", *counted(dropped, DROPPED)])


def _teach(lessons: "Lessons") -> None:
    import asyncio

    from provegym.teacher.lessons import Classroom

    with progress_bar() as bar:
        classroom = Classroom(lessons, bar)
        counts = asyncio.run(classroom.hold())
    say("lessons: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    for why, count in classroom.teacher.refused.most_common():
        say(f"refused {count} times: {why}")
