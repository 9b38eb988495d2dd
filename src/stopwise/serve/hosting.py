"""The cascades of a server: described in its configuration, or created over HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

from stopwise.checks import known_name
from stopwise.errors import InputError, SettingError, StageError
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage
from stopwise.serve.problems import ProblemError
from stopwise.serve.tokens import Tokens
from stopwise.store import Case, KeyedTell, Outcome, Store, case_text, open_store, read_case

POLICIES = ("beliefs", "resolve")


async def runs_elsewhere(case: Any) -> Any:
    """Stand for a stage that clients run themselves; calling it is an error."""
    raise StageError("this stage runs elsewhere: ask how far to go and tell what was seen")


class Host:
    """The cascades that a server answers for, all in one store.

    Parameters
    ----------
    store
        A store or its URL.
    cascades
        Arguments of `Runtime` for each cascade that is configured, by name.
    """

    def __init__(
        self, store: Store | str, cascades: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.store: Store = open_store(store) if isinstance(store, str) else store
        self.tokens = Tokens(self.store)
        self._runtimes: dict[str, Runtime] = {}
        self._lock = threading.Lock()
        for name, settings in (cascades or {}).items():
            self._runtimes[name] = Runtime(**{**settings, "name": name, "store": self.store})
        for record in self.store.cascades():
            if record.name not in self._runtimes and "/" not in record.name:
                self._runtimes[record.name] = self._from_state(record.name, record.description)

    @property
    def names(self) -> list[str]:
        """The names of all cascades."""
        return sorted(self._runtimes)

    def find(self, name: str) -> Runtime:
        """Return a cascade, or refuse with 404."""
        runtime = self._runtimes.get(name)
        if runtime is None:
            record = self.store.cascade(name)  # another worker may have created it
            if record is None:
                known = ", ".join(self.names) or "none"
                raise ProblemError(404, "There is no such cascade", f"got {name!r}, known: {known}")
            with self._lock:
                runtime = self._runtimes.setdefault(
                    name, self._from_state(name, record.description)
                )
        return runtime

    def create(
        self,
        name: str,
        *,
        costs: list[float],
        mistake_cost: float,
        names: list[str] | None = None,
        policy: str = "beliefs",
    ) -> Runtime:
        """Add a cascade whose stages run elsewhere."""
        known_name("policy", policy, POLICIES, SettingError)
        if not name or "/" in name or len(name) > 100:
            raise SettingError(f"name must be 1 to 100 characters without '/', got {name!r}")
        with self._lock:
            if name in self._runtimes or self.store.cascade(name) is not None:
                raise ProblemError(409, "The cascade exists already", f"got {name!r}")
            titles = names or [f"test {k + 1}" for k in range(len(costs))]
            if len(titles) != len(costs):
                raise SettingError(
                    f"names must be as many as costs, got {len(titles)} for {len(costs)}"
                )
            runtime = self._made(name, titles, costs, mistake_cost, policy)
            self._runtimes[name] = runtime
            return runtime

    def tell_keyed(self, runtime: Runtime, tells: list[tuple[str, tuple[Any, ...]]]) -> list[str]:
        """Count tells that may arrive more than once; a key with another case is a conflict."""
        bucket = runtime.worker.bucket()
        asked = [
            KeyedTell(runtime.name, key, case_text(outputs), bucket=bucket)
            for key, outputs in tells
        ]
        found: list[Outcome] = runtime.worker.tell_keyed(asked)
        runtime.learning.sync()
        return [outcome.value for outcome in found]

    def export(self, runtime: Runtime) -> list[dict[str, Any]]:
        """Return all cases of the current epoch with their counts."""
        found = []
        for text, times in sorted(runtime.learning.counts.totals().items()):
            case: Case = read_case(text)
            found.append({"outputs": list(case.outputs), "times": times})
        return found

    async def close(self) -> None:
        """Wait for what is under way and fold everything into the store."""
        for runtime in self._runtimes.values():
            await runtime.aclose()
        await asyncio.to_thread(self.store.close)

    def _made(
        self, name: str, titles: list[str], costs: list[float], mistake_cost: float, policy: str
    ) -> Runtime:
        stages = [
            Stage(runs_elsewhere, cost=cost, name=title)
            for title, cost in zip(titles, costs, strict=True)
        ]
        runtime = Runtime(
            name, stages=stages, mistake_cost=mistake_cost, policy=policy, store=self.store
        )
        runtime.events.record("policy", {"policy": policy})
        return runtime

    def _from_state(self, name: str, state: Mapping[str, Any]) -> Runtime:
        """Return a cascade that an earlier run or another worker has created."""
        records = self.store.records("policy", name, limit=1)
        policy = records[-1].body["policy"] if records else "beliefs"
        try:
            return self._made(
                name, list(state["names"]), list(state["costs"]), state["mistake_cost"], policy
            )
        except (InputError, KeyError, TypeError) as error:
            raise SettingError(f"cascade {name!r} in the store cannot be used: {error}") from error
