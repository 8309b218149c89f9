"""Draws a smart home, lets it run for some days, and leaves it as one finds it on a weekday."""

from datetime import timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import WEEK, Device, Home, Household, Setting, following, server

WORDS = words("iot_devices")


@server.seed
def draw(seed: Seed) -> Home:
    """A household with forty devices, five days of history, and some trouble."""
    home, chance = Home(seed), seed.random
    home.now -= timedelta(days=5)
    home.households.put(Household(id="home", name=f"{people.acting_user(seed).family} household"))
    for name in chance.sample(WORDS["rooms"], 7):
        home.rooms.add(name=name, floor=chance.randint(0, 2))
    plans = [fields for kind in WORDS["kinds"] for fields in _devices(home, chance, kind)]
    for fields in chance.sample(plans, len(plans)):
        home.devices.add(**fields)
    for lock in home.devices.where(kind="lock") * 2:
        home.codes.add(device_id=lock.id, code=f"{chance.randrange(10_000):04d}")
    mine = [d for d in home.devices if d.watts and d.owner == "household"]
    for at, name in enumerate(chance.sample(WORDS["scenes"], 7)):
        chosen = chance.sample(mine, chance.randint(2, 4))
        settings = tuple(Setting(d.id, chance.randint(d.lowest, d.highest)) for d in chosen)
        home.scenes.add(name=name, settings=settings, built_in=at % 3 == 0)
    for kind, names in WORDS["groups"].items():
        for name in chance.sample(names, 2):
            members = chance.sample(home.devices.where(kind=kind), 3)
            home.groups.add(name=name, device_ids=tuple(device.id for device in members))
    _teach(home, chance, mine)
    home.pass_time(5 * 24 * 60)
    for at, device in enumerate(chance.sample(mine, 8)):
        back = home.now + timedelta(minutes=chance.randint(10, 600))
        away = {"status": "offline" if at else "updating", "back_at": back}
        home.devices.update(device.id, **(away if at < 4 else {"child_lock": True}))
    return home


def _devices(home: Home, chance: Random, kind: str) -> list[dict[str, Any]]:
    """Devices of one kind in different places."""
    plan, drawn = WORDS["kinds"][kind], []
    places = [(room, noun) for room in home.rooms for noun in plan["nouns"]]
    for at, (room, noun) in enumerate(chance.sample(places, plan["count"])):
        low, high = chance.choice(plan["lowest"]), chance.choice(plan["highest"])
        major, minor = chance.randint(1, 6), chance.randint(0, 9)
        fields = {"kind": kind, "name": f"{room.name} {noun}", "unit": plan["unit"]}
        fields |= {"room_id": room.id, "room_name": room.name, "lowest": low, "highest": high}
        fields |= {"firmware": f"{major}.{minor}", "level": chance.randint(low, high)}
        fields["newest_firmware"] = f"{major}.{minor + chance.choice((0, 1, 3))}"
        if kind == "lock":
            shut = at > 0 or chance.random() < 0.35
            fields |= {"level": int(shut), "battery": chance.randint(40, 99) if at < 3 else 9}
        elif "watts" in plan:
            fields["watts"] = chance.randint(*plan["watts"])
            fields["owner"] = "building" if at == 0 and plan["count"] > 2 else "household"
        else:
            fields |= {"reading": float(low), "battery": chance.randint(6, 99), "level": 0}
        drawn.append(fields)
    return drawn


def _teach(home: Home, chance: Random, mine: list[Device]) -> None:
    """Automations, of which one that is disabled rivals another, and weekly schedules."""
    sensors = [device for device in home.devices if device.reading is not None]
    pairs = [(chance.choice(sensors), device) for device in chance.sample(mine, 10)]
    for at, (sensor, device) in enumerate([*pairs, pairs[0]]):
        level, when = chance.randint(device.lowest, device.highest), ("above", "below")[at % 2]
        threshold = float(chance.randint(sensor.lowest + 1, sensor.highest - 1))
        name = f"{device.name} {level} when {sensor.name} {when} {threshold:g}"
        fields = {"sensor_id": sensor.id, "sensor_name": sensor.name, "level": level, "when": when}
        fields |= {"device_id": device.id, "device_name": device.name, "enabled": at < 8}
        home.automations.add(name=name, threshold=threshold, safety=1 < at < 4, **fields)
    for device in chance.sample(mine, 9):
        time = f"{chance.randrange(5, 23):02d}:{chance.randrange(0, 60, 5):02d}"
        days = tuple(chance.sample(WEEK, chance.randint(1, 5)))
        fields = {"device_id": device.id, "device_name": device.name, "time_of_day": time}
        fields |= {"days": days, "next_at": following(home.now, time, days)}
        home.schedules.add(level=chance.randint(device.lowest, device.highest), **fields)
