"""The documents of text, JSON, CSV and Parquet files, one after the other."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

from sim.config.language import Unit
from theory import InputError
from theory.edge.checked import checked
from theory.edge.errors import nearest, unknown_name
from theory.edge.reading import PathLike, as_path, check_is_text, open_regular

Fields = Sequence[str]
_LARGEST_FIELD = 2**31 - 1
"""Characters in a cell of a CSV file; Python's own limit of 131 072 is shorter than many documents."""
PRONTOQA = ("question", "query", "chain_of_thought", "answer")
"""The keys of a PrOntoQA question, in order: the fields to give when such a file is read as a corpus."""
SEPARATOR = "<|endoftext|>"
"""What stands between two documents in files that people have; never part of one."""


@checked
def read_documents(
    path: str | Path,
    *,
    fields: Sequence[str] = ("text",),
    unit: Unit = "paragraph",
    separator: str = SEPARATOR,
) -> Iterator[str]:
    """Return the documents of a file, in order; none is empty.

    Parameters
    ----------
    path : path
        ``.txt`` or ``.md``: text in UTF-8. ``.jsonl`` or ``.ndjson``: one JSON object per line, each a
        document. ``.json``: a list of such objects, or of texts. ``.csv``, ``.tsv`` or ``.parquet``: one
        document per row; the last needs pyarrow. All but Parquet may be compressed, as in ``.jsonl.gz``.
    fields : sequence of str, optional
        The keys or columns that hold the text. Several are joined by spaces, and so are lists of texts.
    unit : {"paragraph", "line", "file"}, optional
        What is a document in a text file; surrounding white space is cut. Lines end in LF, CR LF or CR.
    separator : str, optional
        A marker inside a text at which a document ends, whatever the unit; "" for none.
    """
    file = as_path("path", path)
    reader = _READERS.get(kind_of_file(file))
    if reader is None:
        remedy = f"give a file that ends in one of {', '.join(sorted(_READERS))}"
        raise InputError("file", str(file), "unknown kind of corpus", remedy)
    if not fields:
        raise InputError("fields", fields, "none", 'name the one with the text, such as "text"')
    documents = reader(file, fields, unit)
    divided = (document.split(separator) if separator else [document] for document in documents)
    found = (part for parts in divided for part in parts if part.strip())
    return map(str.strip, found) if reader is _read_text else found


def kind_of_file(path: Path) -> str:
    """Return the ending that says what a file holds, in lower case, without that of its compression."""
    return PurePath(path.name.lower().removesuffix(".gz")).suffix


def fields_of(path: PathLike) -> tuple[str, ...]:
    """Return the keys that hold a file's text: PrOntoQA's if its first object has them, else "text"."""
    file, first = as_path("path", path), ""
    if kind_of_file(file) in (".jsonl", ".ndjson"):
        first = next((line for _, line in lines_of(file) if line.strip()), "")
    return PRONTOQA if all(f'"{key}"' in first for key in PRONTOQA) else ("text",)


def _read_text(path: Path, _: Fields, unit: Unit) -> Iterator[str]:
    held: list[str] = []
    for _number, line in lines_of(path):
        blank = not line.strip()
        if held and (unit == "line" or (unit == "paragraph" and blank)):
            yield "".join(held)
            held = []
        held.append(line)
    yield "".join(held)


def _read_json_lines(path: Path, fields: Fields, _: Unit) -> Iterator[str]:
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = f"line {number} is not valid JSON ({getattr(error, 'msg', error)})"
            raise InputError("file", str(path), problem, "correct that line") from None
        if not isinstance(record, dict):
            problem = f"line {number} is not a JSON object"
            raise InputError("file", str(path), problem, 'write {"text": "..."} on each line')
        yield " ".join(_text_of(record, field, f"{path}, line {number}") for field in fields)


def _read_json(path: Path, fields: Fields, _: Unit) -> Iterator[str]:
    try:
        entries = json.loads("".join(line for _, line in lines_of(path)))
    except (json.JSONDecodeError, RecursionError) as error:
        problem = f"not valid JSON ({getattr(error, 'msg', error)})"
        remedy = "correct it, or name a file with one object per line .jsonl"
        raise InputError("file", str(path), problem, remedy) from None
    if not isinstance(entries, list):
        raise InputError("file", str(path), "not a list", 'write [{"text": "..."}, ...] or ["...", ...]')
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, (str, dict)):
            problem = f"entry {number} is neither a JSON object nor a text"
            raise InputError("file", str(path), problem, 'write {"text": "..."}')
        where = f"{path}, entry {number}"
        yield entry if isinstance(entry, str) else " ".join(_text_of(entry, f, where) for f in fields)


def _read_csv(path: Path, fields: Fields, _: Unit) -> Iterator[str]:
    csv.field_size_limit(_LARGEST_FIELD)
    lines = (line for _, line in lines_of(path))
    try:
        rows = csv.DictReader(lines, delimiter="\t" if kind_of_file(path) == ".tsv" else ",")
        for number, row in enumerate(rows, start=1):
            if any(row.pop(None, ())):  # The reader's key for what is left of a row.
                problem = f"row {number} has more cells than the header"
                raise InputError("file", str(path), problem, "put quotes around texts that hold delimiters")
            yield " ".join(_text_of(row, field, f"{path}, row {number}") for field in fields)
    except csv.Error as error:
        raise InputError("file", str(path), f"not valid CSV ({error})", "correct that row") from None


def _read_parquet(path: Path, fields: Fields, _: Unit) -> Iterator[str]:
    parquet, arrow = require("pyarrow.parquet", "corpus"), require("pyarrow", "corpus")
    with open_regular(path) as file:
        try:
            table = parquet.ParquetFile(file)
            names = table.schema_arrow.names
            for field in fields:
                if field not in names:
                    raise unknown_name("column", field, names, "fields")
            batches = table.iter_batches(columns=list(fields))
            for row, record in enumerate((r for batch in batches for r in batch.to_pylist()), start=1):
                yield " ".join(_text_of(record, field, f"{path}, row {row}") for field in fields)
        except arrow.ArrowException as error:
            problem = f"not valid Parquet ({' '.join(str(error).split())})"
            raise InputError("file", str(path), problem, "write it again") from None


_READERS: dict[str, Callable[[Path, Fields, Unit], Iterator[str]]] = {
    **dict.fromkeys((".txt", ".md"), _read_text),
    **dict.fromkeys((".jsonl", ".ndjson"), _read_json_lines),
    ".json": _read_json,
    **dict.fromkeys((".csv", ".tsv"), _read_csv),
    ".parquet": _read_parquet,
}


def require(module: str, extra: str = "", *, package: str = "") -> Any:
    """Import a module of an optional dependency, or refuse and name the extra or package to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        remedy = f"install it with: pip install {package or repr(f'anchorflow[{extra}]')}"
        raise InputError("package", package or module.partition(".")[0], "not installed", remedy) from None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file with their numbers, starting at 1."""
    with open_regular(path) as opened:
        file = gzip.GzipFile(fileobj=opened) if path.suffix.lower() == ".gz" else opened
        # Iterating over a file splits it at LF alone; lines of old Macintosh files end in CR.
        lines = (line for part in file for line in part.splitlines(keepends=True))
        try:
            for number, line in enumerate(lines, start=1):
                if number == 1:
                    check_is_text(path, line)
                # Some editors begin a file with a byte order mark.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            problem = f"line {number} is not text in UTF-8 ({error.reason})"
            raise InputError("file", str(path), problem, "save it as UTF-8") from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError("file", str(path), f"not valid gzip ({error})", "compress it again") from None


def _text_of(record: dict[str, Any], field: str, where: str) -> str:
    if field not in record:
        near = nearest(field, record)
        hint = f"did you mean {near!r}?" if near else f"it has {', '.join(map(repr, record)) or 'none'};"
        raise InputError("fields", field, f"{where}: no such field", f"{hint} name it in fields (--field)")
    value = record[field]
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        problem = f"{where}: neither a text nor a list of texts"
        raise InputError("fields", field, problem, "name another field")
    return " ".join(texts)
