"""The page in a real browser: nothing overflows, overlaps, runs or loads; print and contrast."""

from functools import cache

import pytest

from examples.pages import PAGES
from tests.serve.browsing import chromium

WIDTHS = (390, 768, 1200)

OVERFLOW = """() => {
  const wide = [...document.querySelectorAll('body *')].filter(e =>
    !e.closest('.wide') && !e.closest('.track') && !e.closest('details') &&
    e.getBoundingClientRect().right > window.innerWidth + 1);
  return [document.documentElement.scrollWidth - window.innerWidth,
          wide.map(e => e.tagName + ' ' + e.textContent.slice(0, 40))];
}"""
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll('.row b, .row .small, li, h2, p, td')]
    .filter(e => !e.closest('details'))
    .map(e => [e.textContent.slice(0, 30), e.getBoundingClientRect()])
    .filter(([t, r]) => r.width && r.height);
  const found = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, r] = boxes[i], [b, s] = boxes[j];
      const x = Math.min(r.right, s.right) - Math.max(r.left, s.left);
      const y = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      if (x > 1 && y > 2) found.push([a, b]);
    }
  return found;
}"""
CLIPPED = """() => [...document.querySelectorAll('.row b, .row .small, .title, p, li')]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
  .map(e => e.textContent.slice(0, 40))"""
CONTRAST = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255;
    return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > .99) return c.slice(0, 3); } return [255, 255, 255]; };
  return [...document.querySelectorAll('h1, h2, p, b, .small, .badge, li, td, th, code, summary')]
    .map(e => { const a = light(rgb(getComputedStyle(e).color).slice(0, 3)), b = light(ground(e));
      return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05),
        e.className, e.textContent.slice(0, 30)]; })
    .filter(([ratio]) => ratio < 4.5);
}"""


@cache
def html(name):
    return PAGES[name]().to_html()


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def show(browser, tmp_path):
    contexts = []

    def opened(name, width=1200, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("console", lambda said: page.wrong.append(said.text))
        page.on(
            "request", lambda r: None if r.url.startswith("file:") else page.wrong.append(r.url)
        )
        path = tmp_path / f"{name}.html"
        path.write_text(html(name), encoding="utf-8")
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_width(name, show):
    for width in WIDTHS:
        page = show(name, width)
        beyond, wide = page.evaluate(OVERFLOW)
        assert beyond <= 0, (width, wide)
        assert not wide, width
        assert page.evaluate(OVERLAPS) == [], width
        assert page.evaluate(CLIPPED) == [], width
        assert page.wrong == []
        page.locator("summary").click()
        assert page.evaluate(OVERFLOW)[0] <= 0, width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["proven", "likely", "guess", "labelled"])
def test_text_can_be_read_in_light_and_dark(name, scheme, show):
    page = show(name, scheme=scheme)
    page.locator("summary").click()
    assert page.evaluate(CONTRAST) == []


def test_names_and_values_run_nothing(show):
    page = show("hostile")
    page.mouse.move(200, 200)
    assert page.evaluate("window.ran") is None
    assert page.wrong == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_on_two_sheets(name, show):
    pdf = show(name).pdf(format="A4")
    assert (
        pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") <= 2
    )


def test_a_keyboard_reaches_the_fold_and_the_tables(show):
    page = show("likely")
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"SUMMARY", "DIV"} <= reached
    assert page.locator("main").count() == 1
    assert page.locator("[role=region]").first.get_attribute("aria-label")
