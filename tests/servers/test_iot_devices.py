"""The smart home's rules, told in a tiny home made by hand."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session
from provegym.servers.iot_devices.records import Device, Household, Reading, Setting
from provegym.servers.iot_devices.state import Home, following, full_hour, server

NOW = Seed(0).now
TO_THE_HOUR = (full_hour(NOW) + timedelta(hours=1) - NOW) // timedelta(minutes=1)


class House:
    """One room with a sensor, a lamp, a heater and a door, and short words for what one does."""

    def __init__(self) -> None:
        self.home = Home(Seed(0))
        self.home.households.put(Household(id="home", name="Falk household"))
        self.room = self.home.rooms.add(name="Den", floor=0).id
        self.sensor = self.build("Thermometer", "thermometer", 10, 30, reading=20.0, battery=50)
        self.lamp = self.build("Lamp", "light", 0, 100, watts=60)
        self.heater = self.build("Heater", "thermostat", 5, 25, level=20, watts=40)
        self.door = self.build("Door", "lock", 0, 1, level=1, battery=80)
        self.home.codes.add(device_id=self.door, code="2468")
        self.start()

    def build(self, name: str, kind: str, lowest: int, highest: int, **fields: Any) -> str:
        """A device of the room."""
        known = {"level": 0, "unit": "", "firmware": "1.0", "newest_firmware": "1.0", **fields}
        place = {"room_id": self.room, "room_name": "Den", "lowest": lowest, "highest": highest}
        return self.home.devices.add(name=name, kind=kind, **place, **known).id

    def change(self, device_id: str, **fields: Any) -> None:
        """Make a device different before the story starts."""
        self.home.devices.update(device_id, **fields)
        self.start()

    def start(self) -> None:
        """Begin a session over what was built so far."""
        self.session = Session.over(server, self.home)

    def now(self) -> Home:
        """The home as it is now."""
        state = self.session.state(server)
        assert isinstance(state, Home)
        return state

    def device(self, device_id: str) -> Device:
        """A device as it is now."""
        return self.now().devices[device_id]

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """A call, after which the home must still be in order."""
        outcome = self.session.call(tool, arguments)
        self.now().check()
        return outcome

    def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that works."""
        outcome = self.call(tool, **arguments)
        assert outcome.ok, outcome.text
        value: dict[str, Any] = outcome.value
        return value

    def refused(self, tool: str, kind: str = "rejected", **arguments: Any) -> str:
        """What the user is told when a rule forbids it."""
        outcome = self.call(tool, **arguments)
        assert outcome.error == kind, outcome.text
        return str(outcome.value["message"])

    def wait(self, minutes: int) -> None:
        """Let time pass."""
        self.session.advance(minutes)
        self.now().check()

    def set_off(self, **fields: Any) -> dict[str, Any]:
        """An automation that lights the lamp when it is warmer than it is now."""
        rule = {"sensor_id": self.sensor, "when": "above", "threshold": 12.0, "level": 70}
        return self.done("create_home_automation", **{"device_id": self.lamp, **rule, **fields})


def test_a_level_is_set_within_limits() -> None:
    house = House()
    assert "from 5 to 25" in house.refused("set_device_level", device_id=house.heater, level=26)
    assert house.done("set_device_level", device_id=house.heater, level=25)["level"] == 25
    assert "already" in house.refused("set_device_level", device_id=house.heater, level=25)


def test_sensors_and_locks_take_no_levels() -> None:
    house = House()
    assert "only measures" in house.refused("set_device_level", device_id=house.sensor, level=20)
    assert "unlock_door" in house.refused("set_device_level", device_id=house.door, level=0)


def test_what_belongs_to_the_building_is_not_ours_to_change() -> None:
    house = House()
    house.change(house.lamp, owner="building")
    lamp = {"device_id": house.lamp}
    for tool, more in {
        "set_device_level": {"level": 5},
        "switch_device": {"power": "on"},
        "set_child_lock": {"child_lock": "on"},
        "create_device_schedule": {"level": 5, "time_of_day": "07:30", "days": ["mon"]},
    }.items():
        assert "caretaker" in house.refused(tool, "denied", **lamp, **more)


def test_a_device_offline_refuses_and_comes_back() -> None:
    house = House()
    house.change(house.lamp, status="offline", back_at=NOW + timedelta(minutes=90))
    assert "comes back at" in house.refused("switch_device", device_id=house.lamp, power="on")
    house.wait(90)
    assert house.done("switch_device", device_id=house.lamp, power="on")["level"] == 100


def test_only_some_things_have_a_switch() -> None:
    house = House()
    assert "no switch" in house.refused("switch_device", device_id=house.heater, power="off")
    assert "off already" in house.refused("switch_device", device_id=house.lamp, power="off")


def test_a_child_lock_keeps_people_out_but_not_routines() -> None:
    house = House()
    assert house.done("set_child_lock", device_id=house.lamp, child_lock="on")["child_lock"]
    again = {"device_id": house.lamp, "child_lock": "on"}
    assert "on already" in house.refused("set_child_lock", **again)
    assert "child lock" in house.refused("set_device_level", device_id=house.lamp, level=9)
    assert "only measures" in house.refused(
        "set_child_lock", device_id=house.sensor, child_lock="on"
    )
    house.set_off()
    house.wait(TO_THE_HOUR)
    assert house.device(house.lamp).level == 70


def test_a_group_sets_whom_it_can() -> None:
    house = House()
    gone = {"status": "offline", "back_at": NOW + timedelta(hours=9)}
    other = house.build("Far Lamp", "light", 0, 80, **gone)
    group = house.home.groups.add(name="Lamps", device_ids=(house.lamp, other)).id
    house.start()
    assert "0 to 80" in house.refused("set_device_group_level", device_group_id=group, level=90)
    assert house.done("set_device_group_level", device_group_id=group, level=40)["skipped"] == [
        "Far Lamp"
    ]
    assert house.device(house.lamp).level == 40
    house.done("set_child_lock", device_id=house.lamp, child_lock="on")
    assert "nothing" in house.refused("set_device_group_level", device_group_id=group, level=50)


def test_a_scene_sets_all_or_nothing() -> None:
    house = House()
    settings = [{"device_id": house.lamp, "level": 30}, {"device_id": house.heater, "level": 22}]
    scene = house.done("create_scene", name="Evening", settings=settings)["id"]
    house.done("set_child_lock", device_id=house.heater, child_lock="on")
    assert "child lock" in house.refused("activate_scene", scene_id=scene)
    assert house.device(house.lamp).level == 0
    house.done("set_child_lock", device_id=house.heater, child_lock="off")
    assert house.done("activate_scene", scene_id=scene)
    assert (house.device(house.lamp).level, house.device(house.heater).level) == (30, 22)
    assert "already" in house.refused("activate_scene", scene_id=scene)


def test_a_scene_has_a_new_name_and_each_device_once() -> None:
    house = House()
    setting = {"device_id": house.lamp, "level": 30}
    assert house.done("create_scene", name="Evening", settings=[setting])
    taken = {"name": "EVENING", "settings": [setting]}
    assert "another name" in house.refused("create_scene", **taken)
    twice = {"name": "Night", "settings": [setting, setting]}
    assert "twice" in house.refused("create_scene", **twice)
    wrong = {"name": "Night", "settings": [{"device_id": house.sensor, "level": 20}]}
    assert "only measures" in house.refused("create_scene", **wrong)


def test_built_in_scenes_stay() -> None:
    house = House()
    settings = (Setting(house.lamp, 10),)
    fixed = house.home.scenes.add(name="Off", settings=settings, built_in=True).id
    ours = house.home.scenes.add(name="Ours", settings=settings).id
    house.start()
    assert "came with" in house.refused("delete_scene", "denied", scene_id=fixed)
    assert house.done("delete_scene", scene_id=ours)["name"] == "Ours"
    assert house.done("list_scenes")["total"] == 1


def test_the_right_code_opens_and_a_wrong_one_counts() -> None:
    house = House()
    wrong = house.done("unlock_door", device_id=house.door, code="1111")
    assert (wrong["level"], wrong["wrong_codes"]) == (1, 1)
    right = house.done("unlock_door", device_id=house.door, code="2468")
    assert (right["level"], right["wrong_codes"]) == (0, 0)
    already = {"device_id": house.door, "code": "2468"}
    assert "unlocked already" in house.refused("unlock_door", **already)
    assert house.done("lock_door", device_id=house.door)["level"] == 1
    assert "locked already" in house.refused("lock_door", device_id=house.door)


def test_three_wrong_codes_lock_it_out_for_half_an_hour() -> None:
    house = House()
    for _ in range(3):
        state = house.done("unlock_door", device_id=house.door, code="1111")
    assert state["status"] == "locked_out"
    code = {"device_id": house.door, "code": "2468"}
    assert "locked_out" in house.refused("unlock_door", **code)
    house.wait(29)
    assert "locked_out" in house.refused("unlock_door", **code)
    house.wait(1)
    assert house.device(house.door).wrong_codes == 0
    assert house.done("unlock_door", **code)["level"] == 0


def test_a_lock_with_a_low_battery_is_used_by_key() -> None:
    house = House()
    house.change(house.door, battery=9)
    assert "by key" in house.refused("unlock_door", device_id=house.door, code="2468")
    assert "no lock" in house.refused("lock_door", device_id=house.lamp)


def test_codes_are_never_shown() -> None:
    house = House()
    shown = [house.call(tool.name).text for tool in server.tools.values() if not tool.writes]
    assert not any("2468" in text for text in shown)
    assert server.tools["unlock_door"].arguments.sensitive == {"code"}


def test_firmware_takes_its_time() -> None:
    house = House()
    assert "newest" in house.refused("update_device_firmware", device_id=house.lamp)
    house.change(house.lamp, newest_firmware="1.1")
    assert house.done("update_device_firmware", device_id=house.lamp)["status"] == "updating"
    assert "updating" in house.refused("switch_device", device_id=house.lamp, power="on")
    house.wait(25)
    assert (house.device(house.lamp).status, house.device(house.lamp).firmware) == ("online", "1.1")


def test_firmware_needs_battery_and_a_locked_door() -> None:
    house = House()
    house.change(house.sensor, newest_firmware="2.0", battery=29)
    house.change(house.door, newest_firmware="2.0", level=0)
    assert "too low" in house.refused("update_device_firmware", device_id=house.sensor)
    assert "lock Door" in house.refused("update_device_firmware", device_id=house.door)


def test_sensors_read_on_the_hour_and_follow_the_thermostat() -> None:
    house = House()
    assert house.done("list_sensor_readings", device_id=house.sensor)["total"] == 0
    house.done("set_device_level", device_id=house.heater, level=25)
    house.wait(TO_THE_HOUR)
    first = house.device(house.sensor).reading
    assert first is not None
    assert 20 < first <= 24
    house.wait(11 * 60)
    page = house.done("list_sensor_readings", device_id=house.sensor, limit=20)
    assert page["total"] == 12
    assert page["items"][-1]["value"] == first
    assert 22 < page["items"][0]["value"] <= 28
    assert "measures nothing" in house.refused("list_sensor_readings", device_id=house.lamp)


def test_energy_adds_up_by_the_hour() -> None:
    house = House()
    assert house.done("list_energy_use", device_id=house.lamp)["total"] == 0
    house.done("set_device_level", device_id=house.lamp, level=50)
    house.wait(TO_THE_HOUR + 120)
    used = house.done("list_energy_use", device_id=house.lamp)["items"]
    assert sum(day["watt_hours"] for day in used) == 3 * 30
    house.wait(20 * 24 * 60)
    assert house.done("list_energy_use", device_id=house.lamp, limit=20)["total"] == 10


def test_an_automation_runs_when_the_threshold_is_passed() -> None:
    house = House()
    rule = house.set_off()
    house.wait(TO_THE_HOUR)
    assert house.device(house.lamp).level == 70
    house.done("set_device_level", device_id=house.lamp, level=5)
    house.wait(60)
    assert house.device(house.lamp).level == 5
    shown = house.done("list_home_automations", device_id=house.sensor)["items"]
    assert [(item["id"], item["last_result"]) for item in shown] == [(rule["id"], "done")]


def test_an_automation_is_blocked_by_a_device_that_is_away() -> None:
    house = House()
    house.change(house.lamp, status="offline", back_at=NOW + timedelta(hours=9))
    rule = house.set_off()["id"]
    house.wait(TO_THE_HOUR)
    assert house.now().automations[rule].last_result == "blocked"


def test_of_two_automations_at_once_the_older_one_counts() -> None:
    house = House()
    second = house.build("Window", "thermometer", 10, 30, reading=20.0, battery=50)
    house.start()
    house.set_off(level=70)
    late = house.set_off(level=10, sensor_id=second)["id"]
    house.wait(TO_THE_HOUR)
    assert house.device(house.lamp).level == 70
    assert house.now().automations[late].last_result == "conflict"


def test_automations_do_not_rival_each_other() -> None:
    house = House()
    first = house.set_off()["id"]
    rule = {"sensor_id": house.sensor, "when": "above", "threshold": 25, "level": 5}
    lamp = {"device_id": house.lamp}
    assert "disable it first" in house.refused("create_home_automation", **rule, **lamp)
    assert house.done("set_home_automation_status", automation_id=first, status="disabled")
    assert house.done("create_home_automation", **rule, **lamp)
    back = {"automation_id": first, "status": "enabled"}
    assert "disable it first" in house.refused("set_home_automation_status", **back)
    back["status"] = "disabled"
    assert "disabled already" in house.refused("set_home_automation_status", **back)


def test_an_automation_needs_a_sensor_its_range_and_an_actuator() -> None:
    house = House()
    rule = {"sensor_id": house.sensor, "when": "below", "threshold": 15, "level": 20}
    rule["device_id"] = house.heater
    assert "nothing" in house.refused("create_home_automation", **{**rule, "sensor_id": house.lamp})
    assert "10 to 30" in house.refused("create_home_automation", **{**rule, "threshold": 31})
    assert "5 to 25" in house.refused("create_home_automation", **{**rule, "level": 30})
    assert "lock" in house.refused("create_home_automation", **{**rule, "device_id": house.door})
    assert house.done("create_home_automation", **rule)["name"].startswith("Heater 20 when")


def test_safety_automations_stay() -> None:
    house = House()
    parts = {"sensor_id": house.sensor, "sensor_name": "Thermometer", "device_name": "Lamp"}
    trigger = {"when": "above", "threshold": 29.0, "device_id": house.lamp, "level": 0}
    rule = house.home.automations.add(name="Fire", safety=True, **parts, **trigger).id
    house.start()
    off = {"automation_id": rule, "status": "disabled"}
    assert "safe" in house.refused("set_home_automation_status", "denied", **off)
    assert "safe" in house.refused("delete_home_automation", "denied", automation_id=rule)
    ours = house.set_off(when="below")["id"]
    assert house.done("delete_home_automation", automation_id=ours)


def test_a_schedule_runs_on_its_days() -> None:
    house = House()
    plan = {"device_id": house.lamp, "level": 25, "time_of_day": "07:30", "days": ["mon", "fri"]}
    made = house.done("create_device_schedule", **plan)
    assert made["next_at"][:16].endswith("T07:30")
    assert "already" in house.refused("create_device_schedule", **{**plan, "level": 9})
    house.wait(7 * 24 * 60)
    assert house.device(house.lamp).level == 25
    assert house.done("list_device_schedules", device_name="lamp")["total"] == 1
    assert house.done("delete_device_schedule", device_schedule_id=made["id"])
    assert house.done("list_device_schedules")["total"] == 0


def test_a_device_has_four_schedules_guarded_by_its_child_lock() -> None:
    house = House()
    plan = {"device_id": house.lamp, "level": 25, "days": ["tue"]}
    made = [house.done("create_device_schedule", time_of_day=f"0{n}:00", **plan) for n in range(4)]
    assert "four" in house.refused("create_device_schedule", time_of_day="09:00", **plan)
    house.done("set_child_lock", device_id=house.lamp, child_lock="on")
    schedule = {"device_schedule_id": made[0]["id"]}
    assert "child lock" in house.refused("delete_device_schedule", **schedule)


def test_vacation_wants_locked_doors_and_saves_energy() -> None:
    house = House()
    house.change(house.door, level=0)
    house.done("switch_device", device_id=house.lamp, power="on")
    until = (NOW + timedelta(days=2)).isoformat()
    assert "lock Door" in house.refused("set_vacation_mode", until=until)
    house.done("lock_door", device_id=house.door)
    assert house.done("set_vacation_mode", until=until)["vacation_until"]
    assert (house.device(house.lamp).level, house.device(house.heater).level) == (0, 5)
    assert "on vacation" in house.refused("set_device_level", device_id=house.heater, level=20)
    assert house.done("set_device_level", device_id=house.heater, level=16)
    house.wait(2 * 24 * 60)
    assert "vacation_until" not in house.done("get_household")
    assert house.done("set_device_level", device_id=house.heater, level=20)


def test_vacation_pauses_schedules_and_can_be_ended() -> None:
    house = House()
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    plan = {"device_id": house.lamp, "level": 25, "time_of_day": "07:30", "days": week}
    made = house.done("create_device_schedule", **plan)["id"]
    assert "not on vacation" in house.refused("set_vacation_mode")
    for days in (-1, 61):
        until = (NOW + timedelta(days=days)).isoformat()
        assert "60 days" in house.refused("set_vacation_mode", until=until)
    house.done("set_vacation_mode", until=(NOW + timedelta(days=9)).isoformat())
    house.wait(24 * 60)
    assert (house.device(house.lamp).level, house.now().schedules[made].missed) == (0, 1)
    house.done("set_vacation_mode")
    house.wait(24 * 60)
    assert house.device(house.lamp).level == 25


def test_the_next_time_of_a_schedule() -> None:
    monday = NOW - timedelta(days=NOW.weekday())
    noon = full_hour(monday).replace(hour=12)
    assert following(noon, "12:05", ("mon",)) == noon + timedelta(minutes=5)
    assert following(noon, "12:00", ("mon",)) == noon + timedelta(days=7)
    assert following(noon, "11:00", ("sun", "tue")) == noon + timedelta(hours=23)


def test_the_check_notices_energy_that_vanishes() -> None:
    house = House()
    house.done("switch_device", device_id=house.lamp, power="on")
    house.wait(TO_THE_HOUR)
    home = house.now().freeze()
    day = next(day for day in home.days if day.watt_hours)
    home.days.update(day.id, watt_hours=0)
    with pytest.raises(AssertionError):
        home.check()


def test_a_reading_is_part_of_its_day() -> None:
    house = House()
    house.wait(TO_THE_HOUR)
    [day] = house.now().days.where(device_id=house.sensor)
    reading = house.device(house.sensor).reading
    assert day.readings == (Reading(house.now().now, reading or 0),)
