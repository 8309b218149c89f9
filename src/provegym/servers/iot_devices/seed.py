"""Draws a smart home, lets it run for some days, and leaves it as one finds it on a weekday."""

from datetime import timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words

from .records import WEEK, Device, Household, Setting
from .state import Home, following, server

WORDS = words("iot_devices")


@server.seed
def draw(seed: Seed) -> Home:
    """A household with forty devices, five days of history, and some trouble."""
    home = Home(seed)
    chance = seed.random
    home.now -= timedelta(days=5)
    family = people.acting_user(seed).family
    home.households.put(Household(id="home", name=f"{family} household"))
    for name in chance.sample(WORDS["rooms"], 7):
        home.rooms.add(name=name, floor=chance.randint(0, 2))
    _install_devices(home, chance)
    _set_door_codes(home, chance)
    settable = [device for device in home.devices if device.watts and device.owner == "household"]
    _add_scenes(home, chance, settable)
    _add_groups(home, chance)
    _add_automations(home, chance, settable)
    _add_schedules(home, chance, settable)
    home.pass_time(5 * 24 * 60)
    _make_trouble(home, chance, settable)
    return home


def _install_devices(home: Home, chance: Random) -> None:
    """Devices of every kind, in random order."""
    devices = []
    for kind in WORDS["kinds"]:
        devices += _draw_devices(home, chance, kind)
    for fields in chance.sample(devices, len(devices)):
        home.devices.add(**fields)


def _draw_devices(home: Home, chance: Random, kind: str) -> list[dict[str, Any]]:
    """The fields of some devices of one kind, in different places."""
    plan = WORDS["kinds"][kind]
    places = [(room, noun) for room in home.rooms for noun in plan["nouns"]]
    devices = []
    for at, (room, noun) in enumerate(chance.sample(places, plan["count"])):
        lowest = chance.choice(plan["lowest"])
        highest = chance.choice(plan["highest"])
        major = chance.randint(1, 6)
        minor = chance.randint(0, 9)
        fields = {
            "name": f"{room.name} {noun}",
            "kind": kind,
            "room_id": room.id,
            "room_name": room.name,
            "unit": plan["unit"],
            "lowest": lowest,
            "highest": highest,
            "level": chance.randint(lowest, highest),
            "firmware": f"{major}.{minor}",
            "newest_firmware": f"{major}.{minor + chance.choice((0, 1, 3))}",
        }
        if kind == "lock":
            may_be_open = at == 0
            weak = at == 3
            fields["level"] = 0 if may_be_open and chance.random() >= 0.35 else 1
            fields["battery"] = 9 if weak else chance.randint(40, 99)
        elif "watts" in plan:
            fields["watts"] = chance.randint(*plan["watts"])
            fields["owner"] = "building" if at == 0 and plan["count"] > 2 else "household"
        else:
            fields["level"] = 0
            fields["reading"] = float(lowest)
            fields["battery"] = chance.randint(6, 99)
        devices.append(fields)
    return devices


def _set_door_codes(home: Home, chance: Random) -> None:
    """Two codes for every lock."""
    locks = home.devices.where(kind="lock")
    for lock in [*locks, *locks]:
        home.codes.add(device_id=lock.id, code=f"{chance.randrange(10_000):04d}")


def _add_scenes(home: Home, chance: Random, settable: list[Device]) -> None:
    """Seven scenes for two to four devices each; every third came with the home."""
    for at, name in enumerate(chance.sample(WORDS["scenes"], 7)):
        settings = []
        for device in chance.sample(settable, chance.randint(2, 4)):
            level = chance.randint(device.lowest, device.highest)
            settings.append(Setting(device_id=device.id, level=level))
        home.scenes.add(name=name, settings=tuple(settings), built_in=at % 3 == 0)


def _add_groups(home: Home, chance: Random) -> None:
    """Two groups of three devices for some of the kinds."""
    for kind, names in WORDS["groups"].items():
        for name in chance.sample(names, 2):
            members = chance.sample(home.devices.where(kind=kind), 3)
            home.groups.add(name=name, device_ids=tuple(device.id for device in members))


def _add_automations(home: Home, chance: Random, settable: list[Device]) -> None:
    """Eleven automations; the last one is disabled and does the same as the first."""
    sensors = [device for device in home.devices if device.reading is not None]
    pairs = [(chance.choice(sensors), device) for device in chance.sample(settable, 10)]
    for at, (sensor, device) in enumerate([*pairs, pairs[0]]):
        level = chance.randint(device.lowest, device.highest)
        when = "above" if at % 2 == 0 else "below"
        threshold = float(chance.randint(sensor.lowest + 1, sensor.highest - 1))
        home.automations.add(
            name=f"{device.name} {level} when {sensor.name} {when} {threshold:g}",
            sensor_id=sensor.id,
            sensor_name=sensor.name,
            when=when,
            threshold=threshold,
            device_id=device.id,
            device_name=device.name,
            level=level,
            enabled=at < 8,
            safety=at in (2, 3),
        )


def _add_schedules(home: Home, chance: Random, settable: list[Device]) -> None:
    """A weekly schedule for each of nine devices."""
    for device in chance.sample(settable, 9):
        time_of_day = f"{chance.randrange(5, 23):02d}:{chance.randrange(0, 60, 5):02d}"
        days = tuple(chance.sample(WEEK, chance.randint(1, 5)))
        home.schedules.add(
            device_id=device.id,
            device_name=device.name,
            level=chance.randint(device.lowest, device.highest),
            time_of_day=time_of_day,
            days=days,
            next_at=following(home.now, time_of_day, days),
        )


def _make_trouble(home: Home, chance: Random, settable: list[Device]) -> None:
    """One device is updating, three are offline, and four have their child lock on."""
    for at, device in enumerate(chance.sample(settable, 8)):
        back_at = home.now + timedelta(minutes=chance.randint(10, 600))
        if at == 0:
            home.devices.update(device.id, status="updating", back_at=back_at)
        elif at < 4:
            home.devices.update(device.id, status="offline", back_at=back_at)
        else:
            home.devices.update(device.id, child_lock=True)
