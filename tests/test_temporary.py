"""Temporary folders: those of a killed process are swept, and others stay."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from provegym.temporary import SweptFolder
from provegym.workers import local

DIES = """
import os
from provegym.temporary import SweptFolder
folder = SweptFolder("test")
print(folder.add(), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, for this process and those that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def killed() -> Path:
    """A folder that a killed process has left."""
    command = [sys.executable, "-c", DIES]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ})
    return Path(done.stdout.strip())


def test_folders_of_a_dead_process_are_swept_and_others_stay(temporary: Path) -> None:
    kept = SweptFolder("test")
    dead = killed()
    assert dead.is_dir()
    unlike = SweptFolder("other")
    assert dead.is_dir()
    other = SweptFolder("test")
    assert not dead.parent.exists()
    assert kept.path.is_dir()
    for each in (kept, other, unlike, kept):
        each.close()
    assert list(temporary.iterdir()) == []


def test_a_folder_is_removed_with_its_object(temporary: Path) -> None:
    folder = SweptFolder("test").path
    assert not folder.exists()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_killed_workers_is_swept_by_the_next_pool(temporary: Path) -> None:
    left = killed().parent
    left = left.rename(left.with_name(left.name.replace("-test-", "-workers-")))
    workers = local(2)
    try:
        assert not left.exists()
        assert workers.folder is not None
        assert workers.folder.is_dir()
    finally:
        workers.close()
    assert not workers.folder.exists()
