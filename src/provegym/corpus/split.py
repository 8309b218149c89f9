"""The train/held-out split of `--split servers`: four held-out servers, and held-out worlds."""

HELD_OUT = ("crm", "iot_devices", "payments", "travel_booking")
# Training uses the worlds 0 to 899 of a server. Held-out examples use the worlds 900 to 999.
TRAIN_WORLDS, ALL_WORLDS = 900, 1_000
