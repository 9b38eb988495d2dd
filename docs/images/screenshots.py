"""Make the pictures of the dashboard: python docs/images/screenshots.py [folder].

They show what `make serve-demo` serves: the first before its model breaks, the others after.
"""

import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).parent
# What is shown, the size of the window, and the colours.
PICTURES = {
    "dashboard": ("/cascade/triage", 1000, 1010, "light"),
    "cascade-desktop": ("/cascade/triage", 1200, 1300, "light"),
    "cascade-phone": ("/cascade/triage", 390, 2200, "light"),
    "label-phone": ("/label/triage", 390, 450, "light"),
    "overview-dark": ("/", 1200, 240, "dark"),
}
BREAKS_AFTER, LEARNS_FOR = 90, 60  # seconds
DEMO = [sys.executable, "-m", "examples.serve_demo", "--port", "0"]
ARGUMENTS = ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run"]


def main(folder: Path) -> None:
    """Start the demo and save all pictures."""
    command = [*DEMO, "--breaks-after", str(BREAKS_AFTER)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo,
        sync_playwright() as play,
    ):
        url = demo.stdout.readline().partition("/cascade")[0]
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        waiting = browser.new_page()
        waiting.goto(f"{url}/cascade/triage")
        waiting.wait_for_timeout(1000 * (BREAKS_AFTER - 15))
        for name in PICTURES:
            take(browser, url, name, folder / f"{name}.png")
            if name == "dashboard":
                waiting.get_by_text("large is out of service").wait_for(timeout=120_000)
                waiting.wait_for_timeout(1000 * LEARNS_FOR)
        browser.close()
        demo.terminate()


def take(browser: Browser, url: str, name: str, file: Path) -> None:
    """Save one picture, in few colours."""
    path, width, height, scheme = PICTURES[name]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(url + path)
    page.wait_for_selector("h1")
    page.wait_for_timeout(4000)
    page.screenshot(path=file)
    page.close()
    Image.open(file).quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
