"""Audit the locked packages for known weaknesses with pip-audit; exit 1 if there is one.

Without a vulnerability service on the network nothing can be said, which is told and no failure.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[2] / "requirements.lock"
SECONDS = 600


def audit() -> list[dict[str, Any]]:
    """What pip-audit says of every package; nothing if it cannot reach a service."""
    command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--format", "json"]
    done = subprocess.run(
        [*command, "--progress-spinner", "off", "--requirement", str(LOCK)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout or "{}").get("dependencies", [])
    return found


def verdict(found: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """The exit status, and the lines to print."""
    checked = [each for each in found if "skip_reason" not in each]
    if not checked:
        return 0, ["pip-audit: skipped, no vulnerability service can be reached from here"]
    lines = [
        f"{each['name']} {each['version']}: {weakness['id']}, fixed in"
        f" {', '.join(weakness['fix_versions']) or 'no version yet'}"
        for each in checked
        for weakness in each["vulns"]
    ]
    count = f"pip-audit: {len(checked)} of {len(found)} packages checked"
    return int(bool(lines)), [*lines, f"{count}, {len(lines)} known weaknesses"]


if __name__ == "__main__":
    status, told = verdict(audit())
    print("\n".join(told))
    raise SystemExit(status)
