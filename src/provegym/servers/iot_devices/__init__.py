"""A smart home: sensors, actuators, door locks, scenes, schedules and automations."""

from . import control, routines, seed
from .state import server

__all__ = ["control", "routines", "seed", "server"]
