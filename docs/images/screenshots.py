"""Make the pictures of the dashboard: python docs/images/screenshots.py http://127.0.0.1:8090.

The address is that of a running `make serve-demo`, some time after its model broke.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
SIZES = {"desktop": (1200, 900, "light"), "phone": (390, 844, "light"), "dark": (1200, 900, "dark")}
PAGES = {"overview": "/", "cascade": "/cascade/triage", "label": "/label/triage", "audit": "/audit"}
ARGUMENTS = ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run"]


def main(url: str, folder: Path, wanted: list[str]) -> None:
    """Save a picture of each page that is wanted."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        for size, (width, height, scheme) in SIZES.items():
            viewport = {"width": width, "height": height}
            page = browser.new_page(viewport=viewport, color_scheme=scheme)
            for name, path in PAGES.items():
                if wanted and f"{name}-{size}" not in wanted:
                    continue
                page.goto(url + path)
                page.wait_for_selector("h1")
                page.wait_for_timeout(2500 if name == "cascade" else 700)
                page.screenshot(path=folder / f"{name}-{size}.png", full_page=name == "cascade")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER, sys.argv[3:])
