"""The files of the built page in this package: index.html and its assets."""

from pathlib import Path

from starlette.responses import Response

STATIC = Path(__file__).parent / "static"
PLACEHOLDER = "__TOKEN__"
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".ico": "image/x-icon",
}
MISSING = (
    "<!doctype html><meta charset=utf-8><title>provegym</title><p>The page is not built: in a"
    " checkout run <code>make page</code>; the data is there under <code>/api/</code>.</p>"
)
FOREVER = {"cache-control": "public, max-age=31536000, immutable"}


def index(token: str, folder: Path = STATIC) -> str:
    """index.html, with the token that requests of this start must carry."""
    file = folder / "index.html"
    if not file.is_file():
        return MISSING
    return file.read_text("utf-8").replace(PLACEHOLDER, token)


def asset(name: str, folder: Path = STATIC) -> Response | None:
    """A built file by name; None for anything that is not directly in the folder of assets."""
    found = {path.name: path for path in (folder / "assets").glob("*") if path.is_file()}
    path = found.get(name)
    if path is None or path.suffix not in TYPES:
        return None
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers=FOREVER)
