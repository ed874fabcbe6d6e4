"""Results as plain values: what is computed once, shown in several ways, and written as JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Result(BaseModel):
    """Values that do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, with null for what is undefined."""
        return self.model_dump(mode="json", by_alias=True)
