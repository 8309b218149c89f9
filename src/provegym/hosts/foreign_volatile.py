"""What changes in a foreign server's results from call to call, without meaning anything."""

import re

# A time of day, alone or after a date; and the seconds or milliseconds since 1970 of our days.
TIME = re.compile(
    r"(?<!\d)(?:\d{4}-\d\d-\d\d[T ])?\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?!\d)"
    r"|(?<![\w.])1[6-9]\d{8}(?:\d{3}|\.\d+)?(?![\w.])"
)
UUID = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b", re.IGNORECASE)


def without_times(text: str) -> str:
    """The text with every time of day replaced by a mark."""
    return TIME.sub("⟨time⟩", text)


def without_chance(text: str) -> str:
    """The text with every time of day and every random id (UUID) replaced by a mark."""
    return UUID.sub("⟨id⟩", without_times(text))
