"""Robustness knobs (§3.2, step 4): what makes an example's toolbox harder than it need be.

A knob is one function; its share of the examples stands beside it.
"""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

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

Turn = Callable[[ToolboxSpec, AnyServer, Random], ToolboxSpec]


class Knob(NamedTuple):
    """A perturbation and the share of examples it is applied to."""

    share: float
    turn: Turn


KNOBS: dict[str, Knob] = {}


def knob(share: float) -> Callable[[Turn], Turn]:
    """Make a function a knob."""

    def register(function: Turn) -> Turn:
        KNOBS[function.__name__] = Knob(share, function)
        return function

    return register


def strangers(name: str) -> list[str]:
    """The servers that could not serve each other's requests, none of them held out."""
    kin = set().union(*(group for group in KIN if name in group), {name})
    return [other for other in servers.names() if other not in kin and other not in HELD_OUT]


@knob(share=0.40)
def distractors(spec: ToolboxSpec, server: AnyServer, chance: Random) -> ToolboxSpec:
    """Show three to eight live tools of other servers beside the right ones."""
    tools = [tool for other in strangers(server.name) for tool in servers.load(other).tools]
    return put(spec, distractors=tuple(chance.sample(tools, chance.randint(3, 8))))


@knob(share=0.30)
def stripped(spec: ToolboxSpec, server: AnyServer, chance: Random) -> ToolboxSpec:
    """Take some value lists out of the schemas; the descriptions still tell them."""
    listed = [
        f"{tool.name}.{argument}"
        for tool in server.tools.values()
        for argument, part in tool.input_schema["properties"].items()
        if "enum" in part
    ]
    return put(spec, stripped=tuple(chance.sample(listed, min(len(listed), chance.randint(1, 4)))))


def perturb(server: AnyServer, chance: Random) -> tuple[ToolboxSpec, tuple[str, ...]]:
    """A toolbox with each knob turned at its share, and the knobs that were."""
    spec, turned = ToolboxSpec(), []
    for name, each in KNOBS.items():
        if chance.random() < each.share:
            spec = each.turn(spec, server, chance)
            turned.append(name)
    return spec, tuple(turned)
