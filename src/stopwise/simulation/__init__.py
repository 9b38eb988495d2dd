"""Worlds whose truth is known, and policies played in them."""

from stopwise.simulation.run import simulate
from stopwise.simulation.sweep import Sweep, sweep
from stopwise.simulation.trace import Trace

__all__ = ["Sweep", "Trace", "simulate", "sweep"]
