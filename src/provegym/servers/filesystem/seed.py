"""Draws a shared computer: homes, common folders, logs and scratch files of four people."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from provegym.kernel import Seed
from provegym.servers import people, words
from provegym.servers.people import Person

from .records import Node, Shell, User, join, split_lines
from .state import Disk, server

WORDS = words("filesystem")
PLENTY = 10**6


class Filler:
    """Fills the slots of a template, each with any one word of its list."""

    def __init__(self, chance: Random, lists: dict[str, Sequence[str]]) -> None:
        self.chance = chance
        self.lists = lists

    def __getitem__(self, slot: str) -> str:
        # Even a list of one word costs a draw, so the order of look-ups is part of a world.
        return self.chance.choice(self.lists[slot])

    def text(self, form: dict[str, Any], owner: str) -> str:
        """What a file of some form says."""
        self.lists["owner"] = [owner]
        fewest, most = form["count"]
        count = self.chance.randint(fewest, most)
        lines = form["head"] + self.chance.choices(form["lines"], k=count)
        return "".join(f"{line}\n".format_map(self) for line in lines)

    def before(self, moment: datetime, days: int) -> datetime:
        """Some minute of the days before a moment."""
        return moment - timedelta(minutes=self.chance.randrange(30, days * 24 * 60))


class File(NamedTuple):
    """A file that is yet to be put on the disk."""

    path: str
    text: str
    owner: str
    group: str
    mode: str
    modified: datetime


@server.seed
def draw(seed: Seed) -> Disk:
    """The machine of the acting user and three others, with a past of some months."""
    disk = Disk(seed)
    chance = seed.random
    crowd = people.others(seed, 12)
    persons = [people.acting_user(seed), *crowd]
    roles = dict(zip(WORDS["members"], persons, strict=False))
    lists = _word_lists(seed, roles, crowd)
    _add_users(disk, chance, roles, lists)
    filler = Filler(chance, lists)
    disk.shells.put(Shell(id="me", user=filler["me"], directory="/"))
    _add_directories_and_files(disk, filler)
    mine = _files_below(disk, disk.me.home)
    common = _files_below(disk, "/shared")
    disk.shells.update("me", directory=chance.choice(mine).parent)
    _pack_archives(disk, filler, mine)
    _add_links(disk, filler, mine, common)
    _lock(disk, chance, chance.sample(mine, 8) + chance.sample(common, 4))
    _keep_versions(disk, filler, chance.sample(mine, 20))
    _tag(disk, chance, chance.sample(mine, 30))
    _throw_away(disk, filler)
    for user in list(disk.users):
        disk.users.update(user.login, quota=user.used + chance.randrange(4_000, 9_000))
    return disk


def _word_lists(
    seed: Seed, roles: dict[str, Person], crowd: list[Person]
) -> dict[str, Sequence[str]]:
    """The words for every slot of the templates; some are the same throughout a world."""
    lists: dict[str, Sequence[str]] = dict(WORDS["slots"])
    for role, person in roles.items():
        lists[role] = [person.handle]
    lists["root"] = ["root"]
    lists["users"] = ["users"]
    lists["anyone"] = [person.handle for person in roles.values()]
    lists["date"] = [f"{seed.now - timedelta(days=age):%Y-%m-%d}" for age in range(200)]
    lists["number"] = [str(number) for number in range(10, 100)]
    lists["person"] = [person.name for person in crowd]
    for slot, known in WORDS["once"].items():
        for number, word in enumerate(seed.random.sample(known, 8), start=1):
            lists[f"{slot}{number}"] = [word]
    return lists


def _add_users(
    disk: Disk, chance: Random, roles: dict[str, Person], lists: dict[str, Sequence[str]]
) -> None:
    """The system's account and those of the four people; quotas are set at the end."""
    disk.users.put(
        User(login="root", full_name="System", home="/", groups=("root",), quota=PLENTY, used=0)
    )
    for role, person in chance.sample(list(roles.items()), len(roles)):
        groups = [lists[group][0] for group in WORDS["members"][role]]
        disk.users.put(
            User(
                login=person.handle,
                full_name=person.name,
                home=f"/home/{person.handle}",
                groups=("users", *groups),
                quota=PLENTY,
                used=0,
            )
        )


def _add_directories_and_files(disk: Disk, filler: Filler) -> None:
    """Make the directories, then the files in an order that tells nothing about them."""
    free_names = {
        form: [
            pattern.format(topic=topic) for pattern in about["names"] for topic in WORDS["topic"]
        ]
        for form, about in WORDS["forms"].items()
    }
    files: list[File] = []
    for place in WORDS["places"]:
        path = place["path"].format_map(filler)
        owner = filler[place.get("owner", "root")]
        group = filler[place.get("group", "root" if owner == "root" else "users")]
        disk.create(
            path,
            "directory",
            owner=owner,
            group=group,
            mode=place.get("mode", "755"),
            modified=filler.before(disk.now, 170),
        )
        for form in place.get("files", ()):
            names = free_names[form]
            name = names.pop(filler.chance.randrange(len(names)))
            author = filler[place["by"]] if "by" in place else owner
            mode = filler.chance.choice(place.get("file_mode", WORDS["file_mode"]))
            modified = filler.before(disk.now, place.get("days", 170))
            text = filler.text(WORDS["forms"][form], author)
            files.append(File(join(path, name), text, author, group, mode, modified))
    for file in filler.chance.sample(files, len(files)):
        disk.create_file(
            file.path,
            file.text,
            owner=file.owner,
            group=file.group,
            mode=file.mode,
            modified=file.modified,
        )


def _files_below(disk: Disk, directory_path: str) -> list[Node]:
    """The files below a directory."""
    below = [node for node in disk.nodes if node.path.startswith(f"{directory_path}/")]
    return [node for node in below if node.kind == "file"]


def _pack_archives(disk: Disk, filler: Filler, mine: list[Node]) -> None:
    """Ten archives, each with copies of three of the user's files."""
    chance = filler.chance
    for topic in chance.sample(WORDS["topic"], 10):
        packed = chance.sample(mine, 3)
        directory = chance.choice(mine).parent
        disk.create_file(
            join(directory, f"{topic}-archive.zip"),
            "",
            tuple((node.name, disk.inodes[node.inode].text) for node in packed),
            modified=filler.before(disk.now, 90),
        )


def _add_links(disk: Disk, filler: Filler, mine: list[Node], common: list[Node]) -> None:
    """Links to five of the common files, and one that leads to itself."""
    chance = filler.chance
    circle = f"{disk.me.home}/Desktop/{chance.choice(WORDS['topic'])}"
    links = [
        (join(chance.choice(mine).parent, f"latest-{node.name}"), node.path) for node in common[:5]
    ]
    links.append((circle, circle))
    for path, target in links:
        modified = filler.before(disk.now, 60)
        disk.create(path, "symlink", target=target, mode="777", modified=modified)


def _lock(disk: Disk, chance: Random, nodes: list[Node]) -> None:
    """Locks by the owners of files, for some days at most."""
    for node in nodes:
        until = disk.now + timedelta(minutes=chance.randrange(60, 4_000))
        disk.nodes.update(node.path, locked_by=node.owner, locked_until=until)


def _keep_versions(disk: Disk, filler: Filler, nodes: list[Node]) -> None:
    """One or two former versions of files, without their last lines."""
    chance = filler.chance
    for node in nodes:
        lines = split_lines(disk.inodes[node.inode].text)
        for missing in chance.sample((1, 2, 3), chance.randint(1, 2)):
            text = "".join(f"{line}\n" for line in lines[:-missing])
            disk.keep_version(node, text, filler.before(node.modified, 30))


def _tag(disk: Disk, chance: Random, nodes: list[Node]) -> None:
    """One or two tags on each of some files."""
    for node in nodes:
        tags = chance.sample(WORDS["tags"], chance.randint(1, 2))
        disk.nodes.update(node.path, tags=tuple(tags))


def _throw_away(disk: Disk, filler: Filler) -> None:
    """Fill the trash; of some things the name is taken again, of others the directory is gone."""
    home = disk.me.home
    gone = f"{home}/Documents/{filler['folder8']}"
    files = [node for node in disk.nodes if node.path.startswith(home) and node.inode]
    unlocked = [node for node in files if not node.locked_until]
    for number, node in enumerate(filler.chance.sample(unlocked, 10)):
        disk.nodes.remove(node.path)
        deleted_at = filler.before(disk.now, 28)
        if number < 3:
            held = disk.inodes[node.inode]
            modified = filler.before(disk.now, 1)
            disk.create_file(node.path, held.text, held.members, modified=modified)
        elif number < 5:
            node = replace(node, path=join(gone, node.name), parent=gone)
        disk.trash.add(
            name=node.name,
            path=node.path,
            kind=node.kind,
            size=node.size,
            deleted_at=deleted_at,
            nodes=(node,),
        )
