"""A small client for `stopwise serve` that needs only the standard library."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from stopwise.errors import StopwiseError
from stopwise.pattern_counts import plain_output

RETRIED = {0, 429, 502, 503, 504}  # 0: the server cannot be reached


class ServerError(StopwiseError):
    """The server refused a request, or cannot be reached (then ``status`` is 0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Ask and tell a cascade on a server.

    Every tell has a key, so one that is sent again after a failure is counted once.

    Parameters
    ----------
    url
        The address of the server, such as ``http://127.0.0.1:8080``.
    cascade
        The name of the cascade.
    token
        A token, if the server requires one.
    timeout
        Seconds for one attempt.
    retries
        Further attempts if the server is unavailable or busy, with growing waits.
    """

    def __init__(
        self,
        url: str,
        cascade: str,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retries: int = 3,
    ) -> None:
        self._base = f"{url.rstrip('/')}/api/cascades/{quote(cascade, safe='')}"
        self._token = token
        self._timeout = timeout
        self._retries = retries

    def ask(self, outputs_so_far: Sequence[Any] = ()) -> int:
        """Return the stage up to which to run a case; the one already reached means: stop."""
        return int(self._send("POST", "/ask", {"outputs": list(outputs_so_far)})["stage"])

    def tell(self, outputs: Sequence[Any], *, key: str | None = None, amend: bool = False) -> str:
        """Count a case; return ``counted``, or ``repeated`` if its key was told before.

        With ``amend``, other outputs replace those told under the key: ``amended``. While learning
        is ``frozen`` nothing is counted, and the key may be told again later.
        """
        body = {"outputs": list(outputs), "key": key or uuid.uuid4().hex, "amend": amend}
        return str(self._send("POST", "/tell", body)["outcome"])

    def tell_many(self, cases: Sequence[Sequence[Any]]) -> list[str]:
        """Count many cases at once."""
        tells = [{"outputs": list(outputs), "key": uuid.uuid4().hex} for outputs in cases]
        return list(self._send("POST", "/tell-many", {"cases": tells})["outcomes"])

    def run(self, case: Any, *, key: str | None = None) -> dict[str, Any]:
        """Return the answer to a case, from stages that the server runs."""
        return self._send("POST", "/run", {"case": case, "key": key})

    def label(self, key: str, label: Any) -> None:
        """Give the right answer of a case that the server has kept."""
        self._send("POST", "/labels", {"key": key, "label": label})

    def live(self) -> dict[str, Any]:
        """Return what is known of the cascade now."""
        return self._send("GET", "/live")

    def _send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        for attempt in range(self._retries):
            try:
                return self._send_once(method, path, body)
            except ServerError as error:
                if error.status not in RETRIED:
                    raise
            time.sleep(min(0.1 * 2**attempt, 5.0))
        return self._send_once(method, path, body)

    def _send_once(self, method: str, path: str, body: Any) -> dict[str, Any]:
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body, default=_plain).encode()
        request = urllib.request.Request(
            self._base + path, data=data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                raise ServerError(error.code, _detail(error.read()) or str(error)) from None
        except (OSError, http.client.HTTPException) as error:  # the latter: an answer cut short
            raise ServerError(0, f"{self._base} cannot be reached: {error}") from None


_plain = partial(plain_output, name="what is sent")  # numbers of NumPy are no JSON


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError):
        return ""
