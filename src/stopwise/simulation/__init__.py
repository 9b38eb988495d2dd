"""Worlds whose truth is known, and policies played in them."""

from stopwise.simulation.conditional import StoppingTrace, simulate_stopping
from stopwise.simulation.run import simulate
from stopwise.simulation.sweep import Sweep, sweep
from stopwise.simulation.trace import Trace

__all__ = ["StoppingTrace", "Sweep", "Trace", "simulate", "simulate_stopping", "sweep"]
