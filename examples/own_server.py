"""A server of your own, used like ours: tools, rules, and verified tasks.

    python own_server.py
    provegym --servers-from . call tea_shop list_teas '{"name": "Assam"}'
    provegym --servers-from . serve tea_shop                        # MCP over stdio

The server is the package tea_shop beside this file. `provegym new-server NAME` writes a larger one,
and `provegym check-server NAME` says what a server lacks (docs/own-server.md).
"""

from pathlib import Path

import provegym
from provegym.trace import literals


def main() -> None:
    """Call the tools, break a rule, see what changed, and make two tasks."""
    provegym.servers_from(Path(__file__).parent)
    session = provegym.Session([provegym.load("tea_shop")], seed=1)
    tea = session.call("list_teas", {"name": "Assam"}).value["items"][0]
    print(tea)
    print(session.call("order_tea", {"tea_id": tea["id"], "grams": tea["grams"] + 10}).value)
    print(session.call("order_tea", {"tea_id": tea["id"], "grams": 50}).value)
    for change in session.diff():
        print(change.table, change.key, change.before, "->", change.after)

    for example in provegym.synthesize(2, servers=["tea_shop"], mix="multi_turn"):
        print()
        for number, turn in enumerate(example.turns):
            print(f"user: {turn.text}")
            for step in example.paths[0].steps:
                if step.turn == number:
                    print(f"  {step.tool}({literals(step.arguments)})")


if __name__ == "__main__":
    main()
