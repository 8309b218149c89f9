"""How models write tool calls, one small file per dialect."""

from collections.abc import Callable

from provegym.models.dialects import granite, hermes
from provegym.trace import Reply

Parse = Callable[[str], Reply]


# How a chat template of the family opens a message; it tells where a folder has any name.
GRANITE = "<|start_of_role|>"


def pick(model: str, template: str = "") -> Parse:
    """The dialect of a model, by its name or its chat template; most open models speak Hermes."""
    family = "granite" in model.lower() or GRANITE in template
    return granite.parse if family else hermes.parse
