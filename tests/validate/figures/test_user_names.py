"""Names that a user chose stand in figures as they are, whatever mathtext makes of them."""

from __future__ import annotations

import io

import pytest

from validate.figures.style import new_axes


@pytest.mark.parametrize("name", ["$x^$", "a $\\nocommand$"])
def test_a_name_that_is_no_mathematics_is_shown_as_it_is(name: str) -> None:
    figure, (ax,) = new_axes()
    ax.plot([1, 2], label=f"of {name}")
    ax.set(title=f"{name} anchors", xlabel="$P^s$")
    ax.legend()
    for form in ("png", "svg"):
        figure.savefig(io.BytesIO(), format=form)
    assert ax.title.get_text() == f"{name} anchors"
    assert ax.xaxis.label.get_parse_math()
