"""What bounds a disk: rights, sizes, times, and what may not be changed."""

from datetime import datetime, time, timedelta

from provegym.kernel import Rejected

from .records import Inode, Node

READ = 4
WRITE = 2
ENTER = 1
RIGHTS = {READ: "read", WRITE: "write to", ENTER: "enter", READ | ENTER: "list"}
MAX_BYTES = 8_000
MAX_ARCHIVE_BYTES = 32_000
MAX_LINE = 400
MAX_NAME = 60
MAX_PATH = 180
MAX_DEPTH = 16
MAX_LINKS = 8
MAX_TREE = 200
KEPT_VERSIONS = 5
MAX_TAGS = 5
READ_ONLY = "/backup"
SWEPT = "/tmp/"
SWEPT_AFTER = timedelta(days=7)
PURGED_AFTER = timedelta(days=30)
NIGHT = time(3)


def night_after(moment: datetime) -> datetime:
    """The first time after a moment that the nightly clearing runs."""
    night = datetime.combine(moment.date(), NIGHT, moment.tzinfo)
    return night if night > moment else night + timedelta(days=1)


def refuse_bad_name(name: str) -> None:
    """Refuse what cannot be the name of anything in a directory."""
    has_room = 1 <= len(name.encode()) <= MAX_NAME
    is_plain = "/" not in name and name.isprintable() and name == name.strip()
    is_reserved = name in (".", "..")
    if not has_room or not is_plain or is_reserved:
        rule = f"1 to {MAX_NAME} bytes, no '/', control characters or blanks around it"
        raise Rejected(f"that is no name: {rule}")


def refuse_oversize(inode: Inode) -> None:
    """Refuse contents that are longer than a file may be."""
    limit = MAX_ARCHIVE_BYTES if inode.members else MAX_BYTES
    if inode.size > limit:
        raise Rejected(f"a file holds at most {limit} bytes and this makes {inode.size}")
    if any(len(line) > MAX_LINE for line in inode.text.split("\n")):
        raise Rejected(f"a line has at most {MAX_LINE} characters; break the long ones")


def refuse_fixed(node: Node) -> None:
    """Refuse to change what is locked or lies on the read-only disk."""
    if f"{node.path}/".startswith(f"{READ_ONLY}/"):
        raise Rejected(f"{READ_ONLY} is mounted read-only; copy the file elsewhere and use that")
    if node.locked_until:
        lock = f"by {node.locked_by} until {node.locked_until:%Y-%m-%d %H:%M} UTC"
        raise Rejected(f"{node.path} is locked {lock}; see unlock_file")
