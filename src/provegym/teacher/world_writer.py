"""A model writes worlds: it proposes a spec, sees why it was refused, and tries again.

A spec is data and is never run as code. What a model wrote is admitted by the same proofs as any
other world, in a process of its own with a time limit. Each admitted world is written at once.
"""

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace as put

from provegym import servers
from provegym.admission.admit import NotAdmitted
from provegym.admission.alike import NEAR_COPY, Copies, traits
from provegym.admission.alone import admit_alone
from provegym.files import locked
from provegym.models.endpoint import Endpoint, EndpointConfig, EndpointError
from provegym.rollout import in_order
from provegym.teacher.lessons import TEMPERATURE
from provegym.teacher.teacher import LLM, NO_ANSWER
from provegym.teacher.world_prompt import opening, refusing
from provegym.toolbox import all_tools
from provegym.trace import Json, Reply
from provegym.worlds.files import new_file, read_world, world_files, write_world
from provegym.worlds.plain import MAX_BYTES
from provegym.worlds.spec import SpecError, WorldSpec, parse

MAX_TOKENS = 16_384
# For a reply with all its tries; a spec is long.
SECONDS = 600.0
FENCES = ("```", "~~~")
NO_SPEC = "the reply holds no spec"
WRONG = "the spec is wrong"
# Characters of a sentence about a spec that are kept; it may quote the spec.
LONGEST_DETAIL = 400


@dataclass(frozen=True)
class WorldsOrder:
    """The options: what the worlds are about, how many, whose, and where they are written."""

    out: Path
    url: str
    model: str
    about: str
    count: int = 1
    tries: int = 4
    concurrency: int = 1
    deadline: float | None = None
    max_bytes: int | None = None


class RefusedSpec(NamedTuple):
    """Why a spec of a model was refused: the kind of reason, and a sentence."""

    reason: str
    detail: str


class WrittenWorld(NamedTuple):
    """What became of one commission: the file of the world, or None, and every refusal."""

    file: Path | None
    refused: tuple[RefusedSpec, ...]


class WorldWriter:
    """Lets a model write worlds into a folder. `tell` is called with each refusal."""

    def __init__(self, order: WorldsOrder, tell: Callable[[RefusedSpec], None]) -> None:
        self.order, self.tell = order, tell
        seconds = order.deadline or SECONDS
        config = EndpointConfig(
            url=order.url,
            model=order.model,
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
            timeout=seconds,
            deadline=seconds,
            max_bytes=order.max_bytes or EndpointConfig.max_bytes,
        )
        self.teacher = LLM(Endpoint(config), order.tries)
        self.copies = Copies()
        self.taken: list[str] = []

    async def write_all(self) -> AsyncGenerator[WrittenWorld, None]:
        """Write the worlds, one result for each; those in the folder stay as they are."""
        try:
            with locked(self.order.out):
                for file in world_files(self.order.out):
                    self._know(file)
                numbers = range(self.order.count)
                async for written in in_order(numbers, self.write, self.order.concurrency):
                    yield written
        finally:
            await self.teacher.endpoint.aclose()

    def _know(self, file: Path) -> None:
        """Remember a world of the folder, so that no other is a copy of it."""
        try:
            found = read_world(file).spec
        except SpecError:
            self.taken.append(file.stem)
            return
        self.taken.append(found.name)
        self.copies.add(traits(found))

    async def write(self, number: int) -> WrittenWorld:
        """One world: the model is asked until a spec is admitted, a bounded number of times."""
        refused: list[RefusedSpec] = []
        last: list[Json] = []
        for _ in range(self.teacher.tries):
            messages = [*opening(self.order.about, self.taken), *last]
            try:
                reply = await self.teacher.say(f"world {number}", messages, [])
            except EndpointError as problem:
                self.teacher.check()
                refused.append(RefusedSpec(NO_ANSWER, str(problem)))
                break
            try:
                return WrittenWorld(await self._admit(reply), tuple(refused))
            except NotAdmitted as problem:
                refused.append(RefusedSpec(problem.reason, one_line(str(problem))))
                last = refusing(reply.text, *refused[-1])
                self.tell(refused[-1])
        return WrittenWorld(None, tuple(refused))

    async def _admit(self, reply: Reply) -> Path:
        """The file of an admitted world; raises NotAdmitted with the reason."""
        spec = self._spec(reply)
        self._require_new(spec)
        world = await admit_alone(new_file(spec))
        assert world.admission is not None
        if not world.admission.admitted:
            raise NotAdmitted(world.admission.reasons[0], world.admission.details[0])
        # Another world may have been written meanwhile.
        self._require_new(spec)
        self.taken.append(spec.name)
        self.copies.add(traits(spec))
        return write_world(self.order.out, world)

    def _spec(self, reply: Reply) -> WorldSpec:
        if reply.calls:
            raise NotAdmitted(NO_SPEC, "it calls a tool; there are none")
        text = spec_text(reply.text)
        try:
            spec = parse(text)
        except SpecError as problem:
            raise NotAdmitted(WRONG, str(problem)) from None
        return put(spec, source=f"written by {self.order.model}", version=1, kin=())

    def _require_new(self, spec: WorldSpec) -> None:
        """Refuse names that are taken, and near copies of worlds of the folder."""
        if spec.name in self.taken or spec.name in servers.names():
            raise NotAdmitted(
                "its name is taken", f"there is a world {spec.name!r}; name it otherwise"
            )
        for operation in spec.operations:
            if operation.tool in all_tools():
                whose = all_tools()[operation.tool].server
                raise NotAdmitted(
                    "a tool's name is taken", f"{operation.tool!r} is a tool of {whose}; rename it"
                )
        score, other = self.copies.nearest(traits(spec))
        if score >= NEAR_COPY:
            share = f"{score:.0%} of all tools of the two are the same"
            raise NotAdmitted("it is a near copy", f"{other} is almost the same world: {share}")


def spec_text(text: str) -> str:
    """The spec in a reply: its longest fenced block, or the whole text if there is none."""
    if len(text) > 2 * MAX_BYTES:
        raise NotAdmitted(NO_SPEC, f"the reply has {len(text):,} characters, too many for a spec")
    found = max(_blocks(text), key=len, default=text).strip()
    if not found:
        raise NotAdmitted(NO_SPEC, "the reply is empty")
    return found


def _blocks(text: str) -> Iterator[str]:
    """The fenced blocks of a text; one that is not closed ends with the text."""
    fence, lines = "", list[str]()
    for line in text.splitlines(keepends=True):
        start = line.strip()[:3]
        if fence and start == fence and not line.strip().strip(fence[0]):
            yield "".join(lines)
            fence, lines = "", []
        elif fence:
            lines.append(line)
        elif start in FENCES:
            fence = start
    if fence:
        yield "".join(lines)


def one_line(text: str) -> str:
    """A sentence without line breaks and control characters, cut if it is long."""
    plain = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(plain.split())[:LONGEST_DETAIL]
