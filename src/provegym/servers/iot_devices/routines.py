"""What a smart home can be taught: scenes, schedules and automations."""

from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, forbid

from . import state
from .control import Id, Level
from .state import Automation, DeviceSchedule, Home, Scene, Side, server

Enabling = Literal["enabled", "disabled"]
Threshold = Annotated[float, Meta(ge=-50, le=2000)]
TimeOfDay = Annotated[str, Meta(max_length=5, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Days = Annotated[list[state.Weekday], Meta(min_length=1, max_length=7)]
Settings = Annotated[list[state.Setting], Meta(min_length=1, max_length=8)]


@server.read
def list_scenes(home: Home, /, name: str = "") -> list[Scene]:
    """List the scenes of the smart home and the levels they give to devices.

    Args:
        name: Only scenes whose name contains this.
    """
    return [scene for scene in home.scenes if name.lower() in scene.name.lower()]


@server.read
def list_home_automations(home: Home, /, name: str = "", device_id: Id = None) -> list[Automation]:
    """List the automations of the smart home, with when each ran last and what came of it.

    Args:
        name: Only automations whose name contains this.
        device_id: Only automations that read or set this device, e.g. "dev_512".
    """
    found = [rule for rule in home.automations if name.lower() in rule.name.lower()]
    return [rule for rule in found if device_id in (None, rule.sensor_id, rule.device_id)]


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
    same = all(home.devices[setting.device_id].level == setting.level for setting in scene.settings)
    forbid(same, f"the home is in scene {scene.name} already")
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
    taken = any(scene.name.lower() == name.lower() for scene in home.scenes)
    forbid(taken, f"there is a scene called {name!r} already; choose another name")
    twice = len({setting.device_id for setting in settings}) < len(settings)
    forbid(twice, "a device occurs twice; give each device one level")
    for setting in settings:
        home.owned(home.actuator(setting.device_id, setting.level).id)
    return home.scenes.add(name=name, settings=tuple(settings))


@server.write(destructive=True)
def delete_scene(home: Home, /, scene_id: str) -> Scene:
    """Delete a scene of the smart home that somebody added.

    Args:
        scene_id: The scene, e.g. "scn_40"; the ones that came with the home stay.
    """
    scene = home.scenes[scene_id]
    forbid(scene.built_in, f"{scene.name} came with the home and cannot be deleted", Denied)
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
    sensor, device = home.sensor(sensor_id), home.owned(home.actuator(device_id, level).id)
    fits = sensor.lowest <= threshold <= sensor.highest
    forbid(not fits, f"{sensor.name} measures {sensor.lowest} to {sensor.highest} {sensor.unit}")
    home.forbid_rivals(sensor_id, when, device_id)
    trigger = {"sensor_id": sensor_id, "sensor_name": sensor.name, "when": when}
    action = {"device_id": device_id, "device_name": device.name, "level": level}
    name = f"{device.name} {level} when {sensor.name} {when} {threshold:g}"
    return home.automations.add(name=name, threshold=threshold, **trigger, **action)


@server.write(idempotent=True)
def set_home_automation_status(home: Home, /, automation_id: str, status: Enabling) -> Automation:
    """Enable or disable an automation of the smart home; safety automations stay enabled.

    Args:
        automation_id: The automation, e.g. "aut_9".
        status: What it shall be.
    """
    rule, enabled = home.automations[automation_id], status == "enabled"
    forbid(rule.safety, f"{rule.name} keeps the home safe and stays enabled", Denied)
    forbid(rule.enabled == enabled, f"{rule.name} is {status} already")
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
    forbid(rule.safety, f"{rule.name} keeps the home safe and stays", Denied)
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
    device = home.owned(home.actuator(device_id, level).id)
    others = home.schedules.where(device_id=device_id)
    forbid(len(others) >= 4, f"{device.name} has four schedules; delete one first")
    same = [plan for plan in others if plan.time_of_day == time_of_day]
    clash = any(day in plan.days for plan in same for day in days)
    forbid(clash, f"{device.name} is scheduled for {time_of_day} on one of these days already")
    fields = {"device_id": device_id, "device_name": device.name, "level": level}
    fields |= {"time_of_day": time_of_day, "days": tuple(dict.fromkeys(days))}
    return home.schedules.add(next_at=state.following(home.now, time_of_day, days), **fields)


@server.write(destructive=True)
def delete_device_schedule(home: Home, /, device_schedule_id: str) -> DeviceSchedule:
    """Delete a weekly schedule of a smart-home device; not while its child lock is on.

    Args:
        device_schedule_id: The schedule, e.g. "dsc_25".
    """
    plan = home.schedules[device_schedule_id]
    device = home.owned(plan.device_id)
    forbid(device.child_lock, f"{device.name} has its child lock on; take that off first")
    home.schedules.remove(device_schedule_id)
    return plan
