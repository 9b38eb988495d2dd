"""Policies played in worlds whose truth is known."""

from stopwise.simulation.simulator import simulate
from stopwise.simulation.sweep import Sweep, sweep
from stopwise.simulation.trace import Trace

__all__ = ["Sweep", "Trace", "simulate", "sweep"]
