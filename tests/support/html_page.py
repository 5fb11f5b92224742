"""A page of HTML as a browser reads it: whole, or the test fails."""

import re
from html.parser import HTMLParser

LOADS = re.compile(r"https?://|<script[^>]+src|<link|<img|<iframe|@import|url\(")
"""What would load something from elsewhere."""


class Page(HTMLParser):
    """The elements in order with their attributes, the text outside of styles and scripts, and what those hold."""

    VOID = ("meta", "br", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.code: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.code.append(data)
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


def read(page: str) -> Page:
    reader = Page()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader
