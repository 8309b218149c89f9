"""Tools for the devices of a smart home: look at them, set them, lock doors, update firmware."""

from datetime import date, timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Rejected, Sensitive, Time

from .records import (
    Device,
    DeviceDay,
    DeviceGroup,
    DeviceKind,
    DeviceStatus,
    Household,
    Reading,
    Room,
)
from .state import LOW_BATTERY, MAX_WRONG_CODES, SWITCHABLE, Home, server

Level = Annotated[int, Meta(ge=0, le=100)]
OnOff = Literal["on", "off"]

LOCK_OUT = timedelta(minutes=30)
UPDATE_TIME = timedelta(minutes=25)
LONGEST_VACATION = timedelta(days=60)


@server.read
def get_household(home: Home, /) -> Household:
    """Show whose smart home it is and until when it is in vacation mode, if it is."""
    return home.households["home"]


@server.read
def list_home_rooms(home: Home, /, name: str = "") -> list[Room]:
    """List the rooms of the smart home.

    Args:
        name: Only rooms whose name contains this.
    """
    return [room for room in home.rooms if name.lower() in room.name.lower()]


@server.read
def list_home_devices(
    home: Home,
    /,
    name: str = "",
    room_id: str | None = None,
    kind: DeviceKind | None = None,
    status: DeviceStatus | None = None,
) -> list[Device]:
    """List smart-home devices with level or reading, limits, status, battery and firmware.

    Args:
        name: Only devices whose name contains this.
        room_id: Only devices in this room, e.g. "hrm_31".
        kind: Only devices of this kind.
        status: Only devices with this status.
    """
    found = [device for device in home.devices if name.lower() in device.name.lower()]
    if room_id is not None:
        found = [device for device in found if device.room_id == room_id]
    if kind is not None:
        found = [device for device in found if device.kind == kind]
    if status is not None:
        found = [device for device in found if device.status == status]
    return found


@server.read
def list_sensor_readings(home: Home, /, device_id: str, day: date | None = None) -> list[Reading]:
    """List what a smart-home sensor measured, hour by hour in the last ten days, newest first.

    Args:
        device_id: The sensor, e.g. "dev_512".
        day: Only readings of this day, e.g. "2026-03-01".
    """
    sensor = home.sensor(device_id)
    records = home.days.where(device_id=sensor.id)
    if day is not None:
        records = [record for record in records if record.day == day]
    readings = [reading for record in records for reading in record.readings]
    return list(reversed(readings))


@server.read
def list_energy_use(
    home: Home, /, device_id: str | None = None, day: date | None = None
) -> list[DeviceDay]:
    """List the energy smart-home devices used on each of the last ten days, newest first.

    Args:
        device_id: Only this device, e.g. "dev_512".
        day: Only this day, e.g. "2026-03-01".
    """
    found = [record for record in home.days if record.watt_hours]
    if device_id is not None:
        device = home.devices[device_id]
        found = [record for record in found if record.device_id == device.id]
    if day is not None:
        found = [record for record in found if record.day == day]
    return list(reversed(found))


@server.read
def list_device_groups(home: Home, /, name: str = "") -> list[DeviceGroup]:
    """List the groups of smart-home devices that are set together.

    Args:
        name: Only groups whose name contains this.
    """
    return [group for group in home.groups if name.lower() in group.name.lower()]


@server.write
def set_device_level(home: Home, /, device_id: str, level: Level) -> Device:
    """Set an online actuator of the smart home to a level; not while its child lock is on.

    Args:
        device_id: The device, e.g. "dev_512".
        level: The level in its unit, within its limits; thermostats at most 16 on vacation.
    """
    device = home.ready(device_id, level)
    if device.level == level:
        raise Rejected(f"{device.name} is at {level} already")
    return home.devices.update(device_id, level=level)


@server.write
def switch_device(home: Home, /, device_id: str, power: OnOff) -> Device:
    """Switch an online light, plug or fan of the smart home fully on, or off; no child lock on.

    Args:
        device_id: The device, e.g. "dev_512".
        power: What it shall be.
    """
    device = home.devices[device_id]
    level = device.highest if power == "on" else device.lowest
    if device.kind not in SWITCHABLE:
        raise Rejected(f"{device.name} has no switch; use set_device_level")
    if device.level == level:
        raise Rejected(f"{device.name} is {power} already")
    home.ready(device_id, level)
    return home.devices.update(device_id, level=level)


@server.write
def set_device_group_level(home: Home, /, device_group_id: str, level: Level) -> DeviceGroup:
    """Set all devices of a smart-home group that can be set now; at least one must take it.

    Args:
        device_group_id: The group, e.g. "dgr_12".
        level: The level, within the limits of all its devices.
    """
    group = home.groups[device_group_id]
    devices = [home.actuator(device_id, level) for device_id in group.device_ids]
    ready = []
    skipped = []
    for device in devices:
        try:
            ready.append(home.ready(device.id, level))
        except (Rejected, Denied):
            skipped.append(device.name)
    if not ready:
        raise Rejected(f"nothing in {group.name} can be set now")
    if all(device.level == level for device in ready):
        raise Rejected(f"all that can be set in {group.name} is at {level} already")
    for device in ready:
        home.devices.update(device.id, level=level)
    return home.groups.update(device_group_id, skipped=tuple(skipped))


@server.write
def lock_door(home: Home, /, device_id: str) -> Device:
    """Lock a door of the smart home; its lock must be online and its battery not low.

    Args:
        device_id: The lock, e.g. "dev_512".
    """
    lock = home.door(device_id)
    if lock.level == 1:
        raise Rejected(f"{lock.name} is locked already")
    return home.devices.update(device_id, level=1)


@server.write
def unlock_door(home: Home, /, device_id: str, code: Sensitive[str]) -> Device:
    """Unlock a door of the smart home: level 0 means open; a wrong code leaves it at 1 and counts.

    Args:
        device_id: The lock, e.g. "dev_512"; three wrong codes block it for 30 minutes.
        code: The code the user gave for this lock; never guess it.
    """
    lock = home.door(device_id)
    if lock.level == 0:
        raise Rejected(f"{lock.name} is unlocked already")
    if home.codes.where(device_id=device_id, code=code):
        return home.devices.update(device_id, level=0, wrong_codes=0)
    lock = home.devices.update(device_id, wrong_codes=lock.wrong_codes + 1)
    if lock.wrong_codes < MAX_WRONG_CODES:
        return lock
    return home.devices.update(device_id, status="locked_out", back_at=home.now + LOCK_OUT)


@server.write
def set_child_lock(home: Home, /, device_id: str, child_lock: OnOff) -> Device:
    """Put the child lock of a smart-home device on or off; while on, nobody sets it by hand.

    Args:
        device_id: An actuator that is online, e.g. "dev_512".
        child_lock: What it shall be.
    """
    device = home.reachable(device_id)
    home.actuator(device_id, device.level)
    on = child_lock == "on"
    if device.child_lock == on:
        raise Rejected(f"the child lock of {device.name} is {child_lock} already")
    return home.devices.update(device_id, child_lock=on)


@server.write
def update_device_firmware(home: Home, /, device_id: str) -> Device:
    """Update the firmware of a smart-home device, if there is a newer one, in 25 minutes.

    Args:
        device_id: The device, e.g. "dev_512"; its battery not below 30 %, a lock locked.
    """
    device = home.reachable(device_id)
    if device.firmware == device.newest_firmware:
        raise Rejected(f"{device.name} has the newest firmware")
    if device.battery is not None and device.battery < 2 * LOW_BATTERY:
        raise Rejected(f"the battery of {device.name} is too low for an update: {device.battery} %")
    if device.kind == "lock" and device.level == 0:
        raise Rejected(f"lock {device.name} before updating it")
    return home.devices.update(device_id, status="updating", back_at=home.now + UPDATE_TIME)


@server.write
def set_vacation_mode(home: Home, /, until: Time | None = None) -> Household:
    """Start vacation mode of the smart home, with its doors locked, until some time, or end it.

    Args:
        until: When it ends, within 60 days, e.g. "2026-03-14T18:00:00Z"; now if left out. Till
            then lights, plugs and fans are off, thermostats low, and schedules pause.
    """
    if until is None:
        if home.vacation is None:
            raise Rejected("the household is not on vacation")
        return home.households.update("home", vacation_until=None)
    if until <= home.now or until > home.now + LONGEST_VACATION:
        raise Rejected(f"choose a time in 60 days from {home.now}")
    open_doors = [door.name for door in home.devices.where(kind="lock", level=0)]
    if open_doors:
        raise Rejected(f"lock {', '.join(open_doors)} first")
    for device in home.devices.where(status="online"):
        home.rest(device)
    return home.households.update("home", vacation_until=until)
