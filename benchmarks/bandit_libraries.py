"""UCB in three libraries of bandits, for `bench_simulation`; each makes a run over rewards."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any


def river_ucb(rewards: Any) -> Callable[[], None]:
    from river import bandit

    def run() -> None:
        policy, arms = bandit.UCB(delta=1, seed=0), [0, 1, 2]
        for row in rewards:
            arm = policy.pull(arms)
            policy.update(arm, row[arm])

    return run


def mabwiser_ucb(rewards: Any) -> Callable[[], None]:
    from mabwiser.mab import MAB, LearningPolicy

    def run() -> None:
        policy = MAB([0, 1, 2], LearningPolicy.UCB1())
        policy.fit([0, 1, 2], [1.0, 1.0, 1.0])
        for row in rewards:
            arm = policy.predict()
            policy.partial_fit([arm], [row[arm]])

    return run


def smpybandits_ucb(rewards: Any) -> Callable[[], None]:
    import scipy.special

    # SciPy has dropped the name, and without it the package cannot be imported; UCB never calls it.
    scipy.special.btdtri = scipy.special.betaincinv
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        from SMPyBandits.Policies import UCB

    def run() -> None:
        policy = UCB(3)
        policy.startGame()
        for row in rewards:
            arm = policy.choice()
            policy.getReward(arm, row[arm])

    return run


LIBRARIES = {"river": river_ucb, "MABWiser": mabwiser_ucb, "SMPyBandits": smpybandits_ucb}
