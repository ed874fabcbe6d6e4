"""Where a run can be trained."""

from __future__ import annotations

import re

import torch

from theory import InputError


def check_device(device: str) -> None:
    """Refuse a device that is neither the processor nor a GPU, or that cannot be used here."""
    check_device_name(device)
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError("device", device, f"cannot be used ({reason})", "use cpu") from None


def check_device_name(device: str) -> None:
    """Refuse a device that is neither the processor nor a GPU."""
    if not isinstance(device, str) or not re.fullmatch(r"cpu|cuda(:\d{1,3})?", device):
        raise InputError("device", device, "cannot be used (no such device)", "use cpu or cuda")
