"""The dashboard in a real browser, under the policy that allows no foreign or inline code."""

import re

import pytest

from tests.serve.browser import Watched, chromium
from tests.serve.local_server import NEW, free_port, serving, two_stages

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")  # no longer: it has an event loop, which others cannot have then
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def watched(browser):
    watched = Watched(browser, viewport={"width": 1200, "height": 900})
    yield watched
    watched.page.close()


def wait_for_status(page, status):
    page.wait_for_function(f"() => document.getElementById('status').textContent === '{status}'")


def wait_for_text(page, text):
    page.wait_for_function(f"() => document.body.innerText.includes('{text}')")


@pytest.fixture(scope="module")
def busy_server(server):
    """The same server with cases to show and to label."""
    with server.client() as http:
        for k in range(60):
            http.post("/api/cascades/local/run", json={"case": "x" * k, "key": f"d-{k}"})
    return server


def test_live_without_errors(busy_server, watched):
    page = watched.page
    page.goto(f"{busy_server.url}/cascade/local")
    wait_for_status(page, "live")
    before = page.inner_text(".cards .card b")
    with busy_server.client() as http:
        http.post("/api/cascades/local/run", json={"case": "another", "key": "live-1"})
    page.wait_for_function(
        f"() => document.querySelector('.cards .card b').textContent !== '{before}'"
    )
    page.wait_for_selector("#pairs table")
    page.locator("input[type=range]").fill("1")
    wait_for_text(page, "If a mistake cost 500")
    page.get_by_role("button", name="Set this price").click()
    wait_for_text(page, "A mistake costs 500")
    busy_server.host.change("local", lambda runtime: runtime.set_mistake_cost(50.0))
    assert watched.errors == []
    assert not watched.is_too_wide()


def test_first_view_is_small(busy_server, watched):
    sizes = []
    watched.page.on("response", lambda response: sizes.append(len(response.body())))
    watched.page.goto(f"{busy_server.url}/")
    watched.page.wait_for_selector("table")
    assert sum(sizes) < 300_000
    assert all(
        url.startswith(busy_server.url)
        for url in watched.page.evaluate(
            "performance.getEntriesByType('resource').map(one => one.name)"
        )
    )
    gap = "() => parseFloat(getComputedStyle(document.querySelector('th.n')).paddingRight)"
    assert watched.page.evaluate(gap) > 24, "a number must not touch the next column"


def test_reconnects_by_itself(browser):
    port = free_port()
    watched = Watched(browser)
    with serving({"local": two_stages()}, port=port):
        watched.page.goto(f"http://127.0.0.1:{port}/cascade/local")
        wait_for_status(watched.page, "live")
    wait_for_status(watched.page, "reconnecting …")
    with serving({"local": two_stages()}, port=port):
        wait_for_status(watched.page, "live")
        watched.page.close()


def test_ten_cases_are_labelled_by_keyboard(busy_server, watched):
    page = watched.page
    page.goto(f"{busy_server.url}/label/local")
    page.wait_for_selector(".answers button")
    assert "The tests said" not in page.inner_text("main")
    before = busy_server.host.find("local").labels.n_labels
    for k in range(10):
        page.keyboard.press(str(1 + k % 2))
        page.wait_for_function(
            f"() => document.getElementById('count').textContent.startsWith('{k + 1} labelled')"
        )
    assert busy_server.host.find("local").labels.n_labels == before + 10
    assert watched.errors == []


def test_a_file_is_dropped_and_audited(busy_server, watched):
    rows = [f"{k % 2},{(k % 2) ^ (k % 7 == 0)},{k % 2}" for k in range(200)]
    make_transfer = (
        "text => { const transfer = new DataTransfer();"
        " transfer.items.add(new File([text], 'log.csv', { type: 'text/csv' })); return transfer; }"
    )
    page = watched.page
    page.goto(f"{busy_server.url}/audit")
    transfer = page.evaluate_handle(make_transfer, "\n".join(["a,b,c", *rows]))
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    page.get_by_text("log.csv").wait_for()
    page.get_by_label("What each test costs").fill("1,2,3")
    page.get_by_label("What a wrong answer costs").fill("50")
    page.get_by_role("button", name="Audit").click()
    page.wait_for_selector("#result h2")
    page.set_viewport_size({"width": 390, "height": 800})
    parts = "[...document.querySelectorAll('#result, #result *')]"
    assert not page.evaluate(
        f"{parts}.some(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)"
    )
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Open the report").click()
    popup.value.wait_for_selector("h1")
    assert popup.value.evaluate("window.origin") == "null", "a report is in a sandbox"
    assert watched.errors == []
    page.get_by_label("What each test costs").fill("1,2")
    page.get_by_role("button", name="Audit").click()
    page.wait_for_function(
        "() => document.querySelector('[role=alert]').textContent.includes('costs')"
    )


def test_wrong_token_and_no_permission(browser):
    with serving({"local": two_stages()}, needs_token=True) as server:
        read = server.host.tokens.create("read")
        page = Watched(browser).page
        page.goto(f"{server.url}/label/local")
        page.fill("#token", "sw_0_wrong")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.getElementById('login-why').textContent.includes('has expired')"
        )
        page.fill("#token", read)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => document.querySelector('h1').textContent === 'The token does not allow this'"
        )
        page.goto(f"{server.url}/cascade/local")
        page.locator("input[type=range]").fill("1")
        page.get_by_role("button", name="Set this price").click()
        page.get_by_text("this needs 'admin'").wait_for()
        page.close()


def test_a_stage_out_of_service_is_said_and_used_again(busy_server, watched):
    handler = busy_server.host.find("local").alarm_handler
    handler.set_distrusted(frozenset({1}))
    watched.page.goto(f"{busy_server.url}/cascade/local")
    watched.page.get_by_text("nurse is out of service").wait_for()
    watched.page.get_by_text("went to nurse, which is out of service now").wait_for()
    watched.page.get_by_role("button", name="Use it again now").click()
    watched.page.get_by_text("stage trusted again").wait_for()
    assert watched.page.get_by_text("nurse is out of service").count() == 0
    assert watched.errors == []


def test_names_and_outputs_are_text(browser):
    watched = Watched(browser, viewport={"width": 390, "height": 800})
    name = EVIL.replace("/", "")
    with serving({name: two_stages(names=(name, "n" * 90))}) as server, server.client() as http:
        for k in range(20):
            http.post(f"/api/cascades/{name}/run", json={"case": EVIL + "x" * k, "key": str(k)})
        http.post("/api/cascades", json={**NEW, "names": [EVIL.replace("/", ""), "b", "c"]})
        http.post("/api/cascades/triage/tell", json={"outputs": [EVIL, EVIL]})
        page = watched.page
        page.goto(server.url)
        page.get_by_text(name).click()
        wait_for_status(page, "live")
        assert page.inner_text("h1") == name
        assert not watched.is_too_wide()
        assert page.get_by_text("Label some cases").count() == 1
        for path in ("/cascade/triage", f"/label/{name}"):
            page.goto(server.url + path)
            wait_for_text(page, "onerror")
            assert not watched.is_too_wide()
            assert page.get_by_text("Label some cases").count() == 0  # elsewhere; said there
        assert page.locator("main img, main script").count() == 0
        assert watched.errors == []
        page.close()


def test_nothing_is_wider_than_the_window(busy_server, browser):
    """On a phone in the dark and on a desk in the light, on every page; colours follow."""
    watched = Watched(browser)
    for path in ("/", "/cascade/local", "/label/local", "/audit", "/cascade/nobody"):
        watched.page.goto(busy_server.url + path)
        watched.page.wait_for_selector("h1")
        for width, scheme in ((390, "dark"), (1200, "light")):
            watched.page.set_viewport_size({"width": width, "height": 800})
            watched.page.emulate_media(color_scheme=scheme)
            assert not watched.is_too_wide(), (path, width)
            background = watched.page.evaluate("getComputedStyle(document.body).backgroundColor")
            brightness = sum(map(int, re.findall(r"\d+", background)[:3]))
            assert (brightness < 200) == (scheme == "dark")
    watched.page.close()


def test_empty_and_unknown(browser):
    with serving() as server:
        page = Watched(browser).page
        page.goto(server.url)
        page.get_by_text("No cascade yet").wait_for()
        page.goto(f"{server.url}/cascade/nobody")
        page.get_by_text("got 'nobody'").wait_for()
        page.close()
