"""What a built page loads and where it links to, read from its HTML and CSS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

POINTERS = {"author", "canonical", "help", "license", "next", "prev", "search"}
"""The relations of <link> for which a browser fetches nothing."""
_CSS_URL = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')\s]+)""")


class Page(HTMLParser):
    """The addresses that a page loads, those that it links to, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self._in_style = tag == "style"
        self.ids |= {found[key] for key in ("id", "name") if key in found}
        self.loads += _CSS_URL.findall(found.get("style", ""))
        self.loads += [found[key] for key in ("src", "poster", "data", "xlink:href") if key in found]
        # Several, each with its width.
        self.loads += [part.split()[0] for part in found.get("srcset", "").split(",") if part.strip()]
        if tag in ("image", "use") and "href" in found:
            self.loads.append(found["href"])
        if tag == "link" and "href" in found and not set(found.get("rel", "").split()) <= POINTERS:
            self.loads.append(found["href"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.loads += _CSS_URL.findall(data)


def is_foreign(address: str) -> bool:
    """Return whether an address leads to another host."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https", "ftp", "ws", "wss")


def foreign_sources(site: Path) -> Iterator[str]:
    """Yield what the pages and style sheets of a site load from other hosts."""
    for file in sorted(site.rglob("*.*")):
        if file.suffix in (".html", ".svg", ".css"):
            text = file.read_text(encoding="utf-8")
            loads = _CSS_URL.findall(text) if file.suffix == ".css" else Page(text).loads
            yield from (f"{file.relative_to(site)}: {address}" for address in loads if is_foreign(address))


def broken_links(site: Path) -> Iterator[str]:
    """Yield every link within a site, and every file a page loads, that leads nowhere."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        for address in (*page.links, *page.loads):
            parts = urlsplit(address)
            if is_foreign(address) or parts.scheme in ("data", "mailto"):
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                yield f"{file.relative_to(site)}: {address}"
