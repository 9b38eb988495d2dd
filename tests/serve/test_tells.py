"""Tells that are counted together: each request is counted or refused by itself."""

import concurrent.futures

import pytest

from stopwise.store import Worker
from tests.serve.local_server import NEW, serving
from tests.waiting import wait_until

BASE = "/api/cascades/triage"
LONG = "x" * 11_000


@pytest.mark.parametrize("is_keyed", [True, False])
def test_a_bad_tell_refuses_no_other_and_a_refused_one_is_not_counted(tmp_path, is_keyed):
    def body(k: int) -> tuple[str, dict]:
        name, outputs = ("other", [LONG]) if k % 10 == 3 else ("triage", ["x", "y"])
        return name, {"outputs": outputs, **({"key": f"k{k}"} if is_keyed else {})}

    def tell(k: int) -> int:
        name, case = body(k)
        return http.post(f"/api/cascades/{name}/tell", json=case).status_code

    worker = Worker(f"sqlite:///{tmp_path / 's.db'}", durability="disk")
    with serving(store=worker) as server, server.client() as http:
        for name in ("other", "triage"):
            http.post("/api/cascades", json={**NEW, "name": name})
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(tell, range(200)))
        assert statuses == [422 if k % 10 == 3 else 200 for k in range(200)]
        wait_until(lambda: http.get(f"{BASE}/live").json()["n_cases"] == 180)


def test_a_batch_without_room_is_counted_case_by_case(tmp_path, monkeypatch):
    monkeypatch.setattr("stopwise.store.shared_counts.MAX_CASES", 2)
    worker = Worker(f"sqlite:///{tmp_path / 's.db'}", durability="disk")
    with serving(store=worker) as server, server.client() as http:
        http.post("/api/cascades", json=NEW)

        def tell(k: int) -> int:
            output = f"new {k}" if k >= 2 and k % 10 == 3 else f"x{k % 2}"
            return http.post(f"{BASE}/tell", json={"outputs": [output]}).status_code

        assert [tell(0), tell(1)] == [200, 200]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(tell, range(2, 100)))
        assert statuses == [422 if k % 10 == 3 else 200 for k in range(2, 100)]
        assert http.get(f"{BASE}/live").json()["n_cases"] == 2 + statuses.count(200)


def test_of_many_cases_one_of_which_is_bad_none_is_counted(http):
    base = "/api/cascades/many"
    http.post("/api/cascades", json={**NEW, "name": "many"})
    cases = [{"outputs": ["ok"], "key": "good"}, {"outputs": [LONG]}]
    assert http.post(f"{base}/tell-many", json={"cases": cases}).status_code == 422
    answer = http.post(f"{base}/tell", json=cases[0])
    assert answer.json() == {"outcome": "counted"}, "it was not counted before"


@pytest.mark.parametrize("key", ["a\0b", LONG])
def test_a_key_that_no_store_can_hold_is_refused(http, key):
    answer = http.post(f"{BASE}/tell", json={"outputs": ["x"], "key": key})
    assert answer.status_code == 422
    assert "key" in answer.json()["detail"]


def test_what_gave_no_output_is_not_charged():
    with serving() as server, server.client() as http:
        http.post("/api/cascades", json=NEW)
        cases = [{"outputs": ["x", None, "y"]}, {"outputs": ["x", "y"]}]
        http.post(f"{BASE}/tell-many", json={"cases": cases})
        live = http.get(f"{BASE}/live").json()
        assert (live["missing"], live["cost_per_1000"]) == ([0, 1, 0], 1000 * (12 + 1) / 2)
        wait_until(lambda: http.get(f"{BASE}/history").json()["cost_per_1000"] == [6500])
