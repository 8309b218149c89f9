"""How models write tool calls, one small file per dialect."""

from collections.abc import Callable

from provegym.policies.dialects import granite, hermes
from provegym.trace import Reply

Parse = Callable[[str], Reply]


def pick(model: str) -> Parse:
    """The dialect of a model, by its name; Hermes is what most open models speak."""
    return granite.parse if "granite" in model.lower() else hermes.parse
