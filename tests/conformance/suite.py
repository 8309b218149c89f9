"""Run the official conformance suite against one face and judge what it reports.

The suite's own verdict covers the scenarios a revision requires. Ours covers all it runs, so a
line in an expected-failures file that no longer fails, or names nothing, is a failure too.
"""

import json
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from toolchain import HERE, SUITE, node

ENTRY = re.compile(r"^  - (?P<name>\S+?)(?:\s+# (?P<why>\S.*))?$")
STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\dZ-]+$")
REVISIONS = ("2026-07-28", "2025-11-25")
# What the suite asks of a server that has tools of its own and nothing else.
TOOLS_ONLY = frozenset(
    {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "ping",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "server-stateless",
        "tools-list",
    }
)


@dataclass(frozen=True)
class Verdict:
    """What one run showed."""

    required: int
    required_passed: int
    passed: int
    failed: int
    problems: list[str]


def expected_failures(path: Path) -> dict[str, str]:
    """Why each entry of a file fails, by its name; every line has to say so."""
    reasons: dict[str, str] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("- "):
            entry = ENTRY.match(line)
            if entry is None or entry["why"] is None:
                raise ValueError(f"{path.name}:{number}: an entry is '  - <name>  # <why>'")
            reasons[entry["name"]] = entry["why"]
    return reasons


def run_suite(url: str, face: str, revision: str, only: Set[str] | None = None) -> Verdict:
    """Run all that a revision of the protocol requires against a face; judge all or `only` some."""
    baseline = HERE / f"expected-failures-{face}-{revision}.yml"
    expected = expected_failures(baseline)
    with TemporaryDirectory() as folder:
        options = ["--requirements", revision, "--output-dir", folder]
        options += ["--expected-failures", str(baseline)]
        result = node(SUITE / "dist/index.js", "server", "--url", url, *options)
        failing = dict(_failing(Path(folder)))
    required = _required(revision)
    if only is not None:
        failing = {name: checks for name, checks in failing.items() if name in only}
        required &= only
    problems = _problems(failing, set(expected))
    if result.returncode and not problems and only is None:
        problems = [f"the suite says: {line}" for line in result.stdout.splitlines()[-5:]]
    problems += [f"{name} did not run" for name in sorted(required - failing.keys())]
    return Verdict(
        required=len(required),
        required_passed=sum(not failing.get(name, True) for name in required),
        passed=sum(not checks for checks in failing.values()),
        failed=sum(bool(checks) for checks in failing.values()),
        problems=problems,
    )


def _failing(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Every scenario that ran, with the checks that failed or warned."""
    for path in sorted(folder.glob("server-*/checks.json")):
        checks = json.loads(path.read_text())
        bad = {each["id"] for each in checks if each["status"] in ("FAILURE", "WARNING")}
        yield STAMP.sub("", path.parent.name.removeprefix("server-")), bad


def _problems(failing: dict[str, set[str]], expected: set[str]) -> list[str]:
    """Failures nobody expected, and expectations that did not come true."""
    seen = {name for name, checks in failing.items() if checks}
    seen_checks = {f"{name}:{check}" for name in seen for check in failing[name]}
    surprises = {
        check
        for check in seen_checks
        if check not in expected and check.partition(":")[0] not in expected
    }
    stale = expected - seen - seen_checks
    return [f"unexpected failure: {each}" for each in sorted(surprises)] + [
        f"expected to fail, but did not: {each}" for each in sorted(stale)
    ]


def _required(revision: str) -> set[str]:
    """The scenarios that decide whether a server conforms to a revision."""
    text = (SUITE / f"requirements/{revision}.yaml").read_text()
    section = text.partition("\nserver:\n")[2].partition("\n\n")[0]
    return set(re.findall(r"^  - (\S+)$", section, re.MULTILINE))
