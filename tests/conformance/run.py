"""`make conformance`: the official suite and the MCP Inspector against our host.

The suite runs for each revision against three faces of one host, each with a session in its URL:
`fixture` has all the suite asks for and is served as we ship, each answer one JSON document;
`streamed` is the same as event streams, so whatever fails on `fixture` fails for that alone; and
`banking` is one of our servers as it is, judged by what needs nothing but tools. Exit codes: 0 all
as expected, 1 not, 3 the Node programs are not to be had.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from urllib.request import Request, urlopen

import host
from inspector import SERVER, inspect
from suite import REVISIONS, TOOLS_ONLY, expected_failures, run_suite
from toolchain import HERE, Unavailable, install

FACES = (host.AS_SHIPPED, host.STREAMED, SERVER)
UNAVAILABLE = 3


@contextmanager
def hosting() -> Iterator[str]:
    """The address of a host of our own on a free port."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "host.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def open_session(address: str) -> str:
    """A new session's address, by the control API."""
    body = json.dumps({"servers": [SERVER], "seed": 0}).encode()
    with urlopen(Request(f"{address}/sessions", body, method="POST")) as answer:
        return f"{address}/s/{json.load(answer)['session']}"


def check_revision(address: str, revision: str) -> bool:
    """Run one revision's requirements against every face and print what came out."""
    good = True
    for face in FACES:
        start = monotonic()
        only = TOOLS_ONLY if face == SERVER else None
        verdict = run_suite(f"{open_session(address)}/{face}/mcp", face, revision, only)
        good = good and not verdict.problems
        print(
            f"{revision} {face}: {verdict.required_passed} of {verdict.required} required "
            f"scenarios pass; of all, {verdict.passed} pass and {verdict.failed} fail, "
            f"{len(verdict.problems)} surprises ({monotonic() - start:.1f} s)"
        )
        reasons = expected_failures(HERE / f"expected-failures-{face}-{revision}.yml")
        for why in dict.fromkeys(reasons.values()):
            print(f"  ~ {', '.join(name for name in reasons if reasons[name] == why)}\n    {why}")
        for problem in verdict.problems:
            print(f"  ✗ {problem}")
    return good


def check_inspector(address: str) -> bool:
    """Run the Inspector's cases and print each."""
    good = True
    for case, problem in inspect(f"{open_session(address)}/{SERVER}/mcp"):
        good = good and problem is None
        print(f"Inspector {'✓' if problem is None else '✗'} {case}", problem or "")
    return good


def main() -> int:
    """Run what is asked for, or everything."""
    choices = [*REVISIONS, "inspector"]
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"of {', '.join(choices)}")
    wanted = parser.parse_args().checks or choices
    if unknown := [each for each in wanted if each not in choices]:
        parser.error(f"no check {unknown[0]!r}; there are {', '.join(choices)}")
    try:
        install()
    except Unavailable as reason:
        print(f"conformance cannot run: {reason}")
        return UNAVAILABLE
    with hosting() as address:
        good = [
            check_inspector(address) if each == "inspector" else check_revision(address, each)
            for each in wanted
        ]
    print("all as expected" if all(good) else "not as expected")
    return 0 if all(good) else 1


if __name__ == "__main__":
    raise SystemExit(main())
