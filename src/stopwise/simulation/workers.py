"""Replications spread over workers: the same numbers on any number of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stopwise.errors import MissingExtraError, SettingError
from stopwise.extras import load_extra
from stopwise.progress import Progress
from stopwise.simulation.job import Job, Played

# Parts for each worker: enough to share out the work evenly, few enough to send.
PARTS = 8
# Starting threads or processes does not pay for work that takes less than this.
SECONDS_OF_THREADS, SECONDS_OF_PROCESSES = 0.05, 1.0
MAX_WORKERS = 1024


def play_jobs(
    jobs: Sequence[Job],
    n_jobs: int | None,
    *,
    progress: bool,
    failures: dict[int, Exception] | None = None,
) -> list[list[Played]]:
    """Return what was played in each job, replication by replication.

    Ctrl-C returns what is complete by then: the first replications of each job, maybe none.
    ``failures`` is filled with the errors of jobs in which the policy failed, by index; without it
    the first error is raised.
    """
    check_n_jobs(n_jobs)
    played: list[list[Played]] = [[] for _ in jobs]
    with Progress(sum(len(job.replications) for job in jobs), "simulating", show=progress) as bar:
        try:
            for index, batch in _stream(jobs, n_jobs):
                if isinstance(batch, list):
                    played[index] += batch
                    bar.advance(len(batch))
                elif failures is None:
                    raise batch
                else:
                    failures.setdefault(index, batch)
        except KeyboardInterrupt:
            if not any(played):
                raise
    for index in failures or ():
        played[index] = []
    return played


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse what joblib would not understand, or too many workers."""
    if n_jobs is None:
        return
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise SettingError(f"n_jobs must be a whole number other than 0 (-1: all), got {n_jobs!r}")
    if n_jobs > MAX_WORKERS:
        raise SettingError(f"n_jobs must be at most {MAX_WORKERS}, got {n_jobs!r}")


Batch = list[Played] | Exception


def _stream(jobs: Sequence[Job], n_jobs: int | None) -> Iterator[tuple[int, Batch]]:
    """Yield finished replications with the index of their job, those of one job in order.

    Unless joblib was told what to use, the work begins in this process. It goes to workers once it
    has taken as long as they take to start, if the rest seems to take at least twice as long.
    """
    is_compiled = all(job.rule is not None for job in jobs)
    workers, n_workers = _workers(n_jobs, is_compiled=is_compiled)
    todo = list(enumerate(jobs))
    patience = SECONDS_OF_THREADS if is_compiled else SECONDS_OF_PROCESSES
    if workers is None or n_jobs is not None:
        start, n_done = time.perf_counter(), 0
        n_all = sum(len(job.replications) for job in jobs)
        while todo:
            seconds = time.perf_counter() - start
            rest = (n_all - n_done) * seconds / max(n_done, 1)
            if workers is not None and seconds >= patience and rest >= 2 * patience:
                break
            index, job = todo.pop(0)
            n_done += 1
            batch = _play(replace(job, replications=job.replications[:1]))
            yield index, batch
            if len(job.replications) > 1 and isinstance(batch, list):
                todo.insert(0, (index, replace(job, replications=job.replications[1:])))
    if not todo:
        return
    n_todo = sum(len(job.replications) for _, job in todo)
    size = -(-n_todo // (PARTS * n_workers))
    parts = [(index, part) for index, job in todo for part in _parts(job, size)]
    yield from zip((index for index, _ in parts), workers(part for _, part in parts), strict=True)


def _parts(job: Job, size: int) -> list[Job]:
    """Return a job cut into jobs of ``size`` replications at most, in order."""
    cuts = range(0, len(job.replications), size)
    return [replace(job, replications=job.replications[cut : cut + size]) for cut in cuts]


def _workers(n_jobs: int | None, *, is_compiled: bool) -> tuple[Any, int]:
    """Return a map from parts of jobs to their results, and the number of workers.

    Results keep the order of the parts. Without workers the map is ``None``.
    """
    if n_jobs == 1:
        return None, 1
    try:
        joblib = load_extra("joblib", extra="sim", purpose="n_jobs")
    except MissingExtraError:
        if n_jobs is None:
            return None, 1
        raise
    from joblib.parallel import get_active_backend

    n_workers = joblib.effective_n_jobs(n_jobs)
    if n_workers == 1:
        return None, 1
    # Compiled code lets other threads run. It is a hint: joblib uses a cluster if it was told to.
    prefer = "threads" if is_compiled else None
    # Ray and multiprocessing return everything at the end, so Ctrl-C loses all of it.
    streams = get_active_backend(prefer=prefer)[0].supports_return_generator
    how = "generator" if streams else "list"
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer=prefer, return_as=how)
    return lambda parts: parallel(joblib.delayed(_play)(part) for part in parts), n_workers


def _play(part: Job) -> Batch:
    """Return what was played, or the error that was raised, in most cases by the policy."""
    try:
        return part.play()
    except Exception as error:  # whatever a policy may raise
        error.add_note(f"raised while {type(part.policy).__name__} was simulated")
        return error
