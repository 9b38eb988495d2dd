"""Bodies and queries of requests as typed messages: the one definition of their fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Output = str | int | float | bool | None
Outputs = Annotated[list[Output], msgspec.Meta(max_length=100)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern="^[^/]+$")]
StageName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Cost = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Message(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A body that has these fields and no others."""


class NewCascade(Message):
    """A cascade whose stages run elsewhere."""

    name: Name
    costs: Annotated[list[Cost], msgspec.Meta(min_length=1, max_length=100)]
    mistake_cost: Positive
    names: Annotated[list[StageName], msgspec.Meta(min_length=1, max_length=100)] | None = None
    policy: str = "beliefs"


class Change(Message):
    """Changes by the owner; fields that are left out stay as they are."""

    costs: Annotated[list[Cost], msgspec.Meta(min_length=1, max_length=100)] | None = None
    mistake_cost: Positive | None = None
    is_frozen: bool | None = None
    trust: str | None = None


class NewStage(Message):
    """A stage that runs elsewhere, at the end or before another one."""

    name: StageName
    cost: Cost
    before: str | None = None


class Ask(Message):
    """How far to go: before a case, after some outputs, or for many cases at once."""

    outputs: Outputs = msgspec.field(default_factory=list)
    n: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1


class Tell(Message):
    """The outputs of one case; with a key it may be sent again, and amended."""

    outputs: Annotated[list[Output], msgspec.Meta(min_length=1, max_length=100)]
    key: Key | None = None
    is_random: bool = False
    amend: bool = False


class TellMany(Message):
    """Many cases at once."""

    cases: Annotated[list[Tell], msgspec.Meta(min_length=1, max_length=10_000)]


class Run(Message):
    """A case to be answered by the stages that the server runs."""

    case: Any
    key: Key | None = None


class NewLabel(Message):
    """The right answer of a case that was kept."""

    key: Key
    label: str | int | float | bool


class NewToken(Message):
    """A token to be made."""

    scope: str
    note: Annotated[str, msgspec.Meta(max_length=200)] = ""
    days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 365.0


class ChatMessage(msgspec.Struct):
    """One message of a chat; other fields are ignored, as clients send many."""

    role: str
    content: Any


class ChatRequest(msgspec.Struct):
    """What an OpenAI client sends; parameters of models are ignored."""

    model: str
    messages: list[ChatMessage]
    stream: bool = False


class WantedLabels(msgspec.Struct):
    """How many cases to label, and whether with their outputs; then labels are not blind."""

    n: Annotated[int, msgspec.Meta(ge=0)] = 20
    outputs: bool = False


class ReportFormat(msgspec.Struct):
    """A report as JSON or as a page."""

    format: Literal["json", "html"] = "json"


class WhatIf(msgspec.Struct):
    """Another price of a mistake."""

    mistake_cost: Positive


class AuditFile(msgspec.Struct):
    """Prices and columns of the tests in a file, separated by commas, and the file's name."""

    costs: str
    mistake_cost: Positive
    tests: str = ""
    name: str = ""
