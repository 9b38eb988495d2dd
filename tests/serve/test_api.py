"""Every route of a real server, and what it says to bad requests."""

import concurrent.futures
import time
from contextlib import ExitStack

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.local_server import NEW, serving
from tests.waiting import wait_until

BASE = "/api/cascades/triage"
DEEP = b'{"case": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ONE_BAD = b'{"cases": [{"outputs": ["x"]}, {"outputs": ["x", "x", "x", "x"]}]}'
NAMED = [  # part of a body, the name and the value that are said to break a rule
    (b'"n": 0', "n", "0"),
    (b"1e999]}", "outputs[1]", '"1e999"'),
    (b', "\\ud800"]', "outputs[1]", '"\\ud800"'),
    (b"a.[b", "case.a.[b", '"\\ud800"'),
    (b'{"\\ud800', "case", '"\\ud800"'),
]
UNNAMED = b'{"costs": [1], "mistake_cost": 1'


def test_cascades_are_listed_and_read(http):
    assert {"local", "triage"} <= {c["name"] for c in http.get("/api/cascades").json()["cascades"]}
    view = http.get(BASE).json()
    assert [stage["name"] for stage in view["stages"]] == ["a", "b", "c"]
    assert not view["runs_here"]
    assert http.get("/api/cascades/local").json()["runs_here"]


def test_ask_before_after_and_many(http):
    before = http.post(f"{BASE}/ask", json={}).json()
    assert before["stage"] in (0, 1, 2)
    assert before["stop"] is False
    after = http.post(f"{BASE}/ask", json={"outputs": ["x", "x", "x"]}).json()
    assert after == {"stage": 2, "stop": True}
    assert len(http.post(f"{BASE}/ask", json={"n": 7}).json()["stages"]) == 7


def test_tells_are_counted_and_shown(http):
    before = http.get(f"{BASE}/live").json()["n_cases"]
    assert http.post(f"{BASE}/tell", json={"outputs": ["x", "y"]}).json() == {"outcome": "counted"}
    many = {"cases": [{"outputs": ["x"]}, {"outputs": ["x", None, "y"]}]}
    assert http.post(f"{BASE}/tell-many", json=many).json()["outcomes"] == ["counted"] * 2
    live = http.get(f"{BASE}/live").json()
    assert live["n_cases"] == before + 3
    assert live["last_cases"][0]["outputs"] == ["x", None, "y"]


def test_keyed_tells_are_counted_once(http):
    def tell(*outputs, **settings):
        return http.post(f"{BASE}/tell", json={"outputs": outputs, **settings}).json()

    def counts() -> dict:
        cases = http.get(f"{BASE}/export").json()["cases"]
        return {tuple(case["outputs"]): case["times"] for case in cases}

    assert tell("k", "k", key="case-1") == {"outcome": "counted"}
    assert tell("k", "k", key="case-1") == {"outcome": "repeated"}
    assert tell("k", "z", key="case-1")["status"] == 409
    tell("k", "early", key="case-0")
    assert tell("k", "late", key="case-0", amend=True) == {"outcome": "amended"}
    repetition = {"outputs": ["k", "k"], "key": "case-1"}
    many = {"cases": [repetition, {"outputs": ["k"], "key": "case-2"}, {"outputs": ["k"]}]}
    outcomes = http.post(f"{BASE}/tell-many", json=many).json()["outcomes"]
    assert outcomes == ["repeated", "counted", "counted"]
    wait_until(lambda: counts().get(("k", "k")) == 1 and counts().get(("k",)) == 2)
    wait_until(lambda: counts().get(("k", "late")) == 1)
    assert not {("k", "z"), ("k", "early")} & set(counts())


def test_many_at_once_are_each_counted_once(http):
    before = http.get(f"{BASE}/live").json()["n_cases"]
    cases = [{"outputs": ["m"], "key": f"m-{k % 50}"} for k in range(150)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda case: http.post(f"{BASE}/tell", json=case).json(), cases))
    assert sum(answer["outcome"] == "counted" for answer in answers) == 50
    wait_until(lambda: http.get(f"{BASE}/live").json()["n_cases"] == before + 50)


def test_run_labels_and_report(http):
    local = "/api/cascades/local"
    result = http.post(f"{local}/run", json={"case": "abc", "key": "run-1"}).json()
    assert result["answer"] in ("urgent", "routine")
    for k in range(40):
        http.post(f"{local}/run", json={"case": "x" * k, "key": f"case-{k}"})
    wait_until(lambda: http.get(f"{local}/labels").json()["cases"])
    cases = http.get(f"{local}/labels?n=3").json()["cases"]
    assert len(cases) == 3
    assert "outputs" not in cases[0], "a label is given blind"
    assert "outputs" in http.get(f"{local}/labels?outputs=true").json()["cases"][0]
    key = cases[0]["key"]
    before = http.get(f"{local}/labels").json()["n_labels"]
    for _ in range(2):
        answer = http.post(f"{local}/labels", json={"key": key, "label": "urgent"})
        assert answer.json() == {"n_labels": before + 1}
    assert key not in [case["key"] for case in http.get(f"{local}/labels").json()["cases"]]
    assert http.get(f"{local}/report").json()
    page = http.get(f"{local}/report?format=html")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"].startswith("sandbox")


def test_stages_that_fail_are_a_bad_gateway(http):
    answer = http.post("/api/cascades/local/run", json={"case": "fail"})
    assert (answer.status_code, answer.json()["title"]) == (502, "No stage gave an answer")
    answer = http.post(f"{BASE}/run", json={"case": "x"})
    assert answer.status_code == 409
    assert "runs elsewhere" in answer.json()["detail"]


def test_prices_change_as_versions(http):
    before = http.get(BASE).json()["version"]
    view = http.patch(BASE, json={"mistake_cost": 300, "costs": [0, 2, 12]}).json()
    assert (view["mistake_cost"], view["stages"][1]["cost"]) == (300, 2)
    assert view["version"] == before + 2
    for bad in ({"mistake_cost": 100, "costs": [1]}, {"mistake_cost": 1e300, "costs": [0, 9, 12]}):
        assert http.patch(BASE, json=bad).status_code == 422
    assert http.get(BASE).json() == view, "a change that is refused changes nothing"
    whats = [event["what"] for event in http.get(f"{BASE}/events").json()["events"]]
    assert {"costs changed", "mistake cost changed"} <= set(whats)


def test_a_tell_while_frozen_is_not_counted_and_says_so(http):
    base, case = "/api/cascades/frozen", {"outputs": ["x", "y"]}
    http.post("/api/cascades", json={**NEW, "name": "frozen"})
    http.patch(base, json={"is_frozen": True})
    for body in (case, {**case, "key": "a"}):
        assert http.post(f"{base}/tell", json=body).json() == {"outcome": "frozen"}
    answer = http.post(f"{base}/tell-many", json={"cases": [case, {**case, "key": "b"}]})
    assert answer.json() == {"outcomes": ["frozen", "frozen"]}
    assert http.get(f"{base}/export").json() == {"cases": []}
    http.patch(base, json={"is_frozen": False})
    assert http.post(f"{base}/tell", json={**case, "key": "a"}).json() == {"outcome": "counted"}


def test_stages_change_as_versions(http):
    base = "/api/cascades/staged"
    http.post("/api/cascades", json={**NEW, "name": "staged"})
    http.post(f"{base}/tell", json={"outputs": ["x", "y", "y"]})
    answer = http.post(f"{base}/stages", json={"name": "d", "cost": 40})
    assert answer.status_code == 201, answer.text
    assert [stage["name"] for stage in answer.json()["stages"]] == ["a", "b", "c", "d"]
    bad_place = {"name": "e", "cost": 1, "before": "q"}
    assert http.post(f"{base}/stages", json=bad_place).status_code == 422
    view = http.delete(f"{base}/stages/b").json()
    assert [stage["name"] for stage in view["stages"]] == ["a", "c", "d"]
    assert http.delete(f"{base}/stages/b").status_code == 422
    assert http.get(f"{base}/live").json()["n_cases"] == 1
    wait_until(lambda: http.get(f"{base}/history").json()["at"])
    assert sum(map(sum, http.get(f"{base}/history").json()["stopped"])) == 1
    whats = [event["what"] for event in http.get(f"{base}/events").json()["events"]]
    assert whats[-4:] == ["epoch began", "stage added", "epoch began", "stage removed"]
    local = http.post("/api/cascades/local/stages", json={"name": "d", "cost": 4})
    assert local.status_code == 409


def test_a_stage_may_have_a_slash_in_its_name(http):
    base, names = "/api/cascades/models", ["local/small", "openai/large"]
    http.post("/api/cascades", json={**NEW, "name": "models", "costs": [1, 9], "names": names})
    assert http.patch(base, json={"trust": "openai/large"}).status_code == 200
    new = {"name": "openai/largest", "cost": 40, "before": "openai/large"}
    assert http.post(f"{base}/stages", json=new).status_code == 201
    view = http.delete(f"{base}/stages/openai%2Flarge").json()
    assert [stage["name"] for stage in view["stages"]] == ["local/small", "openai/largest"]


def test_certificate_history_and_what_if(http):
    base = "/api/cascades/proved"
    new = {**NEW, "name": "proved", "policy": "resolve"}
    assert http.post("/api/cascades", json=new).status_code in (201, 409)
    for k in range(30):
        http.post(f"{base}/tell", json={"outputs": ["x", "x" if k % 4 else "y", "x"]})
    assert http.get(f"{base}/certificate").json()["text"]
    assert http.get(f"{BASE}/certificate").status_code == 404
    wait_until(lambda: http.get(f"{base}/history").json()["at"])
    assert http.get(f"{base}/what-if?mistake_cost=1000").json()["stage"] in (0, 1, 2)
    for bad in ("", "x", "-1", "nan", "inf"):
        assert http.get(f"{BASE}/what-if?mistake_cost={bad}").status_code == 422


def test_stream_sends_the_live_view(http):
    with http.stream("GET", f"{BASE}/stream") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        first = next(response.iter_lines())
    assert first.startswith('data: {"name":"triage"')


def test_the_server_ends_although_somebody_listens():
    with ExitStack() as stack:
        ending = stack.enter_context(ExitStack())
        server = ending.enter_context(serving())
        http = stack.enter_context(server.client())
        http.post("/api/cascades", json=NEW)
        response = stack.enter_context(http.stream("GET", f"{BASE}/stream"))
        next(response.iter_lines())
        start = time.monotonic()
        ending.close()
        assert time.monotonic() - start < 5


def test_metrics_are_prometheus_text(http):
    http.post("/api/cascades/local/run", json={"case": "fail"})
    http.post("/api/cascades", json={**NEW, "name": "proved", "policy": "resolve"})
    text = http.get("/metrics").text
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["stopwise_cases"].samples
    labels = {sample.labels["cascade"] for sample in families["stopwise_epoch"].samples}
    assert {"triage", "local"} <= labels
    stages = {s.labels.get("stage") for s in families["stopwise_cases_stopped"].samples}
    assert {"a", "rules"} <= stages
    proven = {s.labels["status"]: s.value for s in families["stopwise_certificate"].samples}
    assert sum(proven.values()) == 1
    assert families["stopwise_labels"].samples
    assert "ValueError" in {s.labels["kind"] for s in families["stopwise_failures"].samples}
    assert {s.value for s in families["stopwise_workers"].samples} == {0, 1}


def test_the_server_describes_itself(http):
    assert http.get("/healthz").json() == {"status": "alive"}
    assert http.get("/readyz").json()["status"] == "ready"
    assert http.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"{BASE}/tell", b"{", 400),
        ("POST", f"{BASE}/tell", b"{}", 422),
        ("POST", f"{BASE}/tell", b'{"outputs": []}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x"], "odd": 1}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": [["x"]]}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x","x","x","x"]}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x","x","x","x"], "key": "long"}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["\xff"]}', 400),
        ("POST", f"{BASE}/tell-many", ONE_BAD, 422),
        ("POST", f"{BASE}/ask", b'{"outputs": ["x","x","x","x"]}', 422),
        ("POST", f"{BASE}/ask", b'{"n": 0}', 422),
        pytest.param("POST", "/api/cascades/local/run", DEEP, 400, id="deep"),
        ("POST", f"{BASE}/labels", b'{"key": "nobody", "label": "x"}', 422),
        ("GET", f"{BASE}/labels?n=x", b"", 422),
        ("GET", f"{BASE}/labels?n=-1", b"", 422),
        ("POST", "/api/cascades", UNNAMED + b', "name": "triage"}', 409),
        ("POST", "/api/cascades", UNNAMED + b', "name": "a/b"}', 422),
        ("POST", "/api/cascades", b'{"name": "q", "costs": [1], "mistake_cost": 0}', 422),
        ("POST", "/api/cascades", b'{"name": "q", "costs": [1e999], "mistake_cost": 1}', 422),
        ("POST", "/api/cascades", UNNAMED + b', "name": "q", "policy": "luck"}', 422),
        ("POST", "/api/cascades", UNNAMED + b', "name": "q", "names": ["a", "b"]}', 422),
        ("POST", "/api/cascades", b'{"name": "q", "costs": [], "mistake_cost": 1}', 422),
        ("GET", "/api/cascades/nobody", b"", 404),
        ("GET", "/nowhere", b"", 404),
        ("PUT", "/api/cascades", b"", 405),
        ("POST", "/v1/chat/completions", b'{"model": "nobody", "messages": []}', 422),
        ("POST", "/api/audit?costs=1,2&mistake_cost=x", b"a,b\n1,2\n", 422),
        ("POST", "/api/audit?costs=1,2&mistake_cost=9&name=mine.csv", b"a,b\n1,2,3\n", 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x"], "amend": true}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x", 1e999]}', 422),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x", 1e999]', 400),
        ("POST", f"{BASE}/tell", b'{"outputs": ["x", "\\ud800"]}', 422),
        ("POST", "/api/cascades/local/run", b'{"case": {"a.[b": "\\ud800"}}', 422),
        ("POST", "/api/cascades/local/run", b'{"case": {"\\ud800": 1}}', 422),
        ("POST", "/api/tokens", b'{"scope": "everything"}', 422),
        ("POST", "/api/tokens", b'{"scope": "read", "days": 1e308}', 422),
        ("DELETE", "/api/tokens/nobody", b"", 404),
    ],
)
def test_bad_requests_are_problems(http, method, path, body, status):
    before = http.get(f"{BASE}/live").json()["n_cases"]
    answer = http.request(method, path, content=body)
    problem = answer.json()
    assert answer.status_code == problem["status"] == status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["title"]
    assert problem["detail"]
    for part, name, value in NAMED:
        if part in body:
            assert (problem["name"], problem["value"]) == (name, value)
    if "mine.csv" in path:
        assert problem["detail"].startswith("mine.csv cannot be read")
        assert "/" not in problem["detail"]
    assert http.get(f"{BASE}/live").json()["n_cases"] == before
