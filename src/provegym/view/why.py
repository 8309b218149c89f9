"""Why an example calls nothing: one sentence per turn without a reference call.

Clarification, abstention and irrelevance examples have such turns, and turns of small talk in other
conversations. A sentence names the hidden tool where the example says which one was hidden.
"""

from collections.abc import Sequence

from provegym.language.smalltalk import recognise
from provegym.trace import Example, Path

SAYS_SO = "The right reply says that it cannot be done here, and calls nothing."
ASIDES = {
    "smalltalk": "This is small talk. The right reply chats back and calls nothing.",
    "knowledge": (
        "This is a question of general knowledge, and no tool is needed. The right reply answers"
        " it and calls nothing."
    ),
    "beyond": f"No tool of any server does this. {SAYS_SO}",
}
# A longer text is no question of ours, and would take long to recognise.
LONGEST = 500
UNCLEAR = "The user left out something that the call needs. The right reply asks for it."


def why_nothing(example: Example, path: Path) -> dict[int, str]:
    """Why nothing is to be called, by the turns of an example that have no reference call."""
    called = {step.turn for step in path.steps}
    return {
        turn: _reason(example, turn) for turn in range(len(example.turns)) if turn not in called
    }


def _reason(example: Example, turn: int) -> str:
    made, asked = example.provenance, example.turns[turn].asks
    if asked is not None:
        return f"The user left out `{asked}`. The right reply asks for it and changes nothing."
    if tools := _hidden_for(example, turn):
        return f"{_taken_away(tools)} {SAYS_SO}"
    if made.why == "no_tool" and made.elsewhere:
        return (
            f"The request is for the server `{made.elsewhere}`, and none of its tools is shown."
            f" {SAYS_SO}"
        )
    if made.why == "missing":
        return UNCLEAR
    if aside := _aside(example, turn):
        return ASIDES[aside]
    if example.kind == "multi_turn":
        return "This turn asks for nothing that needs a call. The right reply answers it."
    return f"No tool that is shown serves this request. {SAYS_SO}"


def _hidden_for(example: Example, turn: int) -> Sequence[str]:
    """The hidden tools that the request of a turn is for."""
    made = example.provenance
    if made.unserved is not None:
        if made.unserved.turn != turn:
            return ()
        others = [name for name in made.would_serve if name != made.unserved.tool]
        return [made.unserved.tool, *others]
    if made.why or example.kind == "multi_turn":
        return ()
    return made.would_serve or example.toolbox.hidden


def _taken_away(tools: Sequence[str]) -> str:
    """A sentence that names the tools that were hidden; at most three by name."""
    named = " or ".join(f"`{name}`" for name in tools[:3])
    more = f" or {len(tools) - 3} more" if len(tools) > 3 else ""
    if len(tools) == 1:
        return f"The request needs the tool {named}, which was taken away."
    return f"The request needs {named}{more}; these tools were taken away."


def _aside(example: Example, turn: int) -> str:
    """The kind of question that needs no tool: smalltalk, knowledge, beyond; or nothing."""
    made = example.provenance
    if made.why:
        return made.why if made.why in ASIDES else ""
    if turn < len(made.levels) and made.levels[turn] == "aside":
        asked = recognise(example.turns[turn].text[:LONGEST])
        return asked.table if asked is not None else ""
    return ""
