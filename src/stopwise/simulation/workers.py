"""Replications spread over workers: the same numbers on any number of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from stopwise.errors import MissingExtraError, SettingError
from stopwise.simulation.progress import Progress

# A job goes to the workers in at most so many parts: enough to share out, few enough to send.
PARTS = 64


class Playable(Protocol):
    """What can be shared out, a dataclass: replications of one policy in one world."""

    @property
    def replications(self) -> range:
        """Which replications to play."""

    @property
    def kernel(self) -> Any:
        """What plays it compiled, if anything does."""

    def play(self) -> Iterator[Any]:
        """Play the replications one after the other."""


def play_jobs(jobs: Sequence[Playable], n_jobs: int | None, *, progress: bool) -> list[list[Any]]:
    """Return what was played in each job, replication by replication.

    On Ctrl-C, what is complete by then: the first replications of each job, maybe none.
    """
    check_n_jobs(n_jobs)
    played: list[list[Any]] = [[] for _ in jobs]
    with Progress(sum(len(job.replications) for job in jobs), show=progress) as bar:
        try:
            for index, batch in _stream(jobs, n_jobs):
                played[index] += batch
                bar.advance(len(batch))
        except KeyboardInterrupt:
            if not any(played):
                raise
    return played


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse what joblib would not understand."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise SettingError(f"n_jobs must be a whole number other than 0 (-1: all), got {n_jobs!r}")


def _stream(jobs: Sequence[Playable], n_jobs: int | None) -> Iterator[tuple[int, list[Any]]]:
    """Yield finished replications with the index of their job, those of one job in order."""
    workers = _workers(n_jobs, compiled=all(job.kernel is not None for job in jobs))
    if workers is None:
        for index, job in enumerate(jobs):
            for played in job.play():
                yield index, [played]
        return
    parts = [(index, part) for index, job in enumerate(jobs) for part in _parts(job)]
    yield from zip((index for index, _ in parts), workers(part for _, part in parts), strict=True)


def _parts(job: Any) -> list[Playable]:
    """Return a job cut into at most `PARTS` jobs of about equal size, in order."""
    size = -(-len(job.replications) // PARTS)
    cuts = range(0, len(job.replications), size)
    return [replace(job, replications=job.replications[cut : cut + size]) for cut in cuts]


def _workers(n_jobs: int | None, *, compiled: bool) -> Any:
    """Return what maps parts of jobs to their results, in order; ``None`` for a plain loop."""
    if n_jobs == 1:
        return None
    try:
        import joblib
        from joblib.parallel import get_active_backend
    except ImportError:
        if n_jobs is None:
            return None
        raise MissingExtraError("n_jobs needs joblib: pip install 'stopwise[sim]'") from None
    if joblib.effective_n_jobs(n_jobs) == 1:
        return None
    # Compiled code lets other threads run. A hint: a cluster that was asked for is used.
    prefer = "threads" if compiled else None
    # Ray and multiprocessing hand over nothing before the end, so nothing is left on Ctrl-C.
    streams = get_active_backend(prefer=prefer)[0].supports_return_generator
    how = "generator" if streams else "list"
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer=prefer, return_as=how)
    return lambda parts: parallel(joblib.delayed(_play)(part) for part in parts)


def _play(part: Playable) -> list[Any]:
    return list(part.play())
