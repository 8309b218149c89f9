"""Robustness knobs (§3.2, step 4): what makes an example harder than it need be.

A knob of the toolbox is one function; the share of examples it is turned on in stands beside it.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from msgspec.structs import replace as put

from provegym import servers
from provegym.kernel import AnyServer
from provegym.trace import ToolboxSpec

HELD_OUT = ("crm", "iot_devices", "payments", "travel_booking")
KIN = (
    {"banking", "budget", "payments", "trading"},
    {"email", "team_chat", "social_media", "crm"},
    {"calendar", "video_meeting", "travel_booking", "issue_tracker"},
    {"shopping", "marketplace", "food_delivery", "retail_chain", "payments"},
    {"maps", "travel_booking", "vehicle", "food_delivery"},
    {"iot_devices", "vehicle"},
    {"filesystem", "email"},
)

Turn = Callable[[ToolboxSpec, AnyServer, Sequence[str], Random], ToolboxSpec]
KNOBS: dict[str, Turn] = {}
SHARES = {"irrelevance": 0.05}


def knob(share: float) -> Callable[[Turn], Turn]:
    """Make a function a knob of the toolbox."""

    def register(function: Turn) -> Turn:
        KNOBS[function.__name__], SHARES[function.__name__] = function, share
        return function

    return register


def strangers(name: str, among: Iterable[str]) -> list[str]:
    """The servers that could not serve each other's requests."""
    kin = set().union(*(group for group in KIN if name in group), {name})
    return [other for other in among if other not in kin]


@knob(share=0.40)
def distractors(
    spec: ToolboxSpec, server: AnyServer, others: Sequence[str], chance: Random
) -> ToolboxSpec:
    """Show three to eight live tools of other servers beside the right ones."""
    tools = [tool for other in others for tool in servers.load(other).tools]
    return put(spec, distractors=tuple(chance.sample(tools, chance.randint(3, 8))))


@knob(share=0.30)
def stripped(
    spec: ToolboxSpec, server: AnyServer, others: Sequence[str], chance: Random
) -> ToolboxSpec:
    """Take some value lists out of the schemas; the descriptions still tell them."""
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
    """A toolbox with these knobs turned."""
    spec = ToolboxSpec()
    for name in knobs:
        if name in KNOBS:
            spec = KNOBS[name](spec, server, others, chance)
    return spec
