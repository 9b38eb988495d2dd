"""Monitoring a running cascade: change detection with few false alarms."""

from stopwise.monitor.alarms import Alarm, AlarmKind
from stopwise.monitor.change import Change
from stopwise.monitor.monitor import Monitor, MonitorSettings

__all__ = ["Alarm", "AlarmKind", "Change", "Monitor", "MonitorSettings"]
