"""The state of a smart home: rules for its devices, what happens over time, and invariants."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from provegym.kernel import Denied, Rejected, Server, State, Table, table

from .records import (
    WEEK,
    Automation,
    Device,
    DeviceDay,
    DeviceGroup,
    DeviceSchedule,
    DoorCode,
    Household,
    Reading,
    Room,
    Scene,
    Side,
    Weekday,
)

LOW_BATTERY = 15  # percent
FROST_GUARD = 16  # degrees, the highest a thermostat may be set to on vacation
MAX_WRONG_CODES = 3
SWITCHABLE = ("light", "plug", "fan")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)  # the noise of a reading depends on the hours since
HOUR = timedelta(hours=1)
DAYS_KEPT = timedelta(days=9)


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
        if device.owner == "building":
            raise Denied(f"{device.name} belongs to the building; ask the caretaker")
        return device

    def reachable(self, device_id: str) -> Device:
        """A device that the household may change and that listens now."""
        device = self.owned(device_id)
        if device.status != "online":
            raise Rejected(f"{device.name} is {device.status} and comes back at {device.back_at}")
        return device

    def sensor(self, device_id: str) -> Device:
        """A device that measures."""
        device = self.devices[device_id]
        if device.reading is None:
            raise Rejected(f"{device.name} measures nothing; choose a sensor")
        return device

    def actuator(self, device_id: str, level: int) -> Device:
        """A device whose limits allow this level."""
        device = self.devices[device_id]
        if device.reading is not None:
            raise Rejected(f"{device.name} only measures; choose an actuator")
        if device.kind == "lock":
            raise Rejected(f"{device.name} is a lock; use lock_door or unlock_door")
        if not device.lowest <= level <= device.highest:
            raise Rejected(f"{device.name} takes levels from {device.lowest} to {device.highest}")
        return device

    def ready(self, device_id: str, level: int) -> Device:
        """An actuator that takes this level from the user now."""
        self.reachable(device_id)
        device = self.actuator(device_id, level)
        if device.child_lock:
            raise Rejected(f"{device.name} has its child lock on; take that off first")
        if self.too_warm(device, level):
            raise Rejected(f"on vacation {device.name} stays at {FROST_GUARD} or below")
        return device

    def too_warm(self, device: Device, level: int) -> bool:
        """Whether a level would heat a home where nobody is."""
        if self.vacation is None:
            return False
        return device.kind == "thermostat" and level > FROST_GUARD

    def rest(self, device: Device) -> None:
        """Set a device of the household for a vacation: off, or low for a thermostat."""
        if device.owner == "household" and device.kind in (*SWITCHABLE, "thermostat"):
            self.devices.update(device.id, level=device.lowest)

    def door(self, device_id: str) -> Device:
        """A door lock that can be operated from afar now."""
        device = self.reachable(device_id)
        if device.kind != "lock":
            raise Rejected(f"{device.name} is no lock; list_home_devices shows locks")
        if device.battery is not None and device.battery < LOW_BATTERY:
            raise Rejected(f"the battery of {device.name} is too low; it can be used by key only")
        return device

    def forbid_rivals(self, sensor_id: str, when: Side, device_id: str) -> None:
        """Refuse a second enabled automation for the same device and occasion."""
        for rule in self.automations.where(device_id=device_id, sensor_id=sensor_id, when=when):
            if rule.enabled:
                raise Rejected(f"{rule.name} ({rule.id}) does that already; disable it first")

    def drive(self, device_id: str, level: int) -> bool:
        """Let a routine set a device, if it can; a child lock keeps out people only."""
        device = self.devices[device_id]
        if device.status != "online" or self.too_warm(device, level):
            return False
        self.devices.update(device_id, level=level)
        return True

    def next_event(self) -> datetime:
        """The next full hour or, before it, a device's return, a vacation's end or a schedule."""
        times = [full_hour(self.now) + HOUR]
        if self.vacation:
            times.append(self.vacation)
        times += [plan.next_at for plan in self.schedules]
        times += [device.back_at for device in self.devices if device.back_at]
        return min(times)

    def happen(self) -> None:
        """End the vacation, bring devices back, run schedules, and on the hour what is hourly."""
        if self.vacation == self.now:
            self.households.update("home", vacation_until=None)
        for device in self.devices.where(back_at=self.now):
            self._bring_back(device)
        for plan in self.schedules.where(next_at=self.now):
            self._run_schedule(plan)
        if self.now == full_hour(self.now):
            self._forget_old_days()
            self._measure()
            self._automate()

    def _bring_back(self, device: Device) -> None:
        """Put a device online again, with its new firmware if it was updating.

        Only the end of a lock-out clears the wrong codes. On vacation, the device is set to rest.
        """
        firmware = device.firmware
        if device.status == "updating":
            firmware = device.newest_firmware
        wrong_codes = 0 if device.status == "locked_out" else device.wrong_codes
        self.devices.update(
            device.id, status="online", back_at=None, firmware=firmware, wrong_codes=wrong_codes
        )
        if self.vacation:
            self.rest(device)

    def _run_schedule(self, plan: DeviceSchedule) -> None:
        """Set the device of a schedule; that is missed on vacation or if the device cannot."""
        missed = plan.missed
        if self.vacation or not self.drive(plan.device_id, plan.level):
            missed += 1
        next_at = following(self.now, plan.time_of_day, plan.days)
        self.schedules.update(plan.id, missed=missed, next_at=next_at)

    def _forget_old_days(self) -> None:
        """Remove the records of days that are too long ago."""
        oldest = self.now.date() - DAYS_KEPT
        for record in list(self.days):
            if record.day < oldest:
                self.days.remove(record.id)

    def _measure(self) -> None:
        """Read every sensor and meter that is online."""
        thermostats = self.devices.where(kind="thermostat")
        targets = {device.room_id: device.level for device in thermostats}
        today = self.now.date()
        for device in self.devices.where(status="online"):
            key = f"{today}/{device.id}"
            record = self.days.get(key) or DeviceDay(
                id=key, device_id=device.id, device_name=device.name, day=today
            )
            if device.reading is None:
                used = device.watts * (device.level - device.lowest) // device.span
                self.days.put(replace(record, watt_hours=record.watt_hours + used))
            else:
                reading = self._read(device, device.reading, targets)
                self.days.put(replace(record, readings=(*record.readings, reading)))

    def _read(self, device: Device, last: float, targets: dict[str, int]) -> Reading:
        """Take a sensor's reading; it drifts from the last one, with noise.

        A thermometer drifts to what the thermostat of its room is set to, anything else to a value
        that follows the sun.
        """
        goal = device.lowest + device.span * (1 - abs(14 - self.now.hour) / 14)
        if device.kind == "thermometer":
            goal = targets.get(device.room_id, goal)
        hours = (self.now - EPOCH) // HOUR
        number = int(device.id.removeprefix("dev_"))
        noise = (hours * 7919 + number * 104_729) % 1009 / 1009 - 0.5
        value = last + (goal - last) * 0.3 + device.span * noise * 0.1
        value = round(min(max(value, device.lowest), device.highest), 1)

        battery = device.battery
        if battery is not None and self.now.hour == 0:
            battery = max(1, battery - 1)
        self.devices.update(device.id, reading=value, battery=battery)
        return Reading(at=self.now, value=value)

    def _automate(self) -> None:
        """Run the automations whose sensors have just passed their thresholds.

        If two of them set the same device, the older one counts.
        """
        levels: dict[str, int] = {}
        for rule in self.automations.where(enabled=True):
            met = rule.is_past(self.sensor(rule.sensor_id).reading or 0)
            if not met or rule.met:
                self.automations.update(rule.id, met=met)
                continue
            level = levels.setdefault(rule.device_id, rule.level)
            if level != rule.level:
                result = "conflict"
            elif self.drive(rule.device_id, rule.level):
                result = "done"
            else:
                result = "blocked"
            self.automations.update(rule.id, met=True, last_run=self.now, last_result=result)

    def check(self) -> None:
        """Values keep to limits, references hold, energy only grows, waits and lock-outs fit."""
        assert self.vacation is None or self.vacation > self.now
        for device in self.devices:
            self._check_device(device)
        for _, before, after in self.days.touched():
            if before and after:
                assert after.watt_hours >= before.watt_hours
        for group in self.groups:
            assert all(device_id in self.devices for device_id in group.device_ids)
        self._check_routines()

    def _check_device(self, device: Device) -> None:
        """A device is in a room, within its limits, and its status agrees with its other fields."""
        assert device.room_id in self.rooms
        value = device.level if device.reading is None else device.reading
        assert device.lowest <= value <= device.highest
        waits = device.back_at is not None and device.back_at > self.now
        assert waits == (device.status != "online")
        assert (device.status == "locked_out") == (device.wrong_codes == MAX_WRONG_CODES)
        assert device.kind == "lock" or device.wrong_codes == 0
        if device.owner == "household" and device.status == "online":
            assert not self.too_warm(device, device.level)

    def _check_routines(self) -> None:
        """Scenes, schedules and automations are about sensors and levels that there are.

        `sensor` and `actuator` raise if a device is of another kind or does not take the level.
        """
        for scene in self.scenes:
            for setting in scene.settings:
                self.actuator(setting.device_id, setting.level)
        for plan in self.schedules:
            self.actuator(plan.device_id, plan.level)
            assert plan.next_at == following(self.now, plan.time_of_day, plan.days)
        for rule in self.automations:
            self.sensor(rule.sensor_id)
            self.actuator(rule.device_id, rule.level)
        enabled = self.automations.where(enabled=True)
        occasions = {(rule.sensor_id, rule.when, rule.device_id) for rule in enabled}
        assert len(occasions) == len(enabled)


def full_hour(at: datetime) -> datetime:
    """The last full hour."""
    return at.replace(minute=0, second=0, microsecond=0)


def following(after: datetime, time_of_day: str, days: Sequence[Weekday]) -> datetime:
    """When a schedule is next due."""
    hour, minute = time_of_day.split(":")
    today = full_hour(after).replace(hour=int(hour), minute=int(minute))
    times = [today + timedelta(days=ahead) for ahead in range(8)]
    return next(time for time in times if time > after and WEEK[time.weekday()] in days)


server = Server(
    "iot_devices",
    Home,
    category="devices",
    about=(
        "Rooms, sensors, actuators, door locks, scenes, schedules and automations of a smart home."
    ),
    version=2,
)
