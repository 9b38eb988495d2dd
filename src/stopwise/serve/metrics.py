"""Metrics in the text format of Prometheus, made from the live views of all cascades."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stopwise.policies.certificate import Status
from stopwise.serve.host import Host
from stopwise.serve.views import live

Sample = tuple[dict[str, str], float]

# Name, kind, help; the samples come from `_samples` under the same name.
FAMILIES = {
    "stopwise_cases": ("gauge", "Cases of the current epoch"),
    "stopwise_cases_stopped": ("gauge", "Cases of the current epoch that went up to a stage"),
    "stopwise_outputs_missing": (
        "gauge",
        "Cases without an output of a stage on their way: it gave nothing, or was out of service",
    ),
    "stopwise_failures": ("counter", "Calls of a stage that failed, by the kind of error"),
    "stopwise_cost_per_1000": ("gauge", "What the outputs of 1,000 cases cost, mistakes left out"),
    "stopwise_disagreement": ("gauge", "Share of cases in which two stages differ"),
    "stopwise_price": ("gauge", "What going on from one stage to another costs, in mistakes"),
    "stopwise_error_rate": ("gauge", "Error rate of a stage as believed"),
    "stopwise_certificate": ("gauge", "1 for how far the choice of a stage is proven"),
    "stopwise_labels": ("gauge", "Labels received so far"),
    "stopwise_workers": (
        "gauge",
        "Workers on the store that are alive, or silent past their lease",
    ),
    "stopwise_out_of_service": ("gauge", "1 if an alarm took the stage out of service"),
    "stopwise_alarms": ("gauge", "Alarms of all workers in the store, which keeps the last 1,000"),
    "stopwise_epoch": ("gauge", "Number of the current epoch"),
    "stopwise_stale_seconds": ("gauge", "Seconds since this worker last read the store"),
    "stopwise_not_counted": ("counter", "Cases that were answered but could not be counted"),
}


def metrics(host: Host) -> str:
    """Return all metrics of all cascades."""
    samples: dict[str, list[Sample]] = {name: [] for name in FAMILIES}
    for cascade in host.names:
        for name, labels, value in _samples(live(host.find(cascade))):
            samples[name].append(({"cascade": cascade, **labels}, value))
    lines = []
    for name, (kind, text) in FAMILIES.items():
        lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
        for labels, value in samples[name]:
            pairs = ",".join(f'{key}="{_escape(word)}"' for key, word in labels.items())
            lines.append(f"{name}{{{pairs}}} {value:.10g}")
    return "\n".join(lines) + "\n"


def _samples(view: dict[str, Any]) -> Iterator[tuple[str, dict[str, str], float]]:
    names = [stage["name"] for stage in view["stages"]]
    yield "stopwise_cases", {}, view["n_cases"]
    yield "stopwise_alarms", {}, view["n_alarms"]
    yield "stopwise_epoch", {}, view["epoch"]
    yield "stopwise_labels", {}, view["n_labels"]
    for state, n in view["workers"].items():
        yield "stopwise_workers", {"state": state}, n
    if view["certificate_status"] is not None:
        for status in Status:
            is_it = view["certificate_status"] == status.value
            yield "stopwise_certificate", {"status": status.value}, float(is_it)
    yield "stopwise_stale_seconds", {}, view["stale_seconds"]
    yield "stopwise_not_counted", {}, view["n_not_counted"]
    if view["cost_per_1000"] is not None:
        yield "stopwise_cost_per_1000", {}, view["cost_per_1000"]
    for k, name in enumerate(names):
        stage = {"stage": name}
        yield "stopwise_cases_stopped", stage, view["stopped"][k]
        yield "stopwise_outputs_missing", stage, view["missing"][k]
        for error, n in view["failures"][k].items():
            yield "stopwise_failures", {**stage, "kind": error}, n
        yield "stopwise_out_of_service", stage, float(k in view["out_of_service"])
        if view["error_rates"] is not None and view["error_rates"][k] is not None:
            yield "stopwise_error_rate", stage, view["error_rates"][k]
    for pair in view["pairs"]:
        labels = {"shallow": names[pair["shallow"]], "deep": names[pair["deep"]]}
        yield "stopwise_price", labels, pair["price"]
        if pair["disagreement"] is not None:
            yield "stopwise_disagreement", labels, pair["disagreement"]


def _escape(word: str) -> str:
    return word.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
