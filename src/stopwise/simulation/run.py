"""Simulate: a policy in a world whose truth is known, so that its regret is known too."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, IntArray
from stopwise.checks import whole_number
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.output_conditional import OutputConditional
from stopwise.policies.supervised import Supervised
from stopwise.problem.contextual import ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.problem.instance import Instance
from stopwise.problem.recording import Recording
from stopwise.simulation.compiled_play import CompiledPlay, kernel_for
from stopwise.simulation.contextual_job import ContextualJob, contextual_job
from stopwise.simulation.events import play_events
from stopwise.simulation.trace import Trace
from stopwise.simulation.workers import play_jobs
from stopwise.simulation.world import Played, World

Environment = Instance | Recording | ContextualInstance | ContextualRecording
AnyPolicy = Policy | ContextualPolicy
PolicyOrFactory = AnyPolicy | Callable[[Cascade], AnyPolicy]
# Beyond this a count is no longer exact as a float.
MAX_HORIZON = 2**53


def simulate(  # noqa: PLR0913  # all by keyword
    environment: Environment,
    policy: PolicyOrFactory,
    *,
    horizon: int,
    replications: int = 20,
    seed: int = 0,
    checkpoints: int | Iterable[int] = 100,
    count_errors: bool = False,
    n_jobs: int = 1,
    progress: bool = True,
) -> Trace:
    """Play ``policy`` for ``horizon`` rounds, many times over, and return where it stopped.

    Time goes by decisions, not by rounds: see `stopwise.simulation.events`. Ctrl-C returns the
    replications that are complete, if there is one.

    Parameters
    ----------
    environment
        An `Instance`, or a `Recording` whose rows are drawn with replacement; or the same with
        contexts, where every policy meets the same cases and regret is measured for each context.
    policy
        A policy, which is not changed: every replication goes on with a copy of its own, from what
        the policy knows. Or what makes a policy from a cascade (its class, say), called once.
    horizon, replications
        How long and how often, each >= 1.
    seed
        The same seed gives the same trace; replication r depends on the seed and r alone.
    checkpoints
        A number of log-spaced rounds, or the rounds themselves; the last is the horizon. What a
        long-held decision shows is drawn at once, cut at checkpoints: with others the trace has
        the same law, but need not be the same.
    count_errors
        Also count the wrong answers that were given.
    n_jobs
        The number of processes, -1 for one a core; the numbers do not depend on it.
    progress
        Whether to show a bar, on a terminal and after two seconds.

    >>> from stopwise.policies import Resolve
    >>> from stopwise.problem.families import nested_errors
    >>> world = nested_errors(Cascade(costs=[0, 0.1, 0.1]))
    >>> trace = simulate(world, Resolve, horizon=10**6, replications=5, seed=1, checkpoints=3)
    >>> trace.rounds
    array([      1,    1000, 1000000])
    """
    job = prepare_job(
        environment,
        policy,
        horizon=horizon,
        replications=replications,
        seed=seed,
        checkpoints=checkpoints,
        count_errors=count_errors,
    )
    (played,) = play_jobs([job], n_jobs, progress=progress)
    return job.trace(played)


@dataclass(frozen=True)
class Job:
    """Replications to be played, checked and self-contained: what goes to a worker.

    Parameters
    ----------
    world
        The instance, prepared for drawing.
    policy
        The policy to copy for each replication.
    kernel
        The same compiled, if it can be. Chosen once, so that all workers draw the same numbers.
    rounds
        The checkpoints, the horizon last.
    seed, replications
        Where randomness comes from, and which replications to play.
    count_errors
        Whether the trace tells how often the answer was wrong.
    """

    world: World
    policy: Policy
    kernel: CompiledPlay | None
    rounds: IntArray
    seed: int
    replications: range
    count_errors: bool

    def play(self) -> Iterator[Played]:
        """Play the replications one after the other."""
        if self.kernel is not None:
            yield from self.kernel.replications(self.rounds, self.seed, self.replications)
            return
        for r in self.replications:
            yield self._play(np.random.default_rng([self.seed, r]))

    def trace(self, played: list[Played], *, name: str = "") -> Trace:
        """Return what was played, the first of the replications at least, as a trace."""
        return Trace(
            self.rounds,
            np.array([p.stops for p in played]),
            self.world.instance.gaps,
            self.world.cascade,
            name or type(self.policy).__name__,
            np.array([p.wrong for p in played]) if self.count_errors else None,
            seed=self.seed,
            n_asked=len(self.replications),
        )

    def _play(self, rng: np.random.Generator) -> Played:
        learner = copy.deepcopy(self.policy)
        learner.reseed(rng.spawn(1)[0])
        return play_events(self.world, learner, self.rounds.tolist(), rng)


def prepare_job(
    environment: Environment,
    policy: PolicyOrFactory,
    *,
    horizon: int,
    replications: int,
    seed: int,
    checkpoints: int | Iterable[int],
    count_errors: bool,
) -> Job | ContextualJob:
    """Check everything that was asked for, so that nothing is refused half-way."""
    last = whole_number("horizon", horizon, SettingError, least=1)
    if last > MAX_HORIZON:
        raise SettingError(f"horizon must be <= 2**53, got {last}")
    rounds = checkpoint_rounds(checkpoints, last)
    R = whole_number("replications", replications, SettingError, least=1)
    start = whole_number("seed", seed, SettingError, least=0)
    if isinstance(environment, (ContextualInstance, ContextualRecording)):
        chosen = _made(policy, environment.cascade)
        if isinstance(chosen, ContextualPolicy) and chosen.n_features != environment.n_features:
            raise SettingError(
                f"policy must be for contexts of {environment.n_features} features, "
                f"got one for {chosen.n_features}"
            )
        return contextual_job(environment, chosen, rounds, start, range(R), count_errors)
    instance = instance_of(environment)
    learner = _made(policy, instance.cascade)
    if isinstance(learner, ContextualPolicy):
        raise SettingError(
            f"environment must have contexts for {type(learner).__name__}, got {environment!r}"
        )
    world = World(instance, labelled=count_errors or isinstance(learner, Supervised))
    return Job(world, learner, kernel_for(world, learner), rounds, start, range(R), count_errors)


def instance_of(environment: Any) -> Instance:
    """Return the law of an environment, or raise."""
    if isinstance(environment, ContextualInstance):
        raise SettingError(f"environment must have no contexts here, got {environment!r}")
    if isinstance(environment, Recording):
        return environment.instance
    if isinstance(environment, Instance):
        return environment
    raise SettingError(f"environment must be an Instance or a Recording, got {environment!r}")


def checkpoint_rounds(checkpoints: int | Iterable[int], horizon: int) -> IntArray:
    """Return the rounds at which to look, increasing, the horizon last.

    >>> checkpoint_rounds(4, 1000), checkpoint_rounds([10, 500], 1000)
    (array([   1,   10,  100, 1000]), array([  10,  500, 1000]))
    """
    if isinstance(checkpoints, np.ndarray) and checkpoints.ndim == 0:
        checkpoints = checkpoints.item()
    if isinstance(checkpoints, Iterable):
        given = [whole_number("checkpoints", c, SettingError, least=1) for c in checkpoints]
        if not given or given != sorted(set(given)) or given[-1] > horizon:
            raise SettingError(
                f"checkpoints must increase and end by the horizon {horizon}, got {given}"
            )
        return np.array(given if given[-1] == horizon else [*given, horizon], dtype=np.int64)
    n = whole_number("checkpoints", checkpoints, SettingError, least=1)
    spaced = np.rint(np.geomspace(1, horizon, n)).astype(np.int64)
    spaced[-1] = horizon
    return np.unique(spaced)


def _made(policy: Any, cascade: Cascade) -> AnyPolicy:
    """Return the policy to copy: the one given, or the one that the factory makes."""
    if isinstance(policy, (Policy, ContextualPolicy, OutputConditional)):
        made: Any = policy
    elif callable(policy):
        check_takes_cascade(policy)
        made = policy(cascade)
    else:
        raise SettingError(f"policy must be a policy or make one from a cascade, got {policy!r}")
    if isinstance(made, OutputConditional):
        raise SettingError(
            "policy must choose a stage before a case starts; OutputConditional, which looks at "
            "outputs, is for simulate_stopping"
        )
    if not isinstance(made, AnyPolicy):
        raise SettingError(f"policy must make a policy from a cascade, it made {made!r}")
    if made.cascade.parents != cascade.parents or not np.allclose(
        made.cascade.costs, cascade.costs, rtol=1e-12, atol=0
    ):
        raise SettingError(
            "policy must be for the cascade of the environment, "
            f"got {made.cascade!r} for {cascade!r}"
        )
    return made


def check_takes_cascade(policy: Any) -> None:
    """Refuse a factory that asks for more than a cascade, as a class with further settings does."""
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
