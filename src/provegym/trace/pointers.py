"""Values in arguments and results: the literals of references, and JSON pointers."""

import re
from typing import Any

from provegym.trace.records import Json, Ref

# A place in a list, as a JSON pointer has it. Python's own `isdigit` also takes "²".
INDEX = re.compile("[0-9]{1,9}")


def literal(value: Any) -> Any:
    """A JSON value with the literal of each `Ref` in its place."""
    if isinstance(value, Ref):
        return value.literal
    if isinstance(value, dict):
        return {name: literal(part) for name, part in value.items()}
    return [literal(part) for part in value] if isinstance(value, list) else value


def literals(arguments: Json) -> Json:
    """Arguments with the literal of each `Ref` in its place."""
    return {name: literal(value) for name, value in arguments.items()}


def point(value: Any, pointer: str) -> tuple[bool, Any]:
    """Follow a JSON pointer: whether its target exists, and the target."""
    for part in pointer.split("/")[1:]:
        if isinstance(value, list) and INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return False, None
    return True, value
