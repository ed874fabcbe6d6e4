"""The scanner of built pages finds what it looks for, and what is built is pinned."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from tests.docs.site import broken_links, foreign_sources

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOREIGN = """
<script async="async" src="//a.example/1.js"></script>
<link rel="preload" as="font" href="https://a.example/2.woff2">
<img src="here.png" srcset="here.png 1x, https://a.example/3.png 2x">
<svg><image xlink:href="https://a.example/4.png"/></svg>
<video poster="https://a.example/5.png"></video>
<style>@font-face { src: url('https://a.example/6.woff2') } @import "https://a.example/7";</style>
<p style="background: url(https://a.example/8.png)">
<iframe src="https://a.example/9"></iframe>
"""
OWN = """
<script src="here.png?v=1"></script> <a href="https://a.example/">a link is followed by a reader alone</a>
<link rel="canonical" href="https://a.example/page.html"> <svg><use href="#top"/></svg>
<img src="data:image/svg+xml;utf8,<svg/>"> <p id="top">url(https://a.example/) in a text</p>
<a href="b.html#end">b</a>
"""


def test_a_site_is_scanned_whole(tmp_path: Path) -> None:
    (tmp_path / "here.png").touch()
    (tmp_path / "a.html").write_text(OWN)
    (tmp_path / "b.html").write_text('<p id="end"><a href="a.html#top">a</a>')
    assert [*foreign_sources(tmp_path), *broken_links(tmp_path)] == []
    (tmp_path / "b.html").write_text('<a href="a.html#gone">a</a><img src="gone.png">')
    (tmp_path / "c.html").write_text(FOREIGN)
    (tmp_path / "x.css").write_text("a { background: url(https://a.example/10.png) }")
    found = [name.rpartition("/")[2].partition(".")[0] for name in foreign_sources(tmp_path)]
    assert sorted(map(int, found)) == [*range(1, 11)]
    assert [*broken_links(tmp_path)] == ["a.html: b.html#end", "b.html: a.html#gone", "b.html: gone.png"]


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
