"""Known truth: labels, and everything that needs them. No learner imports this package."""

from stopwise.problem.contextual_instance import ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.problem.instance import Instance
from stopwise.problem.recording import Recording

__all__ = ["ContextualInstance", "ContextualRecording", "Instance", "Recording"]
