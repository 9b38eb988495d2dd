"""The page in a real browser: nothing overflows, overlaps, runs or loads; print and contrast."""

import sys

import pytest

from examples import pages
from tests.serve.browser import chromium

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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every page of the example, as the example saves them."""
    written = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["pages", str(written)])
        pages.main()
    return written


def test_the_example_writes_every_page(folder):
    assert {path.stem for path in folder.iterdir()} == set(pages.PAGES)
    assert all(path.stat().st_size > 10_000 for path in folder.iterdir())


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text))
    page.on("request", lambda r: None if r.url.startswith("file:") else page.wrong.append(r.url))
    return page


@pytest.fixture
def show(page, folder):
    def opened(name):
        page.wrong.clear()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
        page.goto((folder / f"{name}.html").as_uri())
        return page

    return opened


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_fits_every_width_and_is_readable_and_printed_on_two_sheets(name, show):
    page = show(name)
    pdf = page.pdf(format="A4")
    assert sum(pdf.count(b"/Type /Page" + end) for end in (b"\n", b" ", b"/")) <= 2
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        beyond, wide = page.evaluate(OVERFLOW)
        assert beyond <= 0, (width, wide)
        assert not wide, width
        assert page.evaluate(OVERLAPS) == [], width
        assert page.evaluate(CLIPPED) == [], width
    page.locator("summary").click()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(OVERFLOW)[0] <= 0, width
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(CONTRAST) == [], scheme
    assert page.wrong == []


def test_names_and_values_run_nothing(show):
    page = show("hostile")
    page.mouse.move(200, 200)
    assert page.evaluate("window.ran") is None
    assert page.wrong == []


def test_a_keyboard_reaches_the_fold_and_the_tables(show):
    page = show("likely")
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"SUMMARY", "DIV"} <= reached
    assert page.locator("main").count() == 1
    assert page.locator("[role=region]").first.get_attribute("aria-label")
