"""Clients as people use them: `sw.Client`, the openai package, several servers."""

import asyncio
import concurrent.futures
import socket

import numpy as np
import openai
import pytest

import stopwise as sw
from stopwise.client import ServerError
from stopwise.errors import OutputsError, SettingError
from stopwise.runtime import Runtime, Stage
from stopwise.serve.host import Host, ToldCase, elsewhere, runs_elsewhere
from stopwise.store import KeyedTell
from tests.serve.local_server import NEW, ServeCommand, free_port, serving, two_stages
from tests.waiting import wait_until


def test_client(server):
    result = sw.Client(server.url, "local").run("abcd", key="client-1")
    assert result["answer"] in ("urgent", "routine")
    client = sw.Client(server.url, "triage")
    assert client.ask() in (0, 1, 2)
    assert client.ask(["x", "x", "x"]) == 2
    assert client.tell(["x", "y"], key="again") == "counted"
    assert client.tell(["x", "y"], key="again") == "repeated"
    assert client.tell(["x", "x"], key="again", amend=True) == "amended"
    assert client.tell_many([["x"], ["x", "y"]]) == ["counted", "counted"]
    assert client.tell([np.int64(1), np.float32(2)]) == "counted"
    with pytest.raises(OutputsError, match="what is sent must be text, finite numbers or None"):
        client.tell([{1}])
    assert client.live()["name"] == "triage"
    with pytest.raises(ServerError, match="first 3 stages") as error:
        client.tell(["x"] * 4)
    assert error.value.status == 422
    with pytest.raises(ServerError, match="got 'nobody'"):
        sw.Client(server.url, "nobody").ask()


def test_client_says_that_nobody_is_there():
    with pytest.raises(ServerError, match="cannot be reached") as error:
        sw.Client(f"http://127.0.0.1:{free_port()}", "triage", retries=1).ask()
    assert error.value.status == 0


def test_client_treats_an_answer_cut_short_as_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def cut_short():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\n{")

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(cut_short)
            port = listening.getsockname()[1]
            with pytest.raises(ServerError, match="cannot be reached") as error:
                sw.Client(f"http://127.0.0.1:{port}", "triage", retries=0).tell(["x"])
    assert error.value.status == 0


def test_client_repeats_what_got_no_answer(server, http):
    """A tell whose answer is lost on the way is sent again, and counted once."""
    client = sw.Client(server.url, "triage")
    send_once, lost_answers = client._send_once, []

    def lose_two_answers(method, path, body):
        answer = send_once(method, path, body)
        if len(lost_answers) < 2:
            lost_answers.append(answer)
            raise ServerError(0, "lost on the way")
        return answer

    client._send_once = lose_two_answers
    assert client.tell(["lost", "lost"]) == "repeated"
    assert [answer["outcome"] for answer in lost_answers] == ["counted", "repeated"]

    def times():
        cases = http.get("/api/cascades/triage/export").json()["cases"]
        return [case["times"] for case in cases if case["outputs"] == ["lost", "lost"]]

    wait_until(lambda: times() == [1])


def complete(server, model, content, api_key="none", **options):
    """Return the completion of one message by the openai package."""
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=api_key, max_retries=0) as client:
        message = {"role": "user", "content": content}
        return client.chat.completions.create(model=model, messages=[message], **options)


def test_openai_client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        assert [model.id for model in client.models.list()] == ["local"]
    parts = [{"type": "text", "text": "ab"}, {"type": "text", "text": "cd"}]
    for content in ("abcd", parts):
        completion = complete(server, "local", content, temperature=0)
        assert completion.choices[0].message.content in ("urgent", "routine")
    with pytest.raises(openai.NotFoundError, match="nobody"):
        complete(server, "nobody", "")
    with pytest.raises(openai.UnprocessableEntityError, match="stream must be false"):
        complete(server, "local", "x", stream=True)
    with pytest.raises(openai.ConflictError, match="runs elsewhere"):
        complete(server, "triage", "x")


def test_openai_client_needs_the_token():
    with serving({"local": two_stages()}, needs_token=True) as server:
        assert complete(server, "local", "abcd", server.host.tokens.create("tell")).choices
        with pytest.raises(openai.AuthenticationError):
            complete(server, "local", "abcd", "wrong")


def test_command_without_a_file_keeps_what_it_learned(tmp_path):
    flags = ["--name", "triage", "--mistake-cost", "200", "--costs"]
    with ServeCommand(tmp_path, *flags, "0,1,12") as server:
        client = sw.Client(server.url, "triage")
        assert client.tell(["x", "y"], key="1") == "counted"
    assert f"{server.url} serves triage" in server.out
    assert "Traceback" not in server.errors
    with ServeCommand(tmp_path, *flags, "0,1,20", port=server.port):
        assert client.tell(["x", "y"], key="1") == "repeated"
        live = client.live()
        assert (live["n_cases"], live["stages"][2]["cost"]) == (1, 20)
    assert not list((tmp_path / "stopwise.db-journals").iterdir()), "a clean end leaves no journal"


def test_new_cascades_survive_in_the_store(url):
    with serving(store=url) as server, server.client() as http:
        http.post("/api/cascades", json={**NEW, "policy": "resolve"})
        http.patch("/api/cascades/triage", json={"mistake_cost": 77})
        http.post("/api/cascades/triage/tell", json={"outputs": ["x", "y"]})
    with serving(store=url) as server, server.client() as http:
        live = http.get("/api/cascades/triage/live").json()
    assert (live["policy"], live["mistake_cost"], live["n_cases"]) == ("Resolve", 77, 1)


def test_prices_of_configured_cascades_last_until_the_file_changes(url):
    """The file is the first version; what is changed over HTTP comes after it."""
    prices = []
    for mistake_cost, change in (
        (50.0, {"mistake_cost": 77, "costs": [1, 3]}),
        (50.0, {}),
        (60.0, {}),
    ):
        settings = {**two_stages(), "mistake_cost": mistake_cost}
        with serving({"local": settings}, store=url) as server, server.client() as http:
            http.patch("/api/cascades/local", json=change)
            view = http.get("/api/cascades/local").json()
            prices.append((view["mistake_cost"], view["stages"][1]["cost"]))
    assert prices == [(77, 3), (77, 3), (60, 2)]


def test_stages_are_those_of_the_file_unless_they_were_changed_since(url):
    """Stages that run elsewhere may be changed over HTTP; the same configuration keeps that."""
    sizes = []
    for costs in ([0, 1], [0, 1], [0, 1, 5]):
        host = Host(url, {"triage": elsewhere(sw.Cascade(costs, mistake_cost=9))})
        triage = host.find("triage")
        sizes.append((triage.cascade.n_stages, sum(triage.learning.patterns().values())))
        if len(sizes) == 1:
            triage.add_stage(Stage(runs_elsewhere, cost=2, name="last"))
        triage.tell(("x",))
        host.worker.close()
    assert sizes == [(2, 0), (3, 1), (3, 2)]
    assert triage.cascade.names[2] == "test 3"


@pytest.mark.parametrize("key", [None, "a"])
def test_a_server_counts_nothing_for_stages_that_another_has_changed(url, key):
    old = Host(url, {"local": two_stages()})
    new_stages = two_stages()["stages"][:1]
    new = Host(url, {"local": {**two_stages(), "stages": new_stages}})
    old.sync()
    keyed = None if key is None else KeyedTell("local", key, '["urgent","urgent"]')
    case = ToldCase(old.find("local"), ("urgent", "urgent"), False, keyed)
    with pytest.raises(SettingError, match="another process has changed the stages"):
        asyncio.run(old.tell([case, case]))
    new.sync()
    assert new.find("local").learning.patterns() == {}
    old.worker.close()
    new.worker.close()


def test_changes_by_two_servers_at_once_are_both_kept(url):
    """Neither server waits until it has read the other's change."""
    with (
        serving(store=url) as first,
        serving(store=url) as second,
        first.client() as http,
        second.client() as other,
    ):
        http.post("/api/cascades", json=NEW)
        assert other.get("/api/cascades/triage").status_code == 200
        for k in range(5):
            http.patch("/api/cascades/triage", json={"costs": [0, k + 1, 12]})
            view = other.patch("/api/cascades/triage", json={"mistake_cost": 100 + k}).json()
            assert (view["stages"][1]["cost"], view["mistake_cost"]) == (k + 1, 100 + k)
        wait_until(lambda: http.get("/api/cascades/triage").json()["mistake_cost"] == 104)


def test_a_server_beside_a_program_keeps_the_owner_s_prices(url):
    """The server gives no prices of its own, and a price changed there reaches the program."""

    def program():
        stages = [Stage(str, cost=k, name=f"s{k}", inline=True) for k in range(2)]
        return Runtime("local", stages=stages, mistake_cost=20, store=url)

    with program() as runtime:
        runtime.set_costs([0, 4])
    host = Host(url)
    with program() as runtime:
        assert runtime.cascade.prices == host.find("local").cascade.prices == (0, 4)
    host.change("local", lambda served: served.set_costs([0, 7]))
    host.worker.close()
    with program() as runtime:
        assert runtime.cascade.prices == (0, 7)


def test_any_server_shows_every_case_and_takes_its_label(url):
    local = "/api/cascades/local"
    with (
        serving({"local": two_stages()}, store=url) as first,
        serving({"local": two_stages()}, store=url) as second,
        first.client() as http,
        second.client() as other,
    ):
        for k in range(40):
            http.post(f"{local}/run", json={"case": "x" * k, "key": f"case-{k}"})

        def keys(client):
            return {case["key"] for case in client.get(f"{local}/labels").json()["cases"]}

        wait_until(lambda: keys(http) and keys(http) == keys(other))
        key = min(keys(other))
        label = {"key": key, "label": "urgent"}
        assert other.post(f"{local}/labels", json=label).status_code == 200
        assert key not in keys(http)
        wait_until(lambda: http.get(f"{local}/live").json()["n_labels"] == 1)
        wait_until(lambda: first.host.find("local").learning.policy.n_labels == 1)
