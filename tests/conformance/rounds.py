"""Tools that answer with a question first: the 2026-07-28 revision's multi-round requests."""

from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from content import text

Params = types.CallToolRequestParams | types.GetPromptRequestParams
Answer = types.CallToolResult | types.InputRequiredResult
Round = Callable[[Params, types.ClientCapabilities | None], Answer]
ROUNDS: dict[str, Round] = {}


def form(message: str, **fields: str) -> types.ElicitRequest:
    """A question to the user, with a field of a JSON type for each answer."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in fields.items()},
        "required": list(fields),
    }
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def sample(words: str) -> types.CreateMessageRequest:
    """A question to the client's model."""
    message = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


NAME = form("What is your name?", name="string")
CONFIRM = form("Please confirm", ok="boolean")
CONTEXT = form("What context should the prompt use?", context="string")


def answered(params: Params, asked: Mapping[str, types.InputRequest]) -> bool:
    """Whether every question has an answer; others the client volunteers are ignored."""
    return asked.keys() <= (params.input_responses or {}).keys()


def done(words: str) -> types.CallToolResult:
    """The end of the rounds."""
    return types.CallToolResult(content=[text(words)])


def question(asked: types.InputRequests, state: str | None = None) -> types.InputRequiredResult:
    """A round that waits for answers."""
    return types.InputRequiredResult(input_requests=asked, request_state=state)


def one_round(name: str, asked: types.InputRequests, state: str | None = None) -> None:
    """A tool that asks once; its state, if any, has to come back with the answers."""

    def run(params: Params, _: types.ClientCapabilities | None) -> Answer:
        if not answered(params, asked) or params.request_state != state:
            return question(asked, state)
        replies = params.input_responses or {}
        return done(f"state-ok: {', '.join(f'{key} {replies[key]}' for key in asked)}")

    ROUNDS[name] = run


one_round("test_input_required_result_elicitation", {"user_name": NAME})
one_round("test_streaming_elicitation", {"user_name": NAME})
one_round(
    "test_input_required_result_sampling",
    {"capital_question": sample("What is the capital of France?")},
)
one_round("test_input_required_result_list_roots", {"client_roots": types.ListRootsRequest()})
one_round("test_input_required_result_request_state", {"confirm": CONFIRM}, "asked")
one_round("test_input_required_result_tampered_state", {"confirm": CONFIRM}, "asked")
one_round(
    "test_input_required_result_multiple_inputs",
    {
        "user_name": NAME,
        "greeting": sample("Generate a greeting"),
        "client_roots": types.ListRootsRequest(),
    },
    "asked",
)


def multi_round(params: Params, _: types.ClientCapabilities | None) -> Answer:
    """Asks twice; the state says how far the client has come."""
    first = {"step1": form("Step 1: What is your name?", name="string")}
    second = {"step2": form("Step 2: What is your favorite color?", color="string")}
    if params.request_state == "second" and answered(params, second):
        return done("both steps answered")
    if params.request_state == "first" and answered(params, first):
        return question(second, "second")
    return question(first, "first")


def by_capability(_: Params, declared: types.ClientCapabilities | None) -> Answer:
    """Asks only what the client declared it can answer."""
    offers: dict[str, tuple[Any, types.InputRequest]] = {
        "user_name": (declared and declared.elicitation, NAME),
        "greeting": (declared and declared.sampling, sample("Generate a greeting")),
        "client_roots": (declared and declared.roots, types.ListRootsRequest()),
    }
    asked = {key: ask for key, (able, ask) in offers.items() if able is not None}
    return question(asked) if asked else done("nothing can be asked of this client")


ROUNDS["test_input_required_result_multi_round"] = multi_round
ROUNDS["test_input_required_result_capabilities"] = by_capability
