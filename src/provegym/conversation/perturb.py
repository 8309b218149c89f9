"""Perturbations that make an example harder (§3.2, step 4): distractor tools, missing enums.

A knob of the toolbox is one function. Its decorator names the share of examples that have it.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from msgspec.structs import replace as put

from provegym import servers
from provegym.kernel import AnyServer
from provegym.trace import ToolboxSpec

Turn = Callable[[ToolboxSpec, AnyServer, Sequence[str], Random], ToolboxSpec]
KNOBS: dict[str, Turn] = {}
SHARES = {"irrelevance": 0.05}
ALIAS_SEEDS = 1_000_000


def knob(share: float) -> Callable[[Turn], Turn]:
    """Register a function as a knob of the toolbox."""

    def register(function: Turn) -> Turn:
        KNOBS[function.__name__], SHARES[function.__name__] = function, share
        return function

    return register


def strangers(name: str, among: Iterable[str]) -> list[str]:
    """The other servers that are not kin of a server."""
    return [other for other in among if other != name and not are_kin(name, other)]


def are_kin(one: str, other: str) -> bool:
    """Whether two servers could serve each other's requests: one names the other as its `kin`."""
    return other in servers.asks(one).get("kin", ()) or one in servers.asks(other).get("kin", ())


@knob(share=0.40)
def distractors(
    spec: ToolboxSpec, server: AnyServer, others: Sequence[str], chance: Random
) -> ToolboxSpec:
    """Show three to eight working tools of other servers as well."""
    tools = [
        tool for other in others for tool in servers.load(other).tools if tool not in server.tools
    ]
    return put(spec, distractors=tuple(chance.sample(tools, chance.randint(3, 8))))


@knob(share=0.30)
def stripped(
    spec: ToolboxSpec, server: AnyServer, others: Sequence[str], chance: Random
) -> ToolboxSpec:
    """Remove some enums from the schemas. The descriptions still name their values."""
    listed = [
        f"{tool.name}.{argument}"
        for tool in server.tools.values()
        for argument, part in tool.input_schema["properties"].items()
        if "enum" in part
    ]
    return put(spec, stripped=tuple(chance.sample(listed, min(len(listed), chance.randint(1, 4)))))


def perturb(
    server: AnyServer, knobs: Iterable[str], others: Sequence[str], chance: Random
) -> ToolboxSpec:
    """A toolbox with these knobs applied."""
    spec = ToolboxSpec()
    for name in knobs:
        if name in KNOBS:
            spec = KNOBS[name](spec, server, others, chance)
    return spec


def alias_seed(key: str, share: float) -> int | None:
    """The seed of a candidate's alias, for a share of the candidates; None for the others.

    It is drawn apart from the knobs, so a share changes nothing else about a candidate. The paper
    has no aliases.
    """
    chance = Random(f"aliases {key}")
    return chance.randrange(ALIAS_SEEDS) if chance.random() < share else None
