"""The scanner of built pages finds what it looks for, and what is built is pinned."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.docs.site import broken_links, foreign_sources, foreign_sources_of_css, foreign_sources_of_site

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<script async="async" src="//cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="http://fonts.example/css"/>',
        '<link rel="preload" as="font" href="https://fonts.example/a.woff2">',
        '<link rel="icon" href="https://a.example/favicon.ico">',
        '<img src="https://a.example/badge.svg">',
        '<img src="here.png" srcset="here.png 1x, https://a.example/b.png 2x">',
        '<svg><image xlink:href="https://a.example/b.png"/></svg>',
        '<video poster="https://a.example/b.png"></video>',
        "<style>@font-face { src: url('https://fonts.example/a.woff2') }</style>",
        '<style>@import "https://fonts.example/css";</style>',
        '<p style="background: url(https://a.example/b.png)">',
        '<iframe src="https://a.example/"></iframe>',
    ],
)
def test_what_another_host_serves_is_found(html: str) -> None:
    assert len(foreign_sources(f"<html><body>{html}</body></html>")) == 1


@pytest.mark.parametrize(
    "html",
    [
        '<script src="_static/x.js?v=1"></script>',
        '<a href="https://a.example/">a link is followed by a reader alone</a>',
        '<link rel="canonical" href="https://a.example/page.html">',
        "<img src=\"data:image/svg+xml;utf8,<svg xmlns='http://www.w3.org/2000/svg'/>\">",
        '<svg xmlns="http://www.w3.org/2000/svg"><use href="#arrow"/></svg>',
        "<p>url(https://a.example/) in a text</p>",
    ],
)
def test_what_the_site_has_itself_is_not(html: str) -> None:
    assert foreign_sources(f"<html><body>{html}</body></html>") == []


def test_style_sheets_are_scanned() -> None:
    assert foreign_sources_of_css('@import url("https://a.example/x.css"); a { color: red }') == [
        "https://a.example/x.css"
    ]
    assert foreign_sources_of_css("a { background: url(data:image/png;base64,AAAA) }") == []


def test_a_site_is_scanned_whole(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="deep/b.html#end">b</a>')
    (tmp_path / "deep" / "b.html").write_text('<a href="../a.html#top">a</a><p id="end"><img src="c.png">')
    (tmp_path / "deep" / "c.png").write_bytes(b"")
    assert foreign_sources_of_site(tmp_path) == {}
    assert broken_links(tmp_path) == []
    (tmp_path / "deep" / "b.html").write_text('<a href="../a.html#gone">a</a><img src="d.png">')
    (tmp_path / "x.css").write_text("a { background: url(https://a.example/b.png) }")
    assert foreign_sources_of_site(tmp_path) == {"x.css": ["https://a.example/b.png"]}
    assert broken_links(tmp_path) == [
        "a.html: deep/b.html#end",
        "deep/b.html: ../a.html#gone",
        "deep/b.html: d.png",
    ]


def test_what_the_site_bundles_is_pinned_by_a_checksum() -> None:
    wanted = json.loads((DOCS / "package.json").read_text())["dependencies"]
    locked = json.loads((DOCS / "package-lock.json").read_text())["packages"]
    del locked[""]
    assert {name.removeprefix("node_modules/") for name in locked} >= set(wanted)
    for name, version in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version
    for entry in locked.values():
        algorithm, _, digest = entry["integrity"].partition("-")
        assert algorithm == "sha512"
        assert len(base64.b64decode(digest)) == 64
