"""The records of a smart home: rooms, devices, what they measured, and routines."""

from datetime import date, datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from provegym.kernel import Record

SensorKind = Literal["thermometer", "hygrometer", "light_sensor", "air_sensor"]
ActuatorKind = Literal["thermostat", "light", "blind", "valve", "plug", "fan"]
DeviceKind = SensorKind | ActuatorKind | Literal["lock"]
DeviceStatus = Literal["online", "offline", "updating", "locked_out"]
Side = Literal["above", "below"]
Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEK: tuple[Weekday, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


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

    @property
    def span(self) -> int:
        """How far its highest level or reading is from the lowest."""
        return self.highest - self.lowest


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

    def is_past(self, reading: float) -> bool:
        """Whether a reading is past the threshold."""
        if self.when == "above":
            return reading > self.threshold
        return reading < self.threshold


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
