"""What a smart home knows, what its clock brings about, and what is always true of it."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from provegym.kernel import Denied, Record, Server, State, Table, forbid, table

SensorKind = Literal["thermometer", "hygrometer", "light_sensor", "air_sensor"]
ActuatorKind = Literal["thermostat", "light", "blind", "valve", "plug", "fan"]
DeviceKind = SensorKind | ActuatorKind | Literal["lock"]
DeviceStatus = Literal["online", "offline", "updating", "locked_out"]
Side = Literal["above", "below"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEK: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LOW_BATTERY, FROST_GUARD, MAX_WRONG_CODES = 15, 16, 3
EPOCH, HOUR, KEPT = datetime(2026, 1, 1, tzinfo=UTC), timedelta(hours=1), timedelta(days=9)


class Room(Record, frozen=True):
    """Part of the home."""

    id: str
    name: str
    floor: int


class Device(Record, frozen=True):
    """A sensor with its last reading, or something with a level; for a lock, 1 means locked."""

    id: str
    name: str
    kind: DeviceKind
    room_id: str
    room_name: str
    unit: str
    lowest: int
    highest: int
    level: int
    firmware: str
    newest_firmware: str
    owner: Literal["household", "building"] = "household"
    reading: float | None = None
    watts: int = 0
    status: DeviceStatus = "online"
    back_at: datetime | None = None
    battery: int | None = None
    child_lock: bool = False
    wrong_codes: int = 0


class DoorCode(Record, frozen=True):
    """A secret that opens a lock; no tool shows it."""

    id: str
    device_id: str
    code: str


class Reading(Record, frozen=True):
    """What a sensor measured on the hour."""

    at: datetime
    value: float


class DeviceDay(Record, frozen=True):
    """What a device measured, or the energy it used, on one day."""

    id: str
    device_id: str
    device_name: str
    day: date
    watt_hours: int = 0
    readings: tuple[Reading, ...] = ()


class Setting(Struct, frozen=True):
    """The level a scene gives to a device."""

    device_id: Annotated[str, Meta(max_length=40, description='An actuator, e.g. "dev_512".')]
    level: Annotated[int, Meta(ge=0, le=100, description="Its level, within its limits.")]


class Scene(Record, frozen=True):
    """Levels for several devices at once; the ones that came with the home stay."""

    id: str
    name: str
    settings: tuple[Setting, ...]
    built_in: bool = False


class DeviceGroup(Record, frozen=True):
    """Devices that are set together; `skipped` names those that did not take the last level."""

    id: str
    name: str
    device_ids: tuple[str, ...]
    skipped: tuple[str, ...] = ()


class Automation(Record, frozen=True):
    """Sets a device when a sensor's reading passes a threshold; `met` tells if it is past it."""

    id: str
    name: str
    sensor_id: str
    sensor_name: str
    when: Side
    threshold: float
    device_id: str
    device_name: str
    level: int
    enabled: bool = True
    safety: bool = False
    met: bool = False
    last_run: datetime | None = None
    last_result: Literal["done", "blocked", "conflict"] | None = None


class DeviceSchedule(Record, frozen=True):
    """Sets a device at a time of some days of the week; `missed` counts when it could not."""

    id: str
    device_id: str
    device_name: str
    level: int
    time_of_day: str
    days: tuple[Weekday, ...]
    next_at: datetime
    missed: int = 0


class Household(Record, frozen=True):
    """Who lives here, and until when they are on vacation."""

    id: str
    name: str
    vacation_until: datetime | None = None


class Home(State):
    """The smart home of one household."""

    households: Table[Household] = table(Household)
    rooms: Table[Room] = table(Room, "hrm", look_up="list_home_rooms")
    devices: Table[Device] = table(Device, "dev", look_up="list_home_devices")
    codes: Table[DoorCode] = table(DoorCode, "dcd")
    days: Table[DeviceDay] = table(DeviceDay, most=10**6)
    scenes: Table[Scene] = table(Scene, "scn", look_up="list_scenes")
    groups: Table[DeviceGroup] = table(DeviceGroup, "dgr", look_up="list_device_groups")
    automations: Table[Automation] = table(Automation, "aut", look_up="list_home_automations")
    schedules: Table[DeviceSchedule] = table(DeviceSchedule, "dsc", look_up="list_device_schedules")

    @property
    def vacation(self) -> datetime | None:
        """Until when the household is on vacation."""
        return self.households["home"].vacation_until

    def owned(self, device_id: str) -> Device:
        """A device that the household may change."""
        device = self.devices[device_id]
        theirs = device.owner == "building"
        forbid(theirs, f"{device.name} belongs to the building; ask the caretaker", Denied)
        return device

    def reachable(self, device_id: str) -> Device:
        """A device that the household may change and that listens now."""
        device = self.owned(device_id)
        gone = device.status != "online"
        forbid(gone, f"{device.name} is {device.status} and comes back at {device.back_at}")
        return device

    def sensor(self, device_id: str) -> Device:
        """A device that measures."""
        device = self.devices[device_id]
        forbid(device.reading is None, f"{device.name} measures nothing; choose a sensor")
        return device

    def actuator(self, device_id: str, level: int) -> Device:
        """A device whose limits allow this level."""
        device = self.devices[device_id]
        forbid(device.reading is not None, f"{device.name} only measures; choose an actuator")
        forbid(device.kind == "lock", f"{device.name} is a lock; use lock_door or unlock_door")
        fits = device.lowest <= level <= device.highest
        forbid(not fits, f"{device.name} takes levels from {device.lowest} to {device.highest}")
        return device

    def ready(self, device_id: str, level: int) -> Device:
        """An actuator that takes this level from the user now."""
        device = self.actuator(self.reachable(device_id).id, level)
        forbid(device.child_lock, f"{device.name} has its child lock on; take that off first")
        warm = self.too_warm(device, level)
        forbid(warm, f"on vacation {device.name} stays at {FROST_GUARD} or below")
        return device

    def too_warm(self, device: Device, level: int) -> bool:
        """Whether a level would heat a home where nobody is."""
        return bool(self.vacation) and device.kind == "thermostat" and level > FROST_GUARD

    def door(self, device_id: str) -> Device:
        """A door lock that can be operated from afar now."""
        device = self.reachable(device_id)
        forbid(device.kind != "lock", f"{device.name} is no lock; list_home_devices shows locks")
        weak = (device.battery or 100) < LOW_BATTERY
        forbid(weak, f"the battery of {device.name} is too low; it can be used by key only")
        return device

    def forbid_rivals(self, sensor_id: str, when: Side, device_id: str) -> None:
        """Refuse a second enabled automation for the same device and occasion."""
        for rule in self.automations.where(device_id=device_id, sensor_id=sensor_id, when=when):
            forbid(rule.enabled, f"{rule.name} ({rule.id}) does that already; disable it first")

    def drive(self, device_id: str, level: int) -> bool:
        """Let a routine set a device, if it can; a child lock keeps out people only."""
        device = self.devices[device_id]
        if device.status == "online" and not self.too_warm(device, level):
            return bool(self.devices.update(device_id, level=level))
        return False

    def next_event(self) -> datetime:
        """The next full hour, or before it a return, the end of a wait, or a schedule."""
        times = [self.vacation, *(plan.next_at for plan in self.schedules)]
        times += (full_hour(self.now) + HOUR, *(device.back_at for device in self.devices))
        return min(time for time in times if time)

    def happen(self) -> None:
        """Bring devices back, end waits, run schedules, and on the hour all that is hourly."""
        now = self.now
        for device in self.devices.where(back_at=now):
            newest = device.newest_firmware if device.status == "updating" else device.firmware
            fields = {"status": "online", "back_at": None, "firmware": newest, "wrong_codes": 0}
            self.devices.update(device.id, **fields)
        if self.vacation == now:
            self.households.update("home", vacation_until=None)
        for plan in self.schedules.where(next_at=now):
            missed = plan.missed + bool(self.vacation or not self.drive(plan.device_id, plan.level))
            later = following(now, plan.time_of_day, plan.days)
            self.schedules.update(plan.id, missed=missed, next_at=later)
        if now == full_hour(now):
            self.measure()
            self.automate()

    def measure(self) -> None:
        """Read the sensors and meters; a room drifts towards what its thermostat is set to."""
        heating = self.devices.where(kind="thermostat")
        targets = {("thermometer", device.room_id): device.level for device in heating}
        hours, today = (self.now - EPOCH) // HOUR, self.now.date()
        for past in [day for day in self.days if day.day < today - KEPT]:
            self.days.remove(past.id)
        for device in self.devices.where(status="online"):
            key, span = f"{today}/{device.id}", device.highest - device.lowest
            new = DeviceDay(id=key, device_id=device.id, device_name=device.name, day=today)
            day, last = self.days.get(key) or new, device.reading
            if last is None:
                used = device.watts * (device.level - device.lowest) // span
                self.days.put(replace(day, watt_hours=day.watt_hours + used))
                continue
            sunny = device.lowest + span * (1 - abs(14 - self.now.hour) / 14)
            goal = targets.get((device.kind, device.room_id), sunny)
            noise = (hours * 7919 + int(device.id[4:]) * 104_729) % 1009 / 1009 - 0.5
            value = last + (goal - last) * 0.3 + span * noise * 0.1
            value = round(min(max(value, device.lowest), device.highest), 1)
            left = device.battery and max(1, device.battery - (self.now.hour == 0))
            self.devices.update(device.id, reading=value, battery=left)
            self.days.put(replace(day, readings=(*day.readings, Reading(self.now, value))))

    def automate(self) -> None:
        """Run what a reading has just set off; of two that set one device, the older one counts."""
        driven: dict[str, int] = {}
        for rule in self.automations.where(enabled=True):
            value = self.sensor(rule.sensor_id).reading or 0
            met = value > rule.threshold if rule.when == "above" else value < rule.threshold
            changes: dict[str, Any] = {"met": met}
            if met and not rule.met:
                rival = driven.setdefault(rule.device_id, rule.level) != rule.level
                done = not rival and self.drive(rule.device_id, rule.level)
                result = "conflict" if rival else "done" if done else "blocked"
                changes |= {"last_run": self.now, "last_result": result}
            self.automations.update(rule.id, **changes)

    def check(self) -> None:
        """Values keep to limits, references hold, energy only grows, waits and lock-outs fit."""
        assert self.vacation is None or self.vacation > self.now
        for device in self.devices:
            value = device.level if device.reading is None else device.reading
            assert device.lowest <= value <= device.highest
            assert device.room_id in self.rooms
            assert (device.status != "online") == ((device.back_at or self.now) > self.now)
            assert (device.status == "locked_out") == (device.wrong_codes == MAX_WRONG_CODES)
            assert device.kind == "lock" or device.wrong_codes == 0
        for _, before, after in self.days.touched():
            assert not (before and after) or after.watt_hours >= before.watt_hours
        active = [(r.sensor_id, r.when, r.device_id) for r in self.automations if r.enabled]
        assert len(set(active)) == len(active)
        assert all(self.sensor(rule.sensor_id) for rule in self.automations)
        settings = [setting for scene in self.scenes for setting in scene.settings]
        for part in (*self.automations, *self.schedules, *settings):
            self.actuator(part.device_id, part.level)
        for plan in self.schedules:
            assert plan.next_at == following(self.now, plan.time_of_day, plan.days)
        assert all(key in self.devices for group in self.groups for key in group.device_ids)


def full_hour(at: datetime) -> datetime:
    """The last full hour."""
    return at.replace(minute=0, second=0, microsecond=0)


def following(after: datetime, time_of_day: str, days: Sequence[Weekday]) -> datetime:
    """When a schedule is next due."""
    hour, minute = (int(part) for part in time_of_day.split(":"))
    today = full_hour(after).replace(hour=hour, minute=minute)
    times = [today + timedelta(days=ahead) for ahead in range(8)]
    return next(time for time in times if time > after and WEEK[time.weekday()] in days)


about = "Rooms, sensors, actuators, door locks, scenes, schedules and automations of a smart home."
server = Server("iot_devices", Home, category="devices", about=about)
