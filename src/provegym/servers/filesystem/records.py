"""What makes up a disk: nodes, contents, versions, trash, users and a shell."""

from datetime import datetime
from typing import Literal

from provegym.kernel import Record

Kind = Literal["file", "directory", "symlink"]


class Node(Record, frozen=True):
    """One place in the tree; a locked file cannot be changed until the lock ends."""

    path: str
    parent: str
    name: str
    kind: Kind
    owner: str
    group: str
    mode: str
    size: int
    modified: datetime
    inode: str = ""
    target: str = ""
    tags: tuple[str, ...] = ()
    locked_by: str = ""
    locked_until: datetime | None = None


class Inode(Record, frozen=True):
    """What a file holds, wherever it moves: a text, or names and texts packed in an archive."""

    id: str
    text: str = ""
    members: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """How many bytes that is."""
        packed = sum(len(text.encode()) for _, text in self.members)
        return len(self.text.encode()) + packed


class Version(Record, frozen=True):
    """What a file held before a change; the text itself is kept out of lists."""

    id: str
    inode: str
    name: str
    saved_at: datetime
    size: int
    preview: str
    text: str = ""


class TrashEntry(Record, frozen=True):
    """Something the acting user threw away; the nodes themselves are kept out of lists."""

    id: str
    name: str
    path: str
    kind: Kind
    size: int
    deleted_at: datetime
    nodes: tuple[Node, ...] = ()


class User(Record, frozen=True):
    """Somebody with an account on the machine; the first group is that of their new files."""

    login: str
    full_name: str
    home: str
    groups: tuple[str, ...]
    quota: int
    used: int


class Shell(Record, frozen=True):
    """Who is at work, and in which directory."""

    id: str
    user: str
    directory: str


def join(parent: str, name: str) -> str:
    """The path of a name in a directory."""
    return f"/{name}" if parent == "/" else f"{parent}/{name}"


def split_lines(text: str) -> list[str]:
    """The lines of a text; a line break at the end begins no further line."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")
