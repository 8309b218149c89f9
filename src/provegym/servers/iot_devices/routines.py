"""Tools for the routines of a smart home: scenes, schedules and automations."""

from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, Rejected
from provegym.servers import plain_name

from .control import Level
from .records import Automation, DeviceSchedule, Scene, Setting, Side, Weekday
from .state import Home, following, server

Enabling = Literal["enabled", "disabled"]
Threshold = Annotated[float, Meta(ge=-50, le=2000)]
TimeOfDay = Annotated[str, Meta(max_length=5, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Days = Annotated[list[Weekday], Meta(min_length=1, max_length=7)]
Settings = Annotated[list[Setting], Meta(min_length=1, max_length=8)]

MOST_SCHEDULES = 4


@server.read
def list_scenes(home: Home, /, name: str = "") -> list[Scene]:
    """List the scenes of the smart home and the levels they give to devices.

    Args:
        name: Only scenes whose name contains this.
    """
    return [scene for scene in home.scenes if name.lower() in scene.name.lower()]


@server.read
def list_home_automations(
    home: Home, /, name: str = "", device_id: str | None = None
) -> list[Automation]:
    """List the automations of the smart home, with when each ran last and what came of it.

    Args:
        name: Only automations whose name contains this.
        device_id: Only automations that read or set this device, e.g. "dev_512".
    """
    found = [rule for rule in home.automations if name.lower() in rule.name.lower()]
    if device_id is not None:
        found = [rule for rule in found if device_id in (rule.sensor_id, rule.device_id)]
    return found


@server.read
def list_device_schedules(home: Home, /, device_name: str = "") -> list[DeviceSchedule]:
    """List the weekly schedules of smart-home devices, with when each is next due.

    Args:
        device_name: Only schedules of devices whose name contains this.
    """
    return [plan for plan in home.schedules if device_name.lower() in plan.device_name.lower()]


@server.write
def activate_scene(home: Home, /, scene_id: str) -> Scene:
    """Set all devices of a smart-home scene at once; if one of them cannot be set, none is.

    Args:
        scene_id: The scene, e.g. "scn_40".
    """
    scene = home.scenes[scene_id]
    for setting in scene.settings:
        home.ready(setting.device_id, setting.level)
    if all(home.devices[setting.device_id].level == setting.level for setting in scene.settings):
        raise Rejected(f"the home is in scene {scene.name} already")
    for setting in scene.settings:
        home.devices.update(setting.device_id, level=setting.level)
    return scene


@server.write
def create_scene(home: Home, /, name: Label, settings: Settings) -> Scene:
    """Add a scene to the smart home: levels for one to eight of the household's devices.

    Args:
        name: What to call it; no other scene may have that name.
        settings: The devices, each once, and their levels.
    """
    if any(plain_name(scene.name) == plain_name(name) for scene in home.scenes):
        raise Rejected(f"there is a scene called {name!r} already; choose another name")
    if len({setting.device_id for setting in settings}) < len(settings):
        raise Rejected("a device occurs twice; give each device one level")
    for setting in settings:
        home.actuator(setting.device_id, setting.level)
        home.owned(setting.device_id)
    return home.scenes.add(name=name, settings=tuple(settings))


@server.write(destructive=True)
def delete_scene(home: Home, /, scene_id: str) -> Scene:
    """Delete a scene of the smart home that somebody added.

    Args:
        scene_id: The scene, e.g. "scn_40"; the ones that came with the home stay.
    """
    scene = home.scenes[scene_id]
    if scene.built_in:
        raise Denied(f"{scene.name} came with the home and cannot be deleted")
    home.scenes.remove(scene_id)
    return scene


@server.write
def create_home_automation(
    home: Home, /, sensor_id: str, when: Side, threshold: Threshold, device_id: str, level: Level
) -> Automation:
    """Let a smart-home sensor set a device each time its hourly reading passes a threshold.

    Args:
        sensor_id: The sensor to watch, e.g. "dev_512".
        when: Whether it runs when the reading gets above or below the threshold.
        threshold: The reading to pass, within the sensor's range and in its unit.
        device_id: The actuator to set, e.g. "dev_77".
        level: The level to set it to; no other enabled automation may set it on that occasion.
    """
    sensor = home.sensor(sensor_id)
    device = home.actuator(device_id, level)
    home.owned(device_id)
    if not sensor.lowest <= threshold <= sensor.highest:
        raise Rejected(f"{sensor.name} measures {sensor.lowest} to {sensor.highest} {sensor.unit}")
    home.forbid_rivals(sensor_id, when, device_id)
    return home.automations.add(
        name=f"{device.name} {level} when {sensor.name} {when} {threshold:g}",
        sensor_id=sensor.id,
        sensor_name=sensor.name,
        when=when,
        threshold=threshold,
        device_id=device.id,
        device_name=device.name,
        level=level,
    )


@server.write(idempotent=True)
def set_home_automation_status(home: Home, /, automation_id: str, status: Enabling) -> Automation:
    """Enable or disable an automation of the smart home; safety automations stay enabled.

    Args:
        automation_id: The automation, e.g. "aut_9".
        status: What it shall be.
    """
    rule = home.automations[automation_id]
    enabled = status == "enabled"
    if rule.safety:
        raise Denied(f"{rule.name} keeps the home safe and stays enabled")
    if rule.enabled == enabled:
        raise Rejected(f"{rule.name} is {status} already")
    if enabled:
        home.forbid_rivals(rule.sensor_id, rule.when, rule.device_id)
    return home.automations.update(automation_id, enabled=enabled, met=False)


@server.write(destructive=True)
def delete_home_automation(home: Home, /, automation_id: str) -> Automation:
    """Delete an automation of the smart home; safety automations stay.

    Args:
        automation_id: The automation, e.g. "aut_9".
    """
    rule = home.automations[automation_id]
    if rule.safety:
        raise Denied(f"{rule.name} keeps the home safe and stays")
    home.automations.remove(automation_id)
    return rule


@server.write
def create_device_schedule(
    home: Home, /, device_id: str, level: Level, time_of_day: TimeOfDay, days: Days
) -> DeviceSchedule:
    """Set a smart-home device every week at a time of some days; four schedules each at most.

    Args:
        device_id: The actuator, e.g. "dev_512".
        level: The level to set it to, within its limits.
        time_of_day: When, in UTC, e.g. "07:30".
        days: On which days of the week.
    """
    device = home.actuator(device_id, level)
    home.owned(device_id)
    if len(home.schedules.where(device_id=device_id)) >= MOST_SCHEDULES:
        raise Rejected(f"{device.name} has four schedules; delete one first")
    for plan in home.schedules.where(device_id=device_id, time_of_day=time_of_day):
        if not set(days).isdisjoint(plan.days):
            raise Rejected(
                f"{device.name} is scheduled for {time_of_day} on one of these days already"
            )
    return home.schedules.add(
        device_id=device.id,
        device_name=device.name,
        level=level,
        time_of_day=time_of_day,
        days=tuple(dict.fromkeys(days)),  # each day once, in the order given
        next_at=following(home.now, time_of_day, days),
    )


@server.write(destructive=True)
def delete_device_schedule(home: Home, /, device_schedule_id: str) -> DeviceSchedule:
    """Delete a weekly schedule of a smart-home device; not while its child lock is on.

    Args:
        device_schedule_id: The schedule, e.g. "dsc_25".
    """
    plan = home.schedules[device_schedule_id]
    device = home.owned(plan.device_id)
    if device.child_lock:
        raise Rejected(f"{device.name} has its child lock on; take that off first")
    home.schedules.remove(device_schedule_id)
    return plan
