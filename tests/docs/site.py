"""What a built page loads and where it links to, read from its HTML and CSS."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
"""The attributes whose file a browser fetches by itself."""
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
        for name in LOADED.get(tag, ()):
            if name in found:
                self.loads += _candidates(name, found[name])
        if tag == "link" and "href" in found and not set(found.get("rel", "").split()) <= POINTERS:
            self.loads.append(found["href"])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.loads += _CSS_URL.findall(data)


def _candidates(name: str, value: str) -> list[str]:
    """Return the addresses of an attribute; srcset holds several, each with its width."""
    return [part.split()[0] for part in value.split(",") if part.strip()] if name == "srcset" else [value]


def is_foreign(address: str) -> bool:
    """Return whether an address leads to another host."""
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in ("http", "https", "ftp", "ws", "wss")


def foreign_sources(html: str) -> list[str]:
    """Return what a page loads from other hosts."""
    return [address for address in Page(html).loads if is_foreign(address)]


def foreign_sources_of_css(text: str) -> list[str]:
    """Return what a style sheet loads from other hosts."""
    return [address for address in _CSS_URL.findall(text) if is_foreign(address)]


def foreign_sources_of_site(site: Path) -> dict[str, list[str]]:
    """Return, for each page and style sheet of a site that has any, what it loads from other hosts."""
    scanners = {".html": foreign_sources, ".svg": foreign_sources, ".css": foreign_sources_of_css}
    found = {
        str(file.relative_to(site)): scanners[file.suffix](file.read_text(encoding="utf-8"))
        for file in sorted(site.rglob("*"))
        if file.suffix in scanners
    }
    return {name: addresses for name, addresses in found.items() if addresses}


def broken_links(site: Path) -> list[str]:
    """Return every link within a site, and every file a page loads, that leads nowhere."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    return [
        f"{file.relative_to(site)}: {address}"
        for file, page in pages.items()
        for address in (*page.links, *page.loads)
        if not is_foreign(address) and not _resolves(file, address, pages)
    ]


def _resolves(file: Path, address: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme in ("data", "mailto"):
        return True
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not target.exists():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor in pages[target].ids
