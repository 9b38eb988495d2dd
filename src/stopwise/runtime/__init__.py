"""Run a cascade in production: stages, retries, shadow cases, drift, labels."""

from stopwise.runtime.chat_model import by_tokens, chat
from stopwise.runtime.label_queue import LabelSettings
from stopwise.runtime.normalisers import choices, json_fields, numbers, text
from stopwise.runtime.result import Failure, Result
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage

__all__ = [
    "Failure",
    "LabelSettings",
    "Result",
    "Runtime",
    "Stage",
    "by_tokens",
    "chat",
    "choices",
    "json_fields",
    "numbers",
    "text",
]
