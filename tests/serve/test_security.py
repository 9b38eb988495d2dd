"""Who may do what: tokens, addresses, limits, headers, the audit trail."""

import hmac
import json
import logging
import socket

import pytest

from stopwise.errors import SettingError, StoreUnavailableError
from stopwise.serve.app import ROUTES
from stopwise.serve.launch import JsonLines
from stopwise.serve.middleware import Limits, Tracing
from stopwise.serve.server_settings import ServerSettings
from stopwise.serve.tokens import Tokens
from stopwise.store import open_store
from tests.faults import unavailable
from tests.serve.local_server import NEW, serving

BASE = "/api/cascades/triage"


@pytest.fixture(scope="module")
def locked():
    """A server that asks for tokens, and one token of each scope."""
    with serving(needs_token=True) as server:
        tokens = {scope: server.host.tokens.create(scope) for scope in ("read", "tell", "admin")}
        with server.client(tokens["admin"]) as http:
            assert http.post("/api/cascades", json=NEW).status_code == 201
        yield server, tokens


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route[0]} {route[1]}")
def test_every_route_asks_for_its_scope(locked, route):
    server, tokens = locked
    method, path, scope, *_ = route
    path = path.format(name="triage", stage="a", token_id="0")
    order = ["read", "tell", "admin"]
    with server.client() as http:
        for headers, title in (
            ({}, "needed"),
            ({"authorization": "Bearer sw_0_guess"}, "not valid"),
            ({"authorization": "Basic x"}, "needed"),
        ):
            answer = http.request(method, path, headers=headers)
            assert (answer.status_code, answer.json()["status"]) == (401, 401)
            assert title in answer.json()["title"]
        for lower in order[: order.index(scope)]:
            headers = {"authorization": f"Bearer {tokens[lower]}"}
            assert http.request(method, path, headers=headers).status_code == 403


def test_what_a_scope_allows(locked):
    server, tokens = locked
    for scope in ("read", "tell", "admin"):
        with server.client(tokens[scope]) as http:
            assert http.get(BASE).status_code == 200
            tell = http.post(f"{BASE}/tell", json={"outputs": ["x"]})
            assert tell.status_code == (403 if scope == "read" else 200)


def test_tokens_are_made_listed_and_revoked(locked):
    server, tokens = locked
    with server.client(tokens["admin"]) as http:
        token = http.post("/api/tokens", json={"scope": "read", "note": "board"}).json()["token"]
        grants = http.get("/api/tokens").json()["tokens"]
        (grant,) = [grant for grant in grants if grant["note"] == "board"]
        assert token.split("_", 2)[2] not in json.dumps(grants)
        with server.client(token) as reader:
            assert reader.get(BASE).status_code == 200
            assert http.delete(f"/api/tokens/{grant['token_id']}").status_code == 204
            assert reader.get(BASE).status_code == 401


def test_the_trail_says_who_changed_what(locked):
    server, tokens = locked
    who = tokens["admin"].split("_")[1]
    with server.client(tokens["admin"]) as http:
        http.patch(BASE, json={"mistake_cost": 250}, headers={"x-request-id": "change-7"})
        http.patch(BASE, json={"mistake_cost": -1})
        changes = http.get("/api/trail").json()["changes"]
    patches = [change for change in changes if change["did"].startswith("PATCH")]
    assert len(patches) == 1, "what was refused is no change"
    expected = {"who": who, "asked": {"mistake_cost": 250}, "cascade": "triage"}
    assert expected.items() <= patches[0].items()
    assert patches[0]["request_id"] == "change-7"
    assert tokens["admin"] not in json.dumps(changes)


def test_the_store_has_hashes_only(url, tmp_path):
    with open_store(url) as store:
        token = Tokens(store).create("admin")
    content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    _, token_id, secret = token.split("_", 2)
    assert token_id.encode() in content
    assert secret.encode() not in content


def test_tokens_are_believed_until_they_expire_while_the_store_is_away(monkeypatch):
    now, store = [1000.0], open_store("memory://")
    tokens = Tokens(store, clock=lambda: now[0])
    token, unused = tokens.create("read", days=1), tokens.create("read", days=1)
    assert tokens.grant(token)

    monkeypatch.setattr(store, "get", unavailable)
    now[0] += 3600
    assert tokens.grant(token).scope == "read"
    with pytest.raises(StoreUnavailableError):
        tokens.grant(unused)
    now[0] += 86400
    assert tokens.grant(token) is None


def test_hashes_are_compared_in_constant_time(monkeypatch):
    calls = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: calls.append(a) or compare(a, b))
    tokens = Tokens(open_store("memory://"))
    token = tokens.create("read")
    assert tokens.grant(token[:-1] + ("a" if token[-1] != "a" else "b")) is None
    assert len(calls) == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_other_addresses_need_tokens(host):
    with pytest.raises(SettingError, match="tokens"):
        ServerSettings(host=host)
    assert ServerSettings(host=host, tokens=True).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_loopback_needs_none(host):
    assert ServerSettings(host=host).host == host


def test_headers_on_every_answer(server, http):
    for path in ("/", "/nowhere", BASE, "/static/main.js", "/openapi.json", "/metrics"):
        headers = http.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-request-id"]
        assert not [name for name in headers if name.startswith("access-control")]
    headers = http.post(f"{BASE}/ask", json={}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-request-id"]
    preflight = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    headers = http.options(BASE, headers=preflight).headers
    assert not [name for name in headers if name.startswith("access-control")]


def test_other_sites_are_refused(server, http):
    origin = {"origin": "https://evil.example", "content-type": "text/plain"}
    answer = http.post(f"{BASE}/tell", content=b'{"outputs": ["x"]}', headers=origin)
    assert answer.status_code == 403
    for host in ("evil.example", "[", ""):
        assert http.get(BASE, headers={"host": host}).status_code == 403
    assert http.get(BASE, headers={"host": f"localhost:{server.port}"}).status_code == 200
    own = {"origin": server.url}
    assert http.post(f"{BASE}/ask", json={}, headers=own).status_code == 200


def test_files_outside_are_not_served(server):
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
    ):
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            raw.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
            )
            assert raw.recv(100).startswith(b"HTTP/1.1 404")


def test_bodies_are_limited():
    with (
        serving(limits=Limits(body_bytes=1000, file_bytes=2000)) as server,
        server.client() as http,
    ):
        http.post("/api/cascades", json=NEW)
        large = json.dumps({"outputs": ["x" * 2000]}).encode()
        assert http.post(f"{BASE}/tell", content=large).status_code == 413
        chunks = http.post(
            f"{BASE}/tell", content=iter([large[:500], large[500:1500], large[1500:]])
        )
        assert (chunks.status_code, chunks.json()["title"]) == (413, "The body is too large")
        assert http.post("/api/audit", content=b"x" * 3000).status_code == 413
        assert http.get(f"{BASE}/live").json()["n_cases"] == 0


def test_rates_are_limited():
    limits = Limits(requests_per_second=0.001, burst=20)
    with serving(limits=limits) as server, server.client() as http:
        codes = [http.get("/healthz").status_code for _ in range(30)]
    assert codes.count(429) >= 10
    assert codes[0] == 200


def test_requests_are_logged_with_their_ids(caplog):
    caplog.set_level(logging.INFO, "stopwise.serve")
    with serving(log_requests=True) as server, server.client() as http:
        for request_id, is_used in (("abc-1", True), ("bad id", False)):
            headers = http.get("/healthz", headers={"x-request-id": request_id}).headers
            assert (headers["x-request-id"] == request_id) == is_used
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    (line,) = [line for line in lines if line.get("request_id") == "abc-1"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/healthz", 200)
    assert line["ms"] >= 0


@pytest.mark.parametrize(("method", "path"), [("GET", BASE), ("POST", f"{BASE}/ask")])
def test_a_failure_is_answered_and_logged(method, path, caplog, monkeypatch):
    with serving() as server, server.client() as http:
        monkeypatch.setattr(server.host, "find", lambda name: 1 / 0)
        answer = http.request(method, path)
    assert (answer.status_code, answer.json()["title"]) == (500, "The server has failed")
    assert answer.headers["x-request-id"]
    (record,) = [record for record in caplog.records if record.name == "stopwise.serve"]
    assert "ZeroDivisionError" in JsonLines().format(record)


def test_requests_are_spans_that_go_on_from_the_callers():
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import export
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving(wrap=Tracing) as server, server.client() as http:
        http.get("/nowhere", headers={"traceparent": parent, "x-request-id": "abc-2"})
    spans = [span for span in exporter.get_finished_spans() if span.parent is not None]
    (attributes,) = [dict(span.attributes) for span in spans]
    assert attributes["http.response.status_code"] == 404
    assert attributes["stopwise.request_id"] == "abc-2"
    assert f"{spans[0].context.trace_id:032x}" == parent.split("-")[1]
