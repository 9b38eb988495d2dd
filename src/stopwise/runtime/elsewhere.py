"""Cases whose stages run in other programs: ask how far to go, tell what was seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence

from stopwise.errors import OutputsError
from stopwise.outputs import check_outputs
from stopwise.patterns import Pattern
from stopwise.runtime.engine import Engine
from stopwise.runtime.learning import Learning
from stopwise.runtime.watching import Watching
from stopwise.store import KeyedTell, Outcome, Worker, case_text


class Elsewhere:
    """The part of a `Runtime` for stages that it does not call itself."""

    name: str
    worker: Worker
    engine: Engine
    learning: Learning
    watching: Watching
    recent: deque[tuple[float, Pattern]]
    clock: Callable[[], float]

    def ask(self, outputs_so_far: Sequence[Hashable] = ()) -> int:
        """Return the stage up to which to run a case whose stages run elsewhere.

        The stage already reached means: stop. Stages out of service are left out at the end.
        """
        learning, outputs = self.learning, list(outputs_so_far)
        with learning.lock:
            course = learning.start()
        reached, stage = len(outputs) - 1, course.stage
        if stage is None:
            stage = reached + 1 if not outputs or course.goes_on(outputs) else reached
        while stage in self.engine.distrusted and stage > max(reached, 0):
            stage -= 1
        return min(max(stage, reached), learning.cascade.n_stages - 1)

    def tell(
        self,
        outputs: Sequence[Hashable],
        *,
        key: str | None = None,
        amend: bool = False,
        is_random: bool = False,
    ) -> bool:
        """Count a case whose stages ran elsewhere, ``None`` where one gave nothing.

        With a ``key`` it is counted once, however often it is told; the return value says whether
        anything was counted now. Other outputs under the same key are refused, or with ``amend``
        take the place of those told before, within an epoch. ``is_random`` says that how far the
        case went did not depend on what its stages said, as for a stage that `ask` chose before it.
        """
        _, told = check_outputs(outputs, self.learning.cascade)
        if key is not None:
            keyed = KeyedTell(self.name, key, case_text(told), amends=amend)
            (outcome,) = self.worker.tell_keyed([keyed])
            if outcome is Outcome.CONFLICT:
                raise OutputsError(f"case {key!r} was told before with other outputs, got {told!r}")
            if outcome is Outcome.REPEATED:
                return False
            self.learning.sync()
            self.watching.synced()
            if outcome is Outcome.AMENDED:  # the monitor has seen the case
                return True
        with self.learning.lock:
            if key is None:
                self.learning.tell(told)
            self.watch(told, is_random=is_random)
        return True

    def watch(self, told: Pattern, *, is_random: bool) -> None:
        """Let the monitor and the list of last cases know of a case that was counted."""
        with self.learning.lock:
            self.recent.append((self.clock(), told))
            cost = float(sum(self.learning.cascade.prices[: len(told)]))
            self.watching.see(told, cost, is_random=is_random)
