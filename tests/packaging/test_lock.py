"""The lock of CI: all pinned with hashes, the same versions as constraints.txt; and the audit."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
AUDIT = runpy.run_path(str(Path(__file__).parent / "audit.py"))["verdict"]


def pins(text: str) -> dict[str, str]:
    """The pinned version of each package."""
    return dict(re.findall(r"^([\w.-]+)==([^\s\\;]+)", text, re.MULTILINE))


def test_every_package_is_pinned_with_hashes() -> None:
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE))
    assert len(entries) > 80
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert len(pins(LOCK)) == len(entries)
    assert "://" not in LOCK


def test_the_lock_agrees_with_the_constraints() -> None:
    locked = pins(LOCK)
    wanted = pins((ROOT / "constraints.txt").read_text("utf-8"))
    assert {name: locked[name] for name in wanted.keys() & locked.keys()} == {
        name: wanted[name] for name in wanted.keys() & locked.keys()
    }
    assert {"mcp", "starlette", "uvicorn", "httptools", "msgspec", "transformers"} <= locked.keys()


def test_an_audit_without_a_service_says_so_and_a_weakness_fails() -> None:
    skipped = {"name": "a", "skip_reason": "Dependency not found"}
    clean = {"name": "b", "version": "1", "vulns": []}
    weak = {"name": "c", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
    assert AUDIT([skipped])[0] == AUDIT([])[0] == 0
    assert "skipped" in AUDIT([skipped])[1][0]
    assert AUDIT([clean, skipped]) == (
        0,
        ["pip-audit: 1 of 2 packages checked, 0 known weaknesses"],
    )
    assert AUDIT([clean, weak])[0] == 1
