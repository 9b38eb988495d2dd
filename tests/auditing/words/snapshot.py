"""All that is said of some logs: ``make snapshots`` renews snapshot.txt, to be read and committed.

python -m tests.auditing.words.snapshot
"""

import re
from html import unescape
from pathlib import Path

from tests.auditing.again import logs

PATH = Path(__file__).with_name("snapshot.txt")
PAGES = ("two_classes", "nothing_to_know", "tree")


def page_text(html):
    """The text of a page, one line for each block."""
    body = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    lines = re.sub(r"</(?:h\d|p|li|tr|div|summary|title)>", "\n", body)
    text = unescape(re.sub(r"<[^>]*>", " ", lines))
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def text():
    """The whole snapshot."""
    parts = [f"== {name}: terminal\n{logs.report(name).summary()}" for name in logs.NAMES]
    parts += [f"== {n}: details\n{logs.report(n).summary(details=True)}" for n in PAGES[:1]]
    parts += [f"== {name}: page\n{page_text(logs.report(name).to_html())}" for name in PAGES]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
