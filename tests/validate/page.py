"""A report's page as a test reads it."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects what a page refers to, and checks that tags close."""

    void = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.alts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [v for k, v in attrs if k in ("src", "href", "srcset", "action", "data") and v]
        self.ids += [v for k, v in attrs if k == "id" and v]
        if tag == "img":
            self.alts.append(dict(attrs).get("alt") or "")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
