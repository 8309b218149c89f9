"""The smart home's rules, told in a tiny home made by hand."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.iot_devices.records import Device, Household, Reading, Setting
from provegym.servers.iot_devices.state import Home, following, full_hour, server
from servers.desk import Desk

NOW = Seed(0).now
TO_THE_HOUR = (full_hour(NOW) + timedelta(hours=1) - NOW) // timedelta(minutes=1)


class House(Desk[Home]):
    """One room with a sensor, a lamp, a heater and a door."""

    def __init__(self) -> None:
        super().__init__(server, Home(Seed(0)))
        self.world.households.put(Household(id="home", name="Falk household"))
        self.room = self.world.rooms.add(name="Den", floor=0).id
        self.sensor = self.build("Thermometer", "thermometer", 10, 30, reading=20.0, battery=50)
        self.lamp = self.build("Lamp", "light", 0, 100, watts=60)
        self.heater = self.build("Heater", "thermostat", 5, 25, level=20, watts=40)
        self.door = self.build("Door", "lock", 0, 1, level=1, battery=80)
        self.world.codes.add(device_id=self.door, code="2468")
        self.start()

    def build(self, name: str, kind: str, lowest: int, highest: int, **fields: Any) -> str:
        """A device of the room."""
        known = {"level": 0, "unit": "", "firmware": "1.0", "newest_firmware": "1.0", **fields}
        place = {"room_id": self.room, "room_name": "Den", "lowest": lowest, "highest": highest}
        return self.world.devices.add(name=name, kind=kind, **place, **known).id

    def change(self, device_id: str, **fields: Any) -> None:
        """Make a device different before the story starts."""
        self.world.devices.update(device_id, **fields)
        self.start()

    def device(self, device_id: str) -> Device:
        """A device as it is now."""
        return self.state.devices[device_id]

    def set_off(self, **fields: Any) -> dict[str, Any]:
        """An automation that lights the lamp when it is warmer than it is now."""
        rule = {"sensor_id": self.sensor, "when": "above", "threshold": 12.0, "level": 70}
        return self.done("create_home_automation", **{"device_id": self.lamp, **rule, **fields})


def test_a_level_is_set_within_limits() -> None:
    house = House()
    house.rejected("set_device_level", "from 5 to 25", device_id=house.heater, level=26)
    assert house.done("set_device_level", device_id=house.heater, level=25)["level"] == 25
    house.rejected("set_device_level", "already", device_id=house.heater, level=25)


def test_sensors_and_locks_take_no_levels() -> None:
    house = House()
    house.rejected("set_device_level", "only measures", device_id=house.sensor, level=20)
    house.rejected("set_device_level", "unlock_door", device_id=house.door, level=0)


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
        house.denied(tool, "caretaker", **lamp, **more)


def test_a_device_offline_refuses_and_comes_back() -> None:
    house = House()
    house.change(house.lamp, status="offline", back_at=NOW + timedelta(minutes=90))
    house.rejected("switch_device", "comes back at", device_id=house.lamp, power="on")
    house.wait(90)
    assert house.done("switch_device", device_id=house.lamp, power="on")["level"] == 100


def test_only_some_things_have_a_switch() -> None:
    house = House()
    house.rejected("switch_device", "no switch", device_id=house.heater, power="off")
    house.rejected("switch_device", "off already", device_id=house.lamp, power="off")


def test_a_child_lock_keeps_people_out_but_not_routines() -> None:
    house = House()
    assert house.done("set_child_lock", device_id=house.lamp, child_lock="on")["child_lock"]
    again = {"device_id": house.lamp, "child_lock": "on"}
    house.rejected("set_child_lock", "on already", **again)
    house.rejected("set_device_level", "child lock", device_id=house.lamp, level=9)
    house.rejected("set_child_lock", "only measures", device_id=house.sensor, child_lock="on")
    house.set_off()
    house.wait(TO_THE_HOUR)
    assert house.device(house.lamp).level == 70


def test_a_group_sets_whom_it_can() -> None:
    house = House()
    gone = {"status": "offline", "back_at": NOW + timedelta(hours=9)}
    other = house.build("Far Lamp", "light", 0, 80, **gone)
    group = house.world.groups.add(name="Lamps", device_ids=(house.lamp, other)).id
    house.start()
    house.rejected("set_device_group_level", "0 to 80", device_group_id=group, level=90)
    assert house.done("set_device_group_level", device_group_id=group, level=40)["skipped"] == [
        "Far Lamp"
    ]
    assert house.device(house.lamp).level == 40
    house.rejected("set_device_group_level", "at 40 already", device_group_id=group, level=40)
    house.done("set_child_lock", device_id=house.lamp, child_lock="on")
    house.rejected("set_device_group_level", "nothing", device_group_id=group, level=50)


def test_a_scene_sets_all_or_nothing() -> None:
    house = House()
    settings = [{"device_id": house.lamp, "level": 30}, {"device_id": house.heater, "level": 22}]
    scene = house.done("create_scene", name="Evening", settings=settings)["id"]
    house.done("set_child_lock", device_id=house.heater, child_lock="on")
    house.rejected("activate_scene", "child lock", scene_id=scene)
    assert house.device(house.lamp).level == 0
    house.done("set_child_lock", device_id=house.heater, child_lock="off")
    assert house.done("activate_scene", scene_id=scene)
    assert (house.device(house.lamp).level, house.device(house.heater).level) == (30, 22)
    house.rejected("activate_scene", "already", scene_id=scene)


def test_a_scene_has_a_new_name_and_each_device_once() -> None:
    house = House()
    setting = {"device_id": house.lamp, "level": 30}
    assert house.done("create_scene", name="Evening", settings=[setting])
    taken = {"name": "EVENING", "settings": [setting]}
    house.rejected("create_scene", "another name", **taken)
    twice = {"name": "Night", "settings": [setting, setting]}
    house.rejected("create_scene", "twice", **twice)
    wrong = {"name": "Night", "settings": [{"device_id": house.sensor, "level": 20}]}
    house.rejected("create_scene", "only measures", **wrong)


def test_built_in_scenes_stay() -> None:
    house = House()
    settings = (Setting(house.lamp, 10),)
    fixed = house.world.scenes.add(name="Off", settings=settings, built_in=True).id
    ours = house.world.scenes.add(name="Ours", settings=settings).id
    house.start()
    house.denied("delete_scene", "came with", scene_id=fixed)
    assert house.done("delete_scene", scene_id=ours)["name"] == "Ours"
    assert house.done("list_scenes")["total"] == 1


def test_the_right_code_opens_and_a_wrong_one_counts() -> None:
    house = House()
    wrong = house.done("unlock_door", device_id=house.door, code="1111")
    assert (wrong["level"], wrong["wrong_codes"]) == (1, 1)
    right = house.done("unlock_door", device_id=house.door, code="2468")
    assert (right["level"], right["wrong_codes"]) == (0, 0)
    already = {"device_id": house.door, "code": "2468"}
    house.rejected("unlock_door", "unlocked already", **already)
    assert house.done("lock_door", device_id=house.door)["level"] == 1
    house.rejected("lock_door", "locked already", device_id=house.door)


def test_three_wrong_codes_lock_it_out_for_half_an_hour() -> None:
    house = House()
    for _ in range(3):
        state = house.done("unlock_door", device_id=house.door, code="1111")
    assert state["status"] == "locked_out"
    code = {"device_id": house.door, "code": "2468"}
    house.rejected("unlock_door", "locked_out", **code)
    house.wait(29)
    house.rejected("unlock_door", "locked_out", **code)
    house.wait(1)
    assert house.device(house.door).wrong_codes == 0
    assert house.done("unlock_door", **code)["level"] == 0


def test_a_lock_with_a_low_battery_is_used_by_key() -> None:
    house = House()
    house.change(house.door, battery=9)
    house.rejected("unlock_door", "by key", device_id=house.door, code="2468")
    house.rejected("lock_door", "no lock", device_id=house.lamp)


def test_codes_are_never_shown() -> None:
    house = House()
    shown = [house.call(tool.name).text for tool in server.tools.values() if not tool.writes]
    assert not any("2468" in text for text in shown)
    assert server.tools["unlock_door"].arguments.sensitive == {"code"}


def test_firmware_takes_its_time() -> None:
    house = House()
    house.rejected("update_device_firmware", "newest", device_id=house.lamp)
    house.change(house.lamp, newest_firmware="1.1")
    assert house.done("update_device_firmware", device_id=house.lamp)["status"] == "updating"
    house.rejected("switch_device", "updating", device_id=house.lamp, power="on")
    house.wait(25)
    assert (house.device(house.lamp).status, house.device(house.lamp).firmware) == ("online", "1.1")


def test_firmware_needs_battery_and_a_locked_door() -> None:
    house = House()
    house.change(house.sensor, newest_firmware="2.0", battery=29)
    house.change(house.door, newest_firmware="2.0", level=0)
    house.rejected("update_device_firmware", "too low", device_id=house.sensor)
    house.rejected("update_device_firmware", "lock Door", device_id=house.door)


def test_sensors_read_on_the_hour_and_follow_the_thermostat() -> None:
    house = House()
    assert house.done("list_sensor_readings", device_id=house.sensor)["total"] == 0
    house.done("set_device_level", device_id=house.heater, level=25)
    house.wait(TO_THE_HOUR)
    first = house.device(house.sensor).reading
    assert first is not None
    assert 20 < first <= 24
    house.wait(hours=11)
    page = house.done("list_sensor_readings", device_id=house.sensor, limit=20)
    assert page["total"] == 12
    assert page["items"][-1]["value"] == first
    assert 22 < page["items"][0]["value"] <= 28
    house.rejected("list_sensor_readings", "measures nothing", device_id=house.lamp)


def test_energy_adds_up_by_the_hour() -> None:
    house = House()
    assert house.done("list_energy_use", device_id=house.lamp)["total"] == 0
    house.done("set_device_level", device_id=house.lamp, level=50)
    house.wait(TO_THE_HOUR + 120)
    used = house.done("list_energy_use", device_id=house.lamp)["items"]
    assert sum(day["watt_hours"] for day in used) == 3 * 30
    house.wait(days=20)
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
    assert house.state.automations[rule].last_result == "blocked"


def test_of_two_automations_at_once_the_older_one_counts() -> None:
    house = House()
    second = house.build("Window", "thermometer", 10, 30, reading=20.0, battery=50)
    house.start()
    house.set_off(level=70)
    late = house.set_off(level=10, sensor_id=second)["id"]
    house.wait(TO_THE_HOUR)
    assert house.device(house.lamp).level == 70
    assert house.state.automations[late].last_result == "conflict"


def test_automations_do_not_rival_each_other() -> None:
    house = House()
    first = house.set_off()["id"]
    rule = {"sensor_id": house.sensor, "when": "above", "threshold": 25, "level": 5}
    lamp = {"device_id": house.lamp}
    house.rejected("create_home_automation", "disable it first", **rule, **lamp)
    assert house.done("set_home_automation_status", automation_id=first, status="disabled")
    assert house.done("create_home_automation", **rule, **lamp)
    back = {"automation_id": first, "status": "enabled"}
    house.rejected("set_home_automation_status", "disable it first", **back)
    back["status"] = "disabled"
    house.rejected("set_home_automation_status", "disabled already", **back)


def test_an_automation_needs_a_sensor_its_range_and_an_actuator() -> None:
    house = House()
    rule = {"sensor_id": house.sensor, "when": "below", "threshold": 15, "level": 20}
    rule["device_id"] = house.heater
    house.rejected("create_home_automation", "nothing", **{**rule, "sensor_id": house.lamp})
    house.rejected("create_home_automation", "10 to 30", **{**rule, "threshold": 31})
    house.rejected("create_home_automation", "5 to 25", **{**rule, "level": 30})
    house.rejected("create_home_automation", "lock", **{**rule, "device_id": house.door})
    assert house.done("create_home_automation", **rule)["name"].startswith("Heater 20 when")


def test_safety_automations_stay() -> None:
    house = House()
    parts = {"sensor_id": house.sensor, "sensor_name": "Thermometer", "device_name": "Lamp"}
    trigger = {"when": "above", "threshold": 29.0, "device_id": house.lamp, "level": 0}
    rule = house.world.automations.add(name="Fire", safety=True, **parts, **trigger).id
    house.start()
    off = {"automation_id": rule, "status": "disabled"}
    house.denied("set_home_automation_status", "safe", **off)
    house.denied("delete_home_automation", "safe", automation_id=rule)
    ours = house.set_off(when="below")["id"]
    assert house.done("delete_home_automation", automation_id=ours)


def test_a_schedule_runs_on_its_days() -> None:
    house = House()
    plan = {"device_id": house.lamp, "level": 25, "time_of_day": "07:30", "days": ["mon", "fri"]}
    made = house.done("create_device_schedule", **plan)
    assert made["next_at"][:16].endswith("T07:30")
    house.rejected("create_device_schedule", "already", **{**plan, "level": 9})
    house.wait(days=7)
    assert house.device(house.lamp).level == 25
    assert house.done("list_device_schedules", device_name="lamp")["total"] == 1
    assert house.done("delete_device_schedule", device_schedule_id=made["id"])
    assert house.done("list_device_schedules")["total"] == 0


def test_a_device_has_four_schedules_guarded_by_its_child_lock() -> None:
    house = House()
    plan = {"device_id": house.lamp, "level": 25, "days": ["tue"]}
    made = [house.done("create_device_schedule", time_of_day=f"0{n}:00", **plan) for n in range(4)]
    house.rejected("create_device_schedule", "four", time_of_day="09:00", **plan)
    house.done("set_child_lock", device_id=house.lamp, child_lock="on")
    schedule = {"device_schedule_id": made[0]["id"]}
    house.rejected("delete_device_schedule", "child lock", **schedule)


def test_vacation_wants_locked_doors_and_saves_energy() -> None:
    house = House()
    house.change(house.door, level=0)
    house.done("switch_device", device_id=house.lamp, power="on")
    until = (NOW + timedelta(days=2)).isoformat()
    house.rejected("set_vacation_mode", "lock Door", until=until)
    house.done("lock_door", device_id=house.door)
    assert house.done("set_vacation_mode", until=until)["vacation_until"]
    assert (house.device(house.lamp).level, house.device(house.heater).level) == (0, 5)
    house.rejected("set_device_level", "on vacation", device_id=house.heater, level=20)
    assert house.done("set_device_level", device_id=house.heater, level=16)
    house.wait(days=2)
    assert "vacation_until" not in house.done("get_household")
    assert house.done("set_device_level", device_id=house.heater, level=20)


def test_what_comes_back_on_vacation_is_set_to_rest() -> None:
    house = House()
    house.change(house.heater, status="offline", back_at=NOW + timedelta(hours=3))
    house.done("set_vacation_mode", until=(NOW + timedelta(days=2)).isoformat())
    assert house.device(house.heater).level == 20
    house.wait(180)
    assert house.device(house.heater).level == 5


def test_an_update_forgives_no_wrong_code() -> None:
    house = House()
    house.change(house.door, newest_firmware="1.1")
    for _ in range(2):
        house.done("unlock_door", device_id=house.door, code="0000")
    house.done("update_device_firmware", device_id=house.door)
    house.wait(25)
    house.done("unlock_door", device_id=house.door, code="0000")
    assert house.device(house.door).status == "locked_out"


def test_blanks_make_no_new_scene_name() -> None:
    house = House()
    scene = {"settings": [{"device_id": house.lamp, "level": 30}]}
    house.done("create_scene", name="Evening", **scene)
    house.rejected("create_scene", "already", name=" evening ", **scene)


def test_vacation_pauses_schedules_and_can_be_ended() -> None:
    house = House()
    week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    plan = {"device_id": house.lamp, "level": 25, "time_of_day": "07:30", "days": week}
    made = house.done("create_device_schedule", **plan)["id"]
    house.rejected("set_vacation_mode", "not on vacation")
    for days in (-1, 61):
        until = (NOW + timedelta(days=days)).isoformat()
        house.rejected("set_vacation_mode", "60 days", until=until)
    house.done("set_vacation_mode", until=(NOW + timedelta(days=9)).isoformat())
    house.wait(days=1)
    assert (house.device(house.lamp).level, house.state.schedules[made].missed) == (0, 1)
    house.done("set_vacation_mode")
    house.wait(days=1)
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
    home = house.state.freeze()
    day = next(day for day in home.days if day.watt_hours)
    home.days.update(day.id, watt_hours=0)
    with pytest.raises(AssertionError):
        home.check()


def test_a_reading_is_part_of_its_day() -> None:
    house = House()
    house.wait(TO_THE_HOUR)
    [day] = house.state.days.where(device_id=house.sensor)
    reading = house.device(house.sensor).reading
    assert day.readings == (Reading(house.state.now, reading or 0),)
