"""The notebooks as pages of the site: executed when it is built, each cell with what it showed."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "notebooks"


def executed(notebook: Path) -> Any:
    """Run a notebook in an empty folder, with this checkout's packages; an error in a cell ends it."""
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    found: Any = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(found, timeout=900, resources={"metadata": {"path": folder}}).execute()
    return found


def write() -> None:
    """Write a page for every notebook that is newer than its page."""
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        page = notebook.with_suffix(".md")
        if not page.exists() or page.stat().st_mtime < notebook.stat().st_mtime:
            page.write_text(page_of(executed(notebook), notebook), encoding="utf-8")


def page_of(found: Any, notebook: Path) -> str:
    """Return an executed notebook as Markdown; its pictures are written beside it."""
    pictures = notebook.with_name(f"{notebook.stem}_files")
    pictures.mkdir(exist_ok=True)
    parts = []
    for number, cell in enumerate(found.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [shown(output, pictures / f"{number}.png") for output in cell.outputs]
    title, *rest = [part for part in parts if part]
    return "\n\n".join([title, f"Download it as a {{download}}`notebook <{notebook.name}>`.", *rest]) + "\n"


def shown(output: Any, picture: Path) -> str:
    """Return what a cell showed: printed text, a picture, or a value as HTML or text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        picture.write_bytes(base64.b64decode(data["image/png"]))
        return f"![What the cell above draws]({picture.parent.name}/{picture.name})"
    if "text/html" in data:
        return f'```{{raw}} html\n<div class="shown">{data["text/html"]}</div>\n```'
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""
