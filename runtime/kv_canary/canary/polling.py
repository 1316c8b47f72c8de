"""Numbers that the device moves, read without waiting for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kv_canary.canary.group import Recorder
from kv_canary_kernels.backends import on_device


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The numbers of a canary at one moment."""

    asked_at: float
    """When the copy was asked for, in seconds of the monotonic clock."""
    forwards_entered: int
    """Forwards that the host had entered and left by then, those being captured not counted."""
    numbers: dict[str, int]
    """The recorder's counters and flags, by name."""


class StatusReader:
    """Copies a recorder's numbers to the host on a stream of its own.

    Args:
        recorder: whose numbers.
        device: where they are.
    """

    def __init__(self, recorder: Recorder, *, device: torch.device) -> None:
        self._sources = (recorder.counters.block, recorder.flags.block)
        self._names = (*recorder.counters.place, *recorder.flags.place)
        self._device = device
        self._asked: tuple[float, int] | None = None
        self._targets: tuple[Tensor, Tensor] | None = None
        if device.type != "cpu":
            counters, flags = self._sources
            self._targets = (
                pinned_like(counters),
                pinned_like(flags),
            )
            module = self._module()
            self._stream = module.Stream(device)
            self._event = module.Event()

    @property
    def asked_at(self) -> float | None:
        """When the copy under way was asked for, or None without one."""
        return None if self._asked is None else self._asked[0]

    def ask(self, forwards_entered: int) -> None:
        """Begin a copy, behind what is on the current stream, unless one is under way."""
        if self._asked is not None:
            return
        self._asked = time.monotonic(), forwards_entered
        if self._targets is None:
            return
        module = self._module()
        self._stream.wait_stream(module.current_stream(self._device))
        with module.stream(self._stream):
            for target, source in zip(self._targets, self._sources, strict=True):
                target.copy_(source, non_blocking=True)
            self._event.record(self._stream)

    def take(self, *, wait: bool = False) -> Status | None:
        """Return what was copied, or None while the copy is under way or none was asked for.

        Args:
            wait: wait for it instead.
        """
        if self._asked is None:
            return None
        if self._targets is None:
            counters, flags = self._sources
        elif wait or self._event.query():
            if wait:
                self._event.synchronize()
            counters, flags = self._targets
        else:
            return None
        (asked_at, forwards_entered), self._asked = self._asked, None
        return Status(
            asked_at=asked_at,
            forwards_entered=forwards_entered,
            numbers=dict(zip(self._names, [*counters.tolist(), *flags.tolist()], strict=True)),
        )

    def drop(self) -> None:
        """Forget the copy under way, which the device is done with."""
        self._asked = None

    def _module(self) -> Any:
        return torch.get_device_module(self._device)


def is_capturing(device: torch.device) -> bool:
    """Return whether the current stream of a device is capturing a graph."""
    if device.type == "cpu":
        return False
    asks = getattr(torch.get_device_module(device), "is_current_stream_capturing", None)
    with on_device(device):
        return asks is not None and bool(asks())


def wait_for(device: torch.device) -> None:
    """Wait until everything on a device is done."""
    if device.type != "cpu":
        torch.get_device_module(device).synchronize(device)


def pinned_like(tensor: Tensor) -> Tensor:
    """Return host memory that a device copies to without stopping, of a tensor's shape."""
    return torch.zeros(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
