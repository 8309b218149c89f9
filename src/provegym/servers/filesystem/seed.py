"""Draws a shared computer: homes, common folders, logs and scratch files of four people."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from msgspec.structs import replace

from provegym.kernel import Seed
from provegym.servers import people, words

from .records import Shell, User, join, split_lines
from .state import Disk, server

WORDS = words("filesystem")


class Filler:
    """Fills the slots of a template, each with any one word of its list."""

    def __init__(self, chance: Random, lists: dict[str, Sequence[str]]) -> None:
        self.chance, self.lists = chance, lists

    def __getitem__(self, slot: str) -> str:
        return self.chance.choice(self.lists[slot])

    def text(self, form: dict[str, Any], owner: str) -> str:
        """What a file of some form says."""
        self.lists["owner"] = [owner]
        lines = self.chance.choices(form["lines"], k=self.chance.randint(*form["count"]))
        return "".join(f"{line}\n".format_map(self) for line in [*form["head"], *lines])

    def before(self, moment: datetime, days: int) -> datetime:
        """Some minute of the days before a moment."""
        return moment - timedelta(minutes=self.chance.randrange(30, days * 24 * 60))


@server.seed
def draw(seed: Seed) -> Disk:
    """The machine of the acting user and three others, with a past of some months."""
    disk, chance, crowd = Disk(seed), seed.random, people.others(seed, 12)
    roles = dict(zip(WORDS["members"], [people.acting_user(seed), *crowd], strict=False))
    logins = {role: [person.handle] for role, person in roles.items()}
    lists = {**WORDS["slots"], **logins, "root": ["root"], "users": ["users"]}
    lists["anyone"] = [person.handle for person in roles.values()]
    lists["date"] = [f"{seed.now - timedelta(days=age):%Y-%m-%d}" for age in range(200)]
    lists["number"] = [str(number) for number in range(10, 100)]
    lists["person"] = [person.name for person in crowd]
    for slot, known in WORDS["once"].items():
        for number, word in enumerate(chance.sample(known, 8), start=1):
            lists[f"{slot}{number}"] = [word]
    room: dict[str, Any] = {"quota": 10**6, "used": 0}
    disk.users.put(User(login="root", full_name="System", home="/", groups=("root",), **room))
    for role, person in chance.sample(list(roles.items()), len(roles)):
        fields = {"full_name": person.name, "home": f"/home/{person.handle}", **room}
        groups = ("users", *(lists[group][0] for group in WORDS["members"][role]))
        disk.users.put(User(login=person.handle, groups=groups, **fields))
    filler = Filler(chance, lists)
    disk.shells.put(Shell(id="me", user=filler["me"], directory="/"))
    _plant(disk, filler)
    _use(disk, filler)
    _throw_away(disk, filler)
    for user in list(disk.users):
        disk.users.update(user.login, quota=user.used + chance.randrange(4_000, 9_000))
    return disk


def _plant(disk: Disk, filler: Filler) -> None:
    """Make the directories, then the files in an order that tells nothing about them."""
    topics, forms, chance = WORDS["topic"], WORDS["forms"], filler.chance
    names = {
        form: [pattern.format(topic=topic) for pattern in about["names"] for topic in topics]
        for form, about in forms.items()
    }
    files: list[tuple[str, str, dict[str, Any]]] = []
    for place in WORDS["places"]:
        path, owner = place["path"].format_map(filler), filler[place.get("owner", "root")]
        group = filler[place.get("group", "root" if owner == "root" else "users")]
        fields = {"owner": owner, "group": group, "mode": place.get("mode", "755")}
        disk.create(path, "directory", modified=filler.before(disk.now, 170), **fields)
        for form in place.get("files", ()):
            name = names[form].pop(chance.randrange(len(names[form])))
            owner = filler[place["by"]] if "by" in place else owner
            mode = chance.choice(place.get("file_mode", WORDS["file_mode"]))
            modified = filler.before(disk.now, place.get("days", 170))
            rights = {"owner": owner, "group": group, "mode": mode, "modified": modified}
            files.append((join(path, name), filler.text(forms[form], owner), rights))
    for path, text, rights in chance.sample(files, len(files)):
        disk.create_file(path, text, **rights)


def _use(disk: Disk, filler: Filler) -> None:
    """What people did with the files: archives, links, locks, former versions, tags."""
    chance, now, home = filler.chance, disk.now, disk.me.home
    mine = [n for n in disk.nodes if n.path.startswith(f"{home}/") and n.kind == "file"]
    common = [n for n in disk.nodes if n.path.startswith("/shared/") and n.kind == "file"]
    disk.shells.update("me", directory=chance.choice(mine).parent)
    for topic in chance.sample(WORDS["topic"], 10):
        packed = [(n.name, disk.inodes[n.inode].text) for n in chance.sample(mine, 3)]
        path = join(chance.choice(mine).parent, f"{topic}-archive.zip")
        disk.create_file(path, "", *packed, modified=filler.before(now, 90))
    circle = f"{home}/Desktop/{chance.choice(WORDS['topic'])}"
    links = [(join(chance.choice(mine).parent, f"latest-{n.name}"), n.path) for n in common[:5]]
    for path, target in [*links, (circle, circle)]:
        disk.create(path, "symlink", target=target, mode="777", modified=filler.before(now, 60))
    for node in chance.sample(mine, 8) + chance.sample(common, 4):
        until = now + timedelta(minutes=chance.randrange(60, 4_000))
        disk.nodes.update(node.path, locked_by=node.owner, locked_until=until)
    for node in chance.sample(mine, 20):
        lines = split_lines(disk.inodes[node.inode].text)
        for lost in chance.sample((1, 2, 3), chance.randint(1, 2)):
            text = "".join(f"{line}\n" for line in lines[:-lost])
            disk.keep_version(node, text, filler.before(node.modified, 30))
    for node in chance.sample(mine, 30):
        disk.nodes.update(node.path, tags=tuple(chance.sample(WORDS["tags"], chance.randint(1, 2))))


def _throw_away(disk: Disk, filler: Filler) -> None:
    """Fill the trash; of some things the name is taken again, of others the directory is gone."""
    home, gone = disk.me.home, f"{disk.me.home}/Documents/{filler['folder8']}"
    free = [n for n in disk.nodes if n.path.startswith(home) and n.inode and not n.locked_until]
    for number, node in enumerate(filler.chance.sample(free, 10)):
        disk.nodes.remove(node.path)
        deleted_at = filler.before(disk.now, 28)
        if number < 3:
            held, modified = disk.inodes[node.inode], filler.before(disk.now, 1)
            disk.create_file(node.path, held.text, *held.members, modified=modified)
        elif number < 5:
            node = replace(node, path=join(gone, node.name), parent=gone)
        fields = {"name": node.name, "path": node.path, "kind": node.kind, "size": node.size}
        disk.trash.add(deleted_at=deleted_at, nodes=(node,), **fields)
