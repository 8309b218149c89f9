"""Which examples the adapters' tests play, and the scripts that play them, well and badly.

Imported by tests and, in a framework's environment, by what they drive there.
"""

from pathlib import Path

from provegym.players.plan import tool_call
from provegym.players.scripted import SCRIPTS, Script
from provegym.toolbox import Toolbox
from provegym.trace import Example, ToolCall, read

DATA = Path(__file__).parents[1] / "data"
# One to three user turns, with minutes between them, questions to ask first, and every knob.
TEN = (
    *("banking/pay-and-freeze", "banking/ask-for-the-amount", "budget/book-and-split"),
    *("calendar/budget-dry-run", "filesystem/how-long-is-it", "food_delivery/rate-on-arrival"),
    *("maps/how-long-by-tram", "marketplace/haggle-for-a-violin"),
    *("retail_chain/hold-and-collect", "shopping/gift-and-address"),
)


def examples() -> dict[str, Example]:
    """The ten, by id."""
    servers = dict.fromkeys(each.partition("/")[0] for each in TEN)
    return {e.id: e for s in servers for e in read(DATA / f"{s}.jsonl", Example) if e.id in TEN}


def clumsy(example: Example) -> Script:
    """Calls that are none, of a tool that is not there, and with arguments that do not fit."""
    first = next(iter(Toolbox.of(example).tools))
    broken = ToolCall(name=first, arguments='{"half": ')
    listed = ToolCall(name=first, arguments="[1]")
    return Script(example, [[[broken, listed], [tool_call("open_sesame", {})]], [*strange(first)]])


def stranger(example: Example) -> Script:
    """As far as a call must be one: a tool that is not there, arguments that do not fit."""
    first = next(iter(Toolbox.of(example).tools))
    return Script(example, [[[tool_call("open_sesame", {})], *strange(first)]])


def strange(tool: str) -> list[list[ToolCall]]:
    """A message with one call, whose arguments do not fit."""
    return [[tool_call(tool, {"no_such_argument": 1})]]


def endless(example: Example) -> Script:
    """Never stops looking."""
    first = next(iter(Toolbox.of(example).tools))
    return Script(example, [[[tool_call(first, {})] for _ in range(30)]])


def greedy(example: Example) -> Script:
    """More calls in its messages than a rollout may have."""
    first = next(iter(Toolbox.of(example).tools))
    return Script(example, [[[tool_call(first, {})] * 40] * 3])


POLICIES = {**SCRIPTS} | {each.__name__: each for each in (clumsy, stranger, endless, greedy)}
