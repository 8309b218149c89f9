"""The schemas in data/, and small helpers for worlds that are made from them."""

from functools import cache
from pathlib import Path

from provegym.kernel import AnyServer, Session
from provegym.worlds import from_openapi, from_sql
from provegym.worlds.build import install
from provegym.worlds.spec import Entity, Field, WorldSpec

DATA = Path(__file__).parent / "data"
SCHEMAS = ("chinook.sql", "shop.sql", "petstore.json", "netlify.json")


@cache
def converted(file: str) -> tuple[WorldSpec, list[str]]:
    """The spec and the notes of a schema in data/."""
    text = (DATA / file).read_text("utf-8")
    name = file.partition(".")[0]
    if file.endswith(".sql"):
        return from_sql.spec_of(text, name)
    return from_openapi.spec_of(text, name)


@cache
def server_of(file: str) -> AnyServer:
    """The server of a schema in data/, known to `servers.load`."""
    return install(converted(file)[0])


def desk(file: str, seed: int = 1) -> Session:
    """A session on the world of a schema."""
    return Session([server_of(file)], seed)


def field(entity: Entity, name: str) -> Field:
    """A field of an entity."""
    return next(each for each in entity.fields if each.name == name)
