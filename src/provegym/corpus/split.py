"""The train/held-out split of `--split servers`: four held-out servers, and held-out worlds."""

from collections.abc import Sequence

HELD_OUT = ("crm", "iot_devices", "payments", "travel_booking")
# Training uses the worlds 0 to 899 of a server. Held-out examples use the worlds 900 to 999.
TRAIN_WORLDS, ALL_WORLDS = 900, 1_000


def split_worlds(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The drawn worlds of a folder for training, and those held out: the last tenth of the names.

    At least one is held out.
    """
    held_out = -(-len(names) // 10)
    return tuple(names[: len(names) - held_out]), tuple(names[len(names) - held_out :])
