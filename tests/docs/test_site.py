"""The scanner of built pages finds what it looks for, and what is built is pinned."""

from __future__ import annotations

import base64
import json
from pathlib import Path

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
