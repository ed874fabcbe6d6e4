"""What every section of a configuration has in common: unknown keys refused, sources named."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


def tagged(source: str, default: Any, **checks: Any) -> Any:
    """Return a field with a default and where it comes from: paper, sibling or chosen."""
    return Field(default, json_schema_extra={"source": source}, **checks)
