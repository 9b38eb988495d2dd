"""Make the pictures of the dashboard: python docs/images/screenshots.py http://127.0.0.1:8090.

The address is that of a running `make serve-demo`, some time after its model broke.
"""

import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
# What is shown, the size of the window, and the colours.
PICTURES = {
    "dashboard": ("/cascade/triage", 891, 945, "light"),
    "cascade-desktop": ("/cascade/triage", 1200, 1300, "light"),
    "cascade-phone": ("/cascade/triage", 390, 2200, "light"),
    "label-phone": ("/label/triage", 390, 844, "light"),
    "overview-dark": ("/", 1200, 900, "dark"),
}
ARGUMENTS = ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run"]


def main(url: str, folder: Path) -> None:
    """Save all pictures, in few colours."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        for name, (path, width, height, scheme) in PICTURES.items():
            viewport = {"width": width, "height": height}
            page = browser.new_page(viewport=viewport, color_scheme=scheme)
            page.goto(url + path)
            page.wait_for_selector("h1")
            page.wait_for_timeout(4000)
            file = folder / f"{name}.png"
            page.screenshot(path=file)
            page.close()
            Image.open(file).quantize(128).save(file, optimize=True)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER)
