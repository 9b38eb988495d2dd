"""Files of the dashboard, reports, and audits of uploaded files."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette import staticfiles
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from stopwise.cascade import Cascade
from stopwise.errors import InputError, LogError, SettingError
from stopwise.lists import comma_separated
from stopwise.serve.api import Json, runtime_of
from stopwise.serve.messages import AuditFile, ReportFormat
from stopwise.serve.problems import ProblemError

STATIC = Path(__file__).parent / "static"
MAX_PAGES = 20  # of audits that are kept in memory, the newest
# A report has styles and a script of its own; in a sandbox it has no access to anything here.
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:"
)


class StaticFiles(staticfiles.StaticFiles):
    """The dashboard's files, which a browser may keep for an hour."""

    def file_response(self, *args: Any, **settings: Any) -> Response:
        """Return a response with a file."""
        response = super().file_response(*args, **settings)
        response.headers["cache-control"] = "max-age=3600"
        return response


async def index(request: Request) -> Response:
    """The one page of the dashboard; its script looks at the path."""
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def audit_file(request: Request, query: AuditFile) -> Response:
    """Audit a CSV file; the answer has the advice, the summary and where the page is."""
    page, advice = await asyncio.to_thread(_audit, await request.body(), query)
    pages: OrderedDict[str, str] = request.scope["state"]["audits"]
    key = secrets.token_urlsafe(16)
    pages[key] = page
    while len(pages) > MAX_PAGES:
        pages.popitem(last=False)
    return Json({**advice, "page": f"/audits/{key}"})


async def report(request: Request, query: ReportFormat) -> Response:
    """The audit of what was seen: JSON, or the page with ``?format=html``."""
    try:
        audit = await asyncio.to_thread(runtime_of(request).report)
    except InputError as error:
        raise ProblemError(409, "There is nothing to report yet", str(error)) from error
    if query.format == "html":
        return _page(await asyncio.to_thread(audit.to_html))
    return Response(audit.to_json(), media_type="application/json")


async def audit_page(request: Request) -> Response:
    """The report on an uploaded file; only its sender knows the address."""
    page = request.scope["state"]["audits"].get(request.path_params["key"])
    if page is None:
        raise ProblemError(404, "There is no such report", "reports are kept only for a while")
    return _page(page)


def _page(html: str) -> Response:
    headers = {"content-security-policy": REPORT_POLICY}
    return Response(html, media_type="text/html", headers=headers)


def _audit(body: bytes, query: AuditFile) -> tuple[str, dict[str, Any]]:
    from stopwise.auditing.pipeline import audit
    from stopwise.auditing.words.wording import box
    from stopwise.reading import open_log

    try:
        prices = [float(part) for part in comma_separated(query.costs)]
    except ValueError:
        raise SettingError(f"costs must be numbers, got {query.costs!r}") from None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_bytes(body)
        try:
            columns = comma_separated(query.tests) or list(open_log(path).columns)
            if len(columns) != len(prices):
                raise SettingError(
                    f"costs must have one price per test, got {len(prices)} for "
                    f"{', '.join(columns)}"
                )
            cascade = Cascade(prices, query.mistake_cost, columns)
            report = audit(path, cascade, tests=columns)
        except LogError as error:  # with the client's name for the file
            message = str(error).replace(f"{folder}/", "")
            raise LogError(message.replace(path.name, query.name[:100] or path.name)) from None
    return report.to_html(), {"advice": asdict(box(report)), "summary": report.summary()}
