"""`make screenshots`: a picture of every page, over sample data, into docs/view."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from provegym.servers import names
from view.browser.driver import node, prepare, serving
from view.browser.sample import make_folder

PICTURES = Path(__file__).parents[3] / "docs" / "view"
MOST, COLOURS = 150_000, 256


def main() -> None:
    """Take them all, and say which is too large to be kept."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        folder = make_folder(Path(scratch) / "data", names(), lines=20_000)
        for ugly in ("foreign.jsonl", "cut.jsonl", "hostile.jsonl"):
            (folder / ugly).unlink()
        with serving(folder) as url:
            done = node("pictures.mjs", prepare(), url, str(folder), str(PICTURES))
    print(done.stdout, done.stderr, file=sys.stderr, end="")
    for path in PICTURES.glob("*.png"):
        make_small(path)
    large = [path.name for path in PICTURES.glob("*.png") if path.stat().st_size > MOST]
    sys.exit(done.returncode or (f"larger than {MOST:,} bytes: {large}" if large else 0))


def make_small(path: Path) -> None:
    """Write a picture with a palette, which takes a third of the space."""
    with Image.open(path) as picture:
        if picture.mode == "P":
            return
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


if __name__ == "__main__":
    main()
