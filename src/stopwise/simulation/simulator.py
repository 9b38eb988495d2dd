"""Simulate: a policy in a world whose truth is known, so that its regret is known too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, IntArray
from stopwise.checks import whole_number
from stopwise.errors import SettingError
from stopwise.policies.compiled_rule import declared_rule
from stopwise.policies.learner import Learner
from stopwise.problem.contextual_instance import ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.problem.instance import Instance
from stopwise.problem.recording import Recording
from stopwise.simulation.compiled import warn_if_slow
from stopwise.simulation.contextual_play import CaseWorld
from stopwise.simulation.job import Job
from stopwise.simulation.stopping import StoppingWorld
from stopwise.simulation.trace import Trace
from stopwise.simulation.workers import play_jobs
from stopwise.simulation.world import World

Environment = Instance | Recording | ContextualInstance | ContextualRecording
PolicyOrFactory = Any | Callable[[Cascade], Any]
# Beyond this a count is no longer exact as a float.
MAX_HORIZON = 2**53
# The most numbers that a trace may hold, a gigabyte.
MAX_NUMBERS = 2**27
MAX_CHECKPOINTS = 10**6


def simulate(  # noqa: PLR0913  # all by keyword
    environment: Environment | Sequence[Environment],
    policy: PolicyOrFactory,
    *,
    horizon: int,
    replications: int = 20,
    seed: int = 0,
    checkpoints: int | Iterable[int] = 100,
    change_points: Sequence[int] = (),
    count_errors: bool = False,
    n_jobs: int = 1,
    progress: bool = True,
) -> Trace:
    """Play ``policy`` for ``horizon`` rounds, many times over, and return where it stopped.

    The time that it takes grows with the number of decisions, not of rounds: see
    `stopwise.simulation.events`. If numba is installed, a policy that declares a compiled rule is
    played in machine code once there is enough to play for compiling to pay; the numbers are the
    same. Ctrl-C returns the replications that are complete, if there is one.

    Parameters
    ----------
    environment
        An `Instance`, or a `Recording` whose rows are drawn with replacement; or the same with
        contexts, where every policy meets the same cases and regret is measured for each context.
        Or a list or tuple of environments that follow each other, on the same cascade.
    policy
        A policy, which is not changed: every replication continues from what it knows with a copy
        of its own. Or a function that makes a policy from a cascade, such as its class; it is
        called once. The policy chooses a stage before a case starts, with or without the features
        of the case, or it looks at each output (`next`). In the latter case regret is measured
        against the best stopping rule, or against the best rule that chooses tests in any order if
        the policy does so (``skip=True``).
    horizon, replications
        How long and how often, each >= 1.
    seed
        The same seed gives the same trace; replication r depends on the seed and r alone. If
        numba is missing, a policy with a compiled rule has the same law, but draws other numbers.
    checkpoints
        A number of log-spaced rounds, or the rounds themselves; the last is the horizon. What a
        decision shows until the next checkpoint is drawn at once: with other checkpoints the trace
        has the same law, but need not be the same.
    change_points
        The round after which each environment of a list is replaced by the next, increasing.
    count_errors
        Also count wrong answers.
    n_jobs
        The number of processes, -1 for one per core; the numbers do not depend on it.
    progress
        Whether to show a bar, on a terminal and after two seconds.

    >>> from stopwise import Resolve
    >>> from stopwise.problem.families import nested_errors
    >>> world = nested_errors(Cascade(costs=[0, 0.1, 0.1]))
    >>> trace = simulate(world, Resolve, horizon=10**6, replications=5, seed=1, checkpoints=3)
    >>> trace.rounds
    array([      1,    1000, 1000000])
    """
    job = prepare_job(
        environment, policy, horizon, replications, seed, checkpoints, count_errors, change_points
    )
    (played,) = play_jobs([job], n_jobs, progress=progress)
    return job.trace(played)


def prepare_job(
    environment: Environment | Sequence[Environment],
    policy: PolicyOrFactory,
    horizon: int,
    replications: int,
    seed: int,
    checkpoints: int | Iterable[int],
    count_errors: bool,
    change_points: Sequence[int] = (),
) -> Job:
    """Check everything that `simulate` was asked for, before anything is played."""
    T = whole_number("horizon", horizon, SettingError, least=1)
    if T > MAX_HORIZON:
        raise SettingError(f"horizon must be <= 2**53, got {T}")
    rounds = checkpoint_rounds(checkpoints, T)
    R = whole_number("replications", replications, SettingError, least=1)
    seed = whole_number("seed", seed, SettingError, least=0)
    environments: list[Any] = (
        list(environment) if isinstance(environment, (list, tuple)) else [environment]
    )
    if not environments:
        raise SettingError("environment must not be an empty list")
    changes = _checked_changes(change_points, T, len(environments))
    for each in environments:
        check_environment(each)
    cascade = environments[0].cascade
    for each in environments[1:]:
        _check_cascade("environment must have the cascade of the first", each.cascade, cascade)
    size = R * len(rounds) * (cascade.n_stages + 2)
    if size > MAX_NUMBERS:
        raise SettingError(
            "replications times checkpoints times stages must be at most 2**27, "
            f"got {R} times {len(rounds)} times {cascade.n_stages}"
        )
    learner = _learner(policy, cascade)
    worlds = tuple(_world(each, learner, count_errors) for each in environments)
    if len({each.has_contexts for each in environments}) > 1:
        raise SettingError("environment must have contexts throughout, or nowhere")
    rule = declared_rule(learner)
    if rule is not None and not warn_if_slow():
        rule = None
    return Job(worlds, changes, learner, rule, rounds, seed, range(R), count_errors)


def _world(environment: Any, policy: Any, count_errors: bool) -> Any:
    """Return an environment as the policy plays in it, or raise."""
    # Neither environments nor policies may know the worlds of simulations, so this is chosen here.
    name = type(policy).__name__
    if environment.has_contexts:
        if policy.looks_at_outputs:
            raise SettingError(f"environment must have no contexts for {name}, got {environment!r}")
        return CaseWorld(environment, policy)
    if policy.needs_context:
        raise SettingError(f"environment must have contexts for {name}, got {environment!r}")
    if policy.looks_at_outputs:
        return StoppingWorld(environment.instance, skips=policy.skip)
    return World(environment.instance, labelled=count_errors or policy.needs_label)


def check_environment(environment: Any) -> None:
    """Refuse anything but an environment."""
    if not isinstance(environment, Environment):
        raise SettingError(
            f"environment must be an Instance or a Recording, or a list of them, "
            f"got {environment!r}"
        )


def _checked_changes(change_points: Any, horizon: int, n_environments: int) -> tuple[int, ...]:
    changes = tuple(whole_number("change_points", c, SettingError, least=1) for c in change_points)
    if len(changes) != n_environments - 1:
        raise SettingError(
            f"change_points must be one fewer than the environments, got {len(changes)} "
            f"for {n_environments}"
        )
    if list(changes) != sorted(set(changes)) or (changes and changes[-1] >= horizon):
        raise SettingError(
            f"change_points must increase and end before the horizon {horizon}, got {changes}"
        )
    return changes


def checkpoint_rounds(checkpoints: int | Iterable[int], horizon: int) -> IntArray:
    """Return the rounds of the checkpoints, increasing, the horizon last.

    >>> checkpoint_rounds(4, 1000), checkpoint_rounds([10, 500], 1000)
    (array([   1,   10,  100, 1000]), array([  10,  500, 1000]))
    """
    if isinstance(checkpoints, np.ndarray) and checkpoints.ndim == 0:
        checkpoints = checkpoints.item()
    if isinstance(checkpoints, Iterable):
        rounds = [whole_number("checkpoints", c, SettingError, least=1) for c in checkpoints]
        if not rounds or rounds != sorted(set(rounds)) or rounds[-1] > horizon:
            raise SettingError(
                f"checkpoints must increase and end by the horizon {horizon}, got {rounds}"
            )
        return np.array(rounds if rounds[-1] == horizon else [*rounds, horizon], dtype=np.int64)
    n = whole_number("checkpoints", checkpoints, SettingError, least=1)
    if n > MAX_CHECKPOINTS:
        raise SettingError(f"checkpoints must be at most {MAX_CHECKPOINTS}, got {n}")
    grid = np.rint(np.geomspace(1, horizon, n)).astype(np.int64)
    grid[-1] = horizon
    return np.unique(grid)


def _learner(policy: Any, cascade: Cascade) -> Any:
    """Return the policy to copy: ``policy`` itself, or what it makes if it is a factory."""
    learner = policy
    if not isinstance(policy, Learner):
        if not callable(policy):
            raise SettingError(
                f"policy must be a policy or make one from a cascade, got {policy!r}"
            )
        _check_takes_cascade(policy)
        learner = policy(cascade)
        if not isinstance(learner, Learner):
            raise SettingError(f"policy must make a policy from a cascade, it made {learner!r}")
    _check_cascade("policy must be for the cascade of the environment", learner.cascade, cascade)
    return learner


def _check_cascade(rule: str, cascade: Cascade, expected: Cascade) -> None:
    if cascade.parents != expected.parents or not np.allclose(
        cascade.costs, expected.costs, rtol=1e-12, atol=0
    ):
        raise SettingError(f"{rule}, got {cascade!r} for {expected!r}")


def _check_takes_cascade(policy: Any) -> None:
    """Refuse a factory that needs more than a cascade, such as a class with further settings."""
    try:
        signature(policy).bind(object())
    except TypeError as error:
        name = getattr(policy, "__name__", repr(policy))
        raise SettingError(
            f"policy must make a policy from a cascade alone, {name} does not: {error}; "
            "give the policy itself, or a function of the cascade"
        ) from None
    except ValueError:  # some callables written in C have no signature
        return
