"""An HTML report taken apart: sections, paragraphs, tables and drawings."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from operator import itemgetter

TEXTS = {"p", "li", "h3", "summary"}


@dataclass
class Drawing:
    """The shapes of one SVG: (attributes, text) of each kind, in the order in which they come."""

    title: str
    shapes: dict = field(default_factory=dict)

    def of(self, kind, **attributes):
        """The shapes of a kind with these attributes."""
        return [
            (held, text)
            for held, text in self.shapes.get(kind, [])
            if all(held.get(key.replace("_", "-")) == value for key, value in attributes.items())
        ]

    def texts(self, **attributes):
        """(x, y, words) of the texts."""
        return [(float(h["x"]), float(h["y"]), t) for h, t in self.of("text", **attributes)]

    def rows(self):
        """The texts that stand side by side, from left to right, from above."""
        found = {}
        for x, y, words in self.texts():
            found.setdefault(y, []).append((x, words))
        return [(y, sorted(row, key=itemgetter(0))) for y, row in sorted(found.items())]


class Parsed(HTMLParser):
    """``sections`` has for each heading its blocks: (kind, text, table or `Drawing`)."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.title = {"": []}, ""
        self.open, self.words = [], ""
        self.feed(text)
        assert not self.open

    @property
    def blocks(self):
        return self.sections[self.title]

    def _drawing(self):
        return self.blocks[-1][1]

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "svg":
            self.blocks.append(("svg", Drawing(given["aria-label"])))
        elif tag == "table":
            self.blocks.append(("table", []))
        elif tag == "tr":
            self.blocks[-1][1].append([])
        elif "svg" in self.open and "defs" not in self.open and tag in {"rect", "text"}:
            self._drawing().shapes.setdefault(tag, []).append((given, ""))
        if tag in {*TEXTS, "h1", "h2", "text", "title", "td", "th", "style"}:
            self.words = ""
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        if "svg" in self.open and "defs" not in self.open:
            self._drawing().shapes.setdefault(tag, []).append((dict(attrs), ""))

    def handle_data(self, data):
        self.words += data

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        text, inside = self.words, "svg" in self.open
        if tag == "h2":
            self.title = text
            self.sections[text] = []
        elif tag in TEXTS:
            self.blocks.append((tag, re.sub(r"\s+", " ", text)))
        elif tag in {"td", "th"}:
            self.blocks[-1][1][-1].append(text)
        elif inside and tag in {"text", "title"}:
            kind = "text" if tag == "text" else "rect"
            shapes = self._drawing().shapes[kind]
            shapes[-1] = (shapes[-1][0], text)
        self.words = ""
