"""Views of a cascade: plain data for the API, the dashboard and the metrics.

The first line of each docstring is what the OpenAPI document says of the route.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.beliefs.completion import completed_disagreement
from stopwise.beliefs.stages import stage_costs
from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.runtime.case_patterns import to_table
from stopwise.runtime.runtime import Runtime
from stopwise.serve.host import runs_here
from stopwise.serve.messages import WhatIf
from stopwise.serve.problems import ProblemError
from stopwise.store import read_case

MAX_BUCKETS = 500  # in a chart, the newest


def read_cascade(runtime: Runtime) -> dict[str, Any]:
    """One cascade, with its stages and prices."""
    cascade = runtime.cascade
    record = runtime.worker.store.cascade(runtime.name)
    return {
        "name": runtime.name,
        "stages": [
            {"name": name, "cost": cost}
            for name, cost in zip(cascade.names, cascade.prices, strict=True)
        ],
        "mistake_cost": cascade.mistake_cost,
        "policy": type(runtime.learning.policy).__name__,
        "version": 0 if record is None else record.version,
        "epoch": runtime.learning.counts.epoch,
        "runs_here": runs_here(runtime),
        "is_frozen": runtime.learning.is_frozen,
    }


def live(runtime: Runtime) -> dict[str, Any]:
    """What the dashboard shows of a cascade at this moment."""
    cascade, policy = runtime.cascade, runtime.learning.policy
    patterns = runtime.learning.patterns()
    K = cascade.n_stages
    table = to_table(patterns, cascade)
    stopped, missing = [0] * K, [0] * K
    for outputs, times in patterns.items():
        stopped[len(outputs) - 1] += times
        for k, output in enumerate(outputs):
            missing[k] += times * (output is None)
    n = sum(stopped)
    cumulative = _cumulative_prices(cascade)
    model = getattr(policy, "model", None)
    rates = None
    if model is not None:  # where the data leave everything open, nothing is known
        rates = [
            (float(rate), [float(low), float(high)]) if _is_known((low, high)) else (None, None)
            for rate, (low, high) in zip(model.error_rates, model.error_intervals, strict=True)
        ]
    certificate = policy.certificate() if hasattr(policy, "certificate") else None
    staleness = runtime.learning.counts.staleness
    store = runtime.worker.store
    now = store.now()
    leases = [w.lease_until - now for w in store.workers() if not w.is_closed]
    return {
        **read_cascade(runtime),
        "n_cases": n,
        "stopped": stopped,
        "missing": missing,
        "failures": [dict(caller.failures) for caller in runtime.engine.stages.callers],
        "cost_per_1000": _cost_per_1000(stopped, cumulative) if n else None,
        "fixed_cost_per_1000": [1000 * cost for cost in cumulative],
        "pairs": [
            {
                "shallow": i,
                "deep": j,
                "n": int(table.n_seen[i, j]),
                "disagreement": float(table.disagreement[i, j]) if table.n_seen[i, j] else None,
                "price": float(cascade.cumulative_costs[j] - cascade.cumulative_costs[i]),
            }
            for j in range(K)
            for i in range(j)
        ],
        "error_rates": None if rates is None else [rate for rate, _ in rates],
        "error_intervals": None if rates is None else [interval for _, interval in rates],
        "certificate": None if certificate is None else str(certificate),
        "certificate_status": None if certificate is None else certificate.status.value,
        "alarms": [
            {**alarm.to_state(), "text": alarm.describe(cascade.names)}
            for alarm in runtime.alarms[-20:]
        ],
        "out_of_service": sorted(runtime.engine.distrusted),
        "shadow": max(runtime.shadow, runtime.alarm_handler.shadow_share),
        "n_not_counted": runtime.n_not_counted,
        "n_labels": runtime.labels.n_labels,
        "last_cases": [
            {"at": at, "outputs": list(outputs)} for at, outputs in reversed(runtime.recent)
        ],
        "stale_seconds": staleness.seconds,
        "n_unfolded": staleness.n_unfolded,
        "workers": {"alive": sum(x >= 0 for x in leases), "silent": sum(x < 0 for x in leases)},
        "bucket_seconds": runtime.worker.settings.bucket_seconds,
    }


def certificate(runtime: Runtime) -> dict[str, Any]:
    """What the choice of stage rests on, for policies that can prove it."""
    policy = runtime.learning.policy
    if not hasattr(policy, "certificate"):
        raise ProblemError(
            404, "There is no certificate", f"{type(policy).__name__} decides by belief, not proof"
        )
    return {"text": str(policy.certificate())}


def events(runtime: Runtime) -> dict[str, Any]:
    """Changes by the owner, alarms and epochs, oldest first."""
    events = [
        {"what": "epoch began", **record.body, "kind": record.kind, "at": record.at}
        for kind in ("event", "alarm", "epoch")
        for record in runtime.worker.store.records(kind, runtime.name)
    ]
    return {"events": sorted(events, key=lambda event: float(event["at"]))}


def export(runtime: Runtime) -> dict[str, Any]:
    """All cases of the current epoch with their counts."""
    totals = runtime.learning.counts.totals()
    cases = [
        {"outputs": list(read_case(text).outputs), "times": times}
        for text, times in sorted(totals.items())
    ]
    return {"cases": cases}


def history(runtime: Runtime) -> dict[str, Any]:
    """Cases by stage and their cost over time.

    There is one entry per time bucket, in all epochs, oldest first. A bucket that is not over yet
    is left out, unless there are too few for a curve.
    """
    K = runtime.cascade.n_stages
    cumulative = _cumulative_prices(runtime.cascade)
    by_bucket: dict[int, list[int]] = {}
    for row in runtime.worker.store.rows(runtime.name, epoch=-1, since=0):  # without past cases
        stopped = by_bucket.setdefault(row.bucket, [0] * K)
        for text, times in row.counts.items():
            stopped[min(len(read_case(text).outputs), K) - 1] += times
    buckets = sorted(by_bucket)[-MAX_BUCKETS:]
    if len(buckets) > 2 and buckets[-1] >= runtime.worker.bucket():
        buckets.pop()
    stopped_at = [[by_bucket[b][k] for b in buckets] for k in range(K)]
    costs = [_cost_per_1000(by_bucket[b], cumulative) for b in buckets]
    return {"at": buckets, "stopped": stopped_at, "cost_per_1000": costs}


def if_a_mistake_cost(runtime: Runtime, query: WhatIf) -> dict[str, Any]:
    """The best single stage at another price of a mistake.

    Stages out of service are left out. While error rates are not known, the stage is the one that
    is sound by how often the stages disagree, over cases that were stopped early, too.
    """
    cascade = Cascade(runtime.cascade.prices, query.mistake_cost, runtime.cascade.names)
    table = to_table(runtime.learning.patterns(), cascade)
    model = getattr(runtime.learning.policy, "model", None)
    stages = [k for k in range(cascade.n_stages) if k not in runtime.engine.distrusted]
    if model is None or not all(_is_known(model.error_intervals[k]) for k in stages):
        stage = sound_stage(completed_disagreement(table), cascade)
        best = cascade.n_stages - 1 if stage is None else stage
        return {"stage": max([k for k in stages if k <= best] or [0]), "costs_per_1000": None}
    costs = 1000 * query.mistake_cost * stage_costs(model, table, cascade)
    costs_in_use = [float(cost) if k in stages else None for k, cost in enumerate(costs)]
    return {"stage": min(stages, key=lambda k: float(costs[k])), "costs_per_1000": costs_in_use}


def _is_known(interval: Any) -> bool:
    """Whether an interval of an error rate excludes more than the last half percent at an end."""
    low, high = interval
    return bool(low > 0.005 or high < 0.995)


def _cumulative_prices(cascade: Cascade) -> list[float]:
    return [math.fsum(cascade.prices[: k + 1]) for k in range(cascade.n_stages)]


def _cost_per_1000(stopped: list[int], cumulative: list[float]) -> float:
    """Return what 1,000 cases cost if as many stop at each stage as did so far."""
    n = max(sum(stopped), 1)
    return 1000 * sum(times * cost for times, cost in zip(stopped, cumulative, strict=True)) / n
