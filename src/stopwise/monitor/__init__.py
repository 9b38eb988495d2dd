"""Watching a running cascade: changes with few false alarms, and what they mean."""

from stopwise.monitor.alarms import Alarm, AlarmKind
from stopwise.monitor.change import Change
from stopwise.monitor.settings import MonitorSettings
from stopwise.monitor.watch import Monitor

__all__ = ["Alarm", "AlarmKind", "Change", "Monitor", "MonitorSettings"]
