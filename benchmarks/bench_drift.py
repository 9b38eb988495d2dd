"""A change, and who notices it: python -m benchmarks.bench_drift. Delay, false alarms, regret.

The monitor beside ADWIN of river, sliding windows, a restart at the true moment, and nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable

import numpy as np
from river.drift import ADWIN

import stopwise as sw
from stopwise.monitor import Monitor

CASCADE = sw.Cascade([0, 0.05, 0.08])
# Before the second stage is the best one to stop at, afterwards the last.
BEFORE, AFTER = (0.30, 0.02, 0.02), (0.30, 0.28, 0.02)
CHANGE, HORIZON, SHADOW = 10_000, 20_000, 0.01

Case = tuple[int, ...]


def delays(seeds: int = 10, before_change: int = 10_000) -> None:
    """Cases until a jump of disagreement is noticed, and how often there was none."""
    print(f"jump: cases until noticed, median of {seeds} (false alarms in {before_change:,} cases)")
    for before, after in ((0.1, 0.6), (0.1, 0.3), (0.2, 0.3)):
        times: dict[str, list[int]] = {"monitor": [], "ADWIN": []}
        false: Counter[str] = Counter()
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            stream = rng.random(2 * before_change) < np.repeat([before, after], before_change)
            monitor, adwin = Monitor(2, now=0.0), ADWIN()
            alarms: dict[str, Callable[[int, bool], bool]] = {
                "monitor": lambda t, x, m=monitor: bool(m.observe((0, int(x)), float(t))),
                "ADWIN": lambda t, x, a=adwin: _drifts(a, x),
            }
            for name, is_alarm in alarms.items():
                noticed = before_change
                for t, differs in enumerate(stream.tolist()):
                    if is_alarm(t, differs):
                        if t >= before_change:
                            noticed = t - before_change
                            break
                        false[name] += 1
                times[name].append(noticed)
        medians = ", ".join(f"{n} {np.median(d):.0f} ({false[n]})" for n, d in times.items())
        print(f"  {before:.0%} to {after:.0%}: {medians}", flush=True)


def _drifts(adwin: ADWIN, value: float) -> bool:
    adwin.update(value)
    return bool(adwin.drift_detected)


class Learner:
    """Resolve over the cases that a method still believes in; this one over all of them."""

    def __init__(self) -> None:
        self.policy = sw.Resolve(CASCADE)

    def tell(self, t: int, outputs: Case) -> None:
        self.policy.tell(outputs)

    def restart(self, cases: Iterable[Case] = ()) -> None:
        self.policy = sw.Resolve(CASCADE)
        self.policy.tell_many(Counter(cases))


class Oracle(Learner):
    """Starts anew at the true moment."""

    def tell(self, t: int, outputs: Case) -> None:
        if t == CHANGE:
            self.restart()
        self.policy.tell(outputs)


class Window(Learner):
    """Believes in the last cases alone; made anew every twentieth of the window."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.cases: deque[Case] = deque(maxlen=size)

    def tell(self, t: int, outputs: Case) -> None:
        self.cases.append(outputs)
        self.policy.tell(outputs)
        if t % (len(self.cases) // 20 + 1) == 0:
            self.restart(self.cases)


class Monitored(Learner):
    """Goes on from what the monitor saw since the change it noticed."""

    def __init__(self) -> None:
        super().__init__()
        self.monitor = Monitor(3, now=0.0)

    def tell(self, t: int, outputs: Case) -> None:
        self.policy.tell(outputs)
        if self.monitor.observe(outputs, float(t)):
            self.restart(self.monitor.recent().elements())


class Adaptive(Learner):
    """Starts anew when ADWIN finds a drift in the disagreement of any pair."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs = {(i, j): ADWIN() for j in range(3) for i in range(j)}

    def tell(self, t: int, outputs: Case) -> None:
        self.policy.tell(outputs)
        seen = [(i, j, adwin) for (i, j), adwin in self.pairs.items() if j < len(outputs)]
        drifted = [_drifts(adwin, outputs[i] != outputs[j]) for i, j, adwin in seen]
        if any(drifted):
            self.restart()


def regret(seeds: int = 3) -> None:
    """Cost and mistakes beyond those of the best stage, after the middle stage gets worse."""
    methods: dict[str, Callable[[], Learner]] = {
        "all history": Learner,
        "restart at the true moment": Oracle,
        "window of 1,000": lambda: Window(1000),
        "window of 4,000": lambda: Window(4000),
        "ADWIN": Adaptive,
        "monitor": Monitored,
    }
    print(f"regret in mistakes, mean of {seeds}: before the change, after it")
    for name, make in methods.items():
        lost = np.mean([_played(make(), seed) for seed in range(seeds)], axis=0)
        print(f"  {name}: {lost[0]:.0f}, {lost[1]:.0f}", flush=True)


def _played(learner: Learner, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    right, chance = rng.integers(0, 2, HORIZON), rng.random((HORIZON, 3))
    rates = np.where(np.arange(HORIZON)[:, None] < CHANGE, BEFORE, AFTER)
    outputs = (right[:, None] ^ (chance < rates)).tolist()
    is_shadow = (rng.random(HORIZON) < SHADOW).tolist()
    gaps = [(np.array(errors) + CASCADE.cumulative_costs).tolist() for errors in (BEFORE, AFTER)]
    lost = [0.0, 0.0]
    for t, seen in enumerate(outputs):
        stage = learner.policy.ask()
        costs = gaps[t >= CHANGE]
        lost[t >= CHANGE] += costs[stage] - min(costs)
        learner.tell(t, tuple(seen if is_shadow[t] else seen[: stage + 1]))
    return lost[0], lost[1]


if __name__ == "__main__":
    delays()
    regret()
