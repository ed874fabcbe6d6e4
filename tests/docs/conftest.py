"""What every test of a page needs."""

import pytest


@pytest.fixture(autouse=True)
def own_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims that a page registers are in the ledger of its own test alone."""
    monkeypatch.setattr("validate.judge.claims._REGISTERED", [])
