"""What `--split servers` keeps out of training: four servers, and some worlds of the others."""

HELD_OUT = ("crm", "iot_devices", "payments", "travel_booking")
# Training uses the worlds 0 to 899 of a server, held-out examples the worlds 900 to 999.
TRAIN_WORLDS, ALL_WORLDS = 900, 1_000
