"""A policy of your own: it looks at every list once, then says what it saw.

    python own_policy.py                                        # plays three tasks
    provegym rollout --policy own_policy:Looker --data corpus --out rollouts.jsonl

A policy is any object with an async `reply(messages, tools)`. Messages and tools have the format of
OpenAI's chat API. A reply without a call ends the turn, and the user speaks next.
"""

from typing import Any

import provegym
from provegym import Reply, ToolCall

Json = dict[str, Any]


class Looker:
    """Calls the tools that need no argument, each once, and repeats the last result."""

    async def reply(self, messages: list[Json], tools: list[Json]) -> Reply:
        """The next message of the assistant."""
        called = {
            call["function"]["name"]
            for message in messages
            for call in message.get("tool_calls") or ()
        }
        for tool in tools:
            function = tool["function"]
            name, parameters = function["name"], function["parameters"]
            if name.startswith("list_") and name not in called and not parameters.get("required"):
                return Reply(calls=(ToolCall(name=name, arguments="{}"),))
        seen = [message["content"] for message in messages if message["role"] == "tool"]
        return Reply(text=f"I found this: {seen[-1]}" if seen else "I found nothing.")


def main() -> None:
    """Play three tasks on the banking server, and print what each is paid."""
    examples = provegym.synthesize(3, servers=["banking"], mix="multi_turn")
    for played in provegym.rollout(examples, Looker()):
        assert played.reward
        assert played.verdict
        print(played.example.turns[0].text)
        print(f"  {len(played.calls)} calls, reward {played.reward.total:.2f} of 1.3,", end=" ")
        print("success" if played.verdict.success else "no success")


if __name__ == "__main__":
    main()
