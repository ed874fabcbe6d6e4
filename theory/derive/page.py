"""All derivations as one page of the documentation."""

from __future__ import annotations

from theory.derive.derivation import derivations
from theory.derive.display import anchor, escaped, section


def derivations_page() -> str:
    """Return the documentation page of all derivations, as MyST Markdown: minutes of work."""
    made = list(derivations().values())
    rows = [
        f"| [{escaped(d.name)}](#{anchor(d.name)}) | {escaped(d.equation)} | {escaped(d.title)} |"
        for d in made
    ]
    head = [
        "# Derivations",
        "SymPy derives every statement below, step by step, and compares it with the form in which it is "
        "stated. [How to read them](symbolic.md) says what that covers. Indices of matrix entries start at "
        "0; of a long matrix the first entry is shown.",
        "\n".join(["| name | in the paper | statement |", "| --- | --- | --- |", *rows]),
    ]
    return "\n\n".join([*head, *(section(d) for d in made)])
