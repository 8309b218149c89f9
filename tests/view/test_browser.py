"""The page in a real browser: a test per file in browser/scenarios; and it is up to date."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from view.browser.driver import SCENARIOS, Found, Unavailable, freeze, play, prepare, serving
from view.browser.sample import make_folder

ROOT = Path(__file__).parents[2]
FRONTEND = ROOT / "frontend"
STATIC = ROOT / "src/provegym/view/static"
NAMES = sorted(path.stem for path in SCENARIOS.glob("*.mjs"))
ALONE = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


def sums(folder: Path, paths: list[Path]) -> dict[str, str]:
    """What each file under a folder holds, in short."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
    }


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_built_page_is_that_of_its_sources() -> None:
    noted = msgspec.json.decode((STATIC / "sums.json").read_bytes())
    sources = sums(FRONTEND, [FRONTEND / name for name in ALONE] + files(FRONTEND / "src"))
    built = sums(STATIC, [path for path in files(STATIC) if path.name != "sums.json"])
    assert noted == {"sources": sources, "built": built}, "run `make page`"


def test_the_built_page_is_one_script_and_one_style_and_asks_nobody_else() -> None:
    assert sorted(path.suffix for path in files(STATIC / "assets")) == [".css", ".js"]
    page = (STATIC / "index.html").read_text("utf-8")
    assert '<meta name="token" content="__TOKEN__">' in page
    for wrong in ("<style", "style=", "http:", "https:", "onload"):
        assert wrong not in page


def test_the_sources_never_make_markup_of_data() -> None:
    for path in files(FRONTEND / "src"):
        text = path.read_text("utf-8")
        for wrong in ("innerHTML", "insertAdjacentHTML", "outerHTML", "document.write", "eval("):
            assert wrong not in text, path


def test_locks_name_no_registry() -> None:
    for folder in (FRONTEND, SCENARIOS.parent):
        assert '"resolved"' not in (folder / "package-lock.json").read_text("utf-8")


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Found]]:
    """What the chosen scenarios came to, all played in one browser over one server."""
    try:
        browser = prepare()
    except Unavailable as reason:
        pytest.skip(f"the page cannot be seen here: {reason}")
    chosen = {item.callspec.params["name"] for item in request.session.items if _is_seen(item)}
    folder = make_folder(tmp_path_factory.mktemp("seen") / "data")
    report = folder.parent / "report.html"
    if "report" in chosen:
        freeze(folder, report)
    with serving(folder) as url:
        yield {one.name: one for one in play(browser, url, folder, report, sorted(chosen))}


def _is_seen(item: pytest.Item) -> bool:
    return getattr(item, "originalname", "") == "test_seen" and hasattr(item, "callspec")


@pytest.mark.parametrize("name", NAMES)
def test_seen(name: str, found: dict[str, Found]) -> None:
    assert found[name].ok, found[name].problem
