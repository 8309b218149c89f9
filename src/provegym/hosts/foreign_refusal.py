"""Refusals in disguise: results of a foreign server that say that the call failed.

Many servers do not set isError. They return `{"success": false, …}` or "Document x does not exist"
as if it were a result. Only clear cases are found here, because a text may also be the content of
a note that speaks of errors.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from provegym.language.values import leaves

Json = dict[str, Any]

# HTTP's status of the request that a server passed on; from 400 on it failed.
HTTP_STATUS = ("status", "statusCode", "status_code", "httpStatus", "http_status")
# The names under which a result tells how the call went, and nothing about the world.
ENVELOPE = {
    *("success", "ok", "status", "error", "errors", "message", "msg", "detail", "details"),
    *("reason", "code", "error_code", "errorCode", "error_type", "type", "hint", "suggestion"),
    *("timestamp", *HTTP_STATUS),
}
# Names that hold the whole result.
WRAPPERS = ("result", "text", "items", "content", "response", "output", "data")
WENT_WELL = ("success", "ok", "succeeded", "isSuccess", "is_success")
WENT_WRONG = ("isError", "is_error", "failed")
BAD_STATUS = re.compile(r"(?:.*[_ -])?(?:error|failed|failure|fail|not[_ -]?found|invalid)", re.I)
# An error with more than this beside it is a record that has an error, such as a failed job.
MOST_BESIDE = 1
# A text that begins so is a refusal: "Error: …", "❌ Error reading file: …", "Failed to open x: …".
OPENS_WRONG = re.compile(
    r"\W*(?:(?:[A-Za-z]+ ){0,2}(?:error|exception)(?: [\w-]+){0,4}"
    r"|(?:failed|unable) to [^:\n]{1,80}):",
    re.IGNORECASE,
)
# A short text that speaks so of an argument of the call is a refusal.
REFUSES = re.compile(
    r"^\W*(?:error|failed|failure|invalid|cannot|can't|could not|couldn't|unable to|no such)\b"
    r"|\b(?:does not|doesn't|do not|don't|did not) (?:currently |yet )?(?:exist|match)\b"
    r"|\bnot found\b|\bno such\b|\bcould not (?:be |find )|\balready exists\b"
    r"|\bis (?:not a |not an |not |in)valid\b|\bnot (?:allowed|permitted|supported)\b"
    r"|^\W*(?:there (?:is|are) )?no \w+(?: \w+){0,3} (?:found|named|called|with)\b",
    re.IGNORECASE,
)
LONGEST, MOST_LINES, SHORTEST_ECHO = 600, 5, 2


def says_it_failed(value: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether a result says that the call failed."""
    if isinstance(value, str):
        parsed = _parsed(value)
        return (
            _is_refusal(value, arguments) if parsed is None else says_it_failed(parsed, arguments)
        )
    if isinstance(value, list):
        return bool(value) and all(says_it_failed(part, arguments) for part in value)
    if not isinstance(value, dict):
        return False
    if len(value) == 1 and (name := next(iter(value))) in WRAPPERS:
        return says_it_failed(value[name], arguments)
    return _reports_failure(value, arguments)


def _reports_failure(value: Json, arguments: Mapping[str, Any]) -> bool:
    if any(value.get(name) is False for name in WENT_WELL):
        return True
    if any(value.get(name) is True for name in WENT_WRONG):
        return True
    given = [part for part in leaves(arguments) if part not in ("", None)]
    beside = [
        name for name, part in value.items() if name not in ENVELOPE and part and part not in given
    ]
    if len(beside) > MOST_BESIDE:
        return False
    status, error = value.get("status"), value.get("error")
    if isinstance(error, str | dict) and error:
        return True
    if isinstance(status, str) and BAD_STATUS.fullmatch(status):
        return True
    if any(_is_bad_http(value.get(name)) for name in HTTP_STATUS):
        return True
    told = value.get("message")
    return not beside and isinstance(told, str) and _is_refusal(told, arguments)


def _is_bad_http(status: Any) -> bool:
    return isinstance(status, int) and 400 <= status < 600


def _is_refusal(text: str, arguments: Mapping[str, Any]) -> bool:
    if OPENS_WRONG.match(text):
        return True
    lines = text.strip().splitlines()
    if not lines or len(text) > LONGEST or len(lines) > MOST_LINES:
        return False
    return REFUSES.search(lines[0]) is not None and _mentions(text, arguments)


def _mentions(text: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a text holds an argument of the call, or the last part of a path in it."""
    said = text.casefold()
    for leaf in leaves(arguments):
        if isinstance(leaf, bool) or leaf is None:
            continue
        whole = str(leaf).casefold()
        for form in (whole, whole.rstrip("/").rpartition("/")[2]):
            found = len(form) >= SHORTEST_ECHO or form.isdigit()
            if found and re.search(rf"(?<!\w){re.escape(form)}(?!\w)", said):
                return True
    return False


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
