"""The choice of matrix product: measured, and never at the cost of accuracy."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from sim import MemberConfig, choose_route, matmul_route
from sim.fast.matmul import ERROR_LIMIT, RouteReport
from sim.fast.matmul import _measure as measure  # the choice is tested through what it measures
from sim.training import kernels


def test_the_chosen_route_is_accurate(monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast the other is, it is taken up to the limit of error and not above."""
    report = choose_route(64, (48, 96, 48))
    assert 0 < report.error["default"] <= ERROR_LIMIT
    assert set(report.gflops) == set(report.error)
    if "bf16-named" not in report.error:
        pytest.skip("this torch has one float32 product")
    for error, speed, route in (
        (1.01 * ERROR_LIMIT, 1000.0, "default"),
        (ERROR_LIMIT, 1000.0, "bf16-named"),
        (ERROR_LIMIT, 1.0, "default"),
    ):
        measured = iter([(1.0, 1e-7), (speed, error)])
        monkeypatch.setattr("sim.fast.matmul._measure", lambda *_, own=measured: next(own))
        assert choose_route(64, (48, 96, 48)).route == route


def test_true_bfloat16_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: round the factors to bfloat16, and the measured error passes the limit."""
    matmul = torch.Tensor.__matmul__

    def rounded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dtype is torch.float32:
            return matmul(a.bfloat16().float(), b.bfloat16().float())
        return matmul(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)
    assert measure(64, (48, 96, 48))[1] > 10 * ERROR_LIMIT
    assert choose_route(64, (48, 96, 48)).route == "default"


def test_the_callers_setting_comes_back() -> None:
    settings = getattr(torch.backends.mkldnn, "matmul", None)
    if settings is None:
        pytest.skip("this torch has no setting for float32 products")
    before = settings.fp32_precision
    with pytest.raises(RuntimeError), matmul_route("bf16-named"):
        raise RuntimeError
    assert settings.fp32_precision == before


def test_runs_of_one_size_are_measured_once(
    member: Callable[..., MemberConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[int, tuple[int, ...]]] = []
    monkeypatch.setattr(
        kernels, "choose_route", lambda *sizes: measured.append(sizes) or RouteReport("default", {}, {})
    )
    kernels._route_of_sizes.cache_clear()
    try:
        for batch_size in (16, 16, 8):
            kernels.member_route(member(batch_size=batch_size))
        kernels.member_route(member(batch_size=16, dtype="float64"))
    finally:
        kernels._route_of_sizes.cache_clear()  # Nothing was measured.
    assert [rows for rows, _ in measured] == [16, 8]
