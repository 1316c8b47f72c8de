# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: testing.py.jinja.
"""What the generated tests share: tensors from descriptions, guard zones, contents."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

GUARD = 64
"""Elements of poison on each side of every output."""


@dataclass(frozen=True, slots=True)
class T:
    """A tensor to be made."""

    shape: tuple[int, ...]
    dtype: str
    strided: bool = False
    """With a step of 2 along the last dimension."""
    device: str = "cpu"
    offset: int = 0
    """Bytes from a 64-byte boundary to its beginning."""


def make(description: Any) -> Any:
    """A tensor of zeros from a description; anything else as it is."""
    if not isinstance(description, T):
        return description
    dtype = getattr(torch, description.dtype)
    shape = list(description.shape)
    if description.offset:
        count = description.offset // dtype.itemsize
        room = torch.zeros(count + math.prod(shape), dtype=dtype, device=description.device)
        return room[count:].view(shape)
    if description.strided:
        shape[-1] *= 2
        return torch.zeros(shape, dtype=dtype, device=description.device)[..., ::2]
    return torch.zeros(shape, dtype=dtype, device=description.device)


def poison(dtype: torch.dtype) -> int | float:
    """A value that no kernel writes by chance."""
    if dtype is torch.bool:
        return 1
    if dtype.is_floating_point:
        return -1234.5
    return -(0x5A << (torch.iinfo(dtype).bits - 8)) // 2 if dtype.is_signed else 0xA5


def guarded(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> tuple[Any, Any]:
    """A poisoned buffer, and a tensor of this shape in the middle of it."""
    count = 1
    for extent in shape:
        count *= extent
    buffer = torch.full((count + 2 * GUARD,), poison(dtype), dtype=dtype, device=device)
    return buffer, buffer[GUARD : GUARD + count].view(shape)


def contents(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    *,
    seed: str,
    low: int | None = None,
    high: int | None = None,
) -> torch.Tensor:
    """Seeded contents: mostly inside a domain, now and then beyond it or wild."""
    source = random.Random(seed)
    count = 1
    for extent in shape:
        count *= extent
    if dtype.is_floating_point:
        values: list[Any] = [source.uniform(-8, 8) for _ in range(count)]
        return torch.tensor(values, dtype=dtype).view(shape)
    bottom, top = (-2, 50) if low is None or high is None else (low, max(low, high))
    if dtype is torch.bool:
        return torch.tensor([source.random() < 0.5 for _ in range(count)]).view(shape)
    lowest, highest = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    wild = [bottom - 1, top + 1, lowest, highest, 0, -1]
    values = []
    for _ in range(count):
        value = source.choice(wild) if source.random() < 0.08 else source.randint(bottom, top)
        values.append(min(max(value, lowest), highest))
    return torch.tensor(values, dtype=dtype).view(shape)


def backend_devices() -> list[tuple[str, str]]:
    """Where a kernel can run here: (name, device)."""
    found = []
    if os.environ.get("TRITON_INTERPRET") == "1":
        found.append(("interpreter", "cpu"))
    elif torch.cuda.is_available():
        found.append(("gpu", "cuda"))
    elif hasattr(torch, "xpu") and torch.xpu.is_available():
        found.append(("gpu", "xpu"))
    return found


def items_of(
    values: dict[str, Any],
    path: str,
    struct: type,
    at_most: int,
    *,
    tensors: tuple[str, ...],
    integers: tuple[str, ...],
) -> tuple[Any, ...]:
    """The items of a list, from their fields by path, which are taken out of `values`."""
    items = []
    for index in range(at_most):
        fields = {n: values.pop(f"{path}[{index}].{n}", None) for n in (*tensors, *integers)}
        if all(fields[name] is not None for name in tensors):
            items.append(struct(**fields))
    return tuple(items)


def same_rows(found: Mapping[str, Any], wanted: Mapping[str, Any], path: str, counter: str) -> bool:
    """Whether two tensors hold the same rows in any order.

    Where more rows were counted than there is room for, which of them are kept is unspecified:
    then the rows that there must be are as many.
    """
    if wanted[path] is None or int(wanted[counter][0]) > wanted[path].shape[0]:
        return found[path] is None or found[path].shape == wanted[path].shape
    return sorted(found[path].tolist()) == sorted(wanted[path].tolist())


def flat(tensor: torch.Tensor) -> list[Any]:
    """A tensor's elements, row by row."""
    values: list[Any] = tensor.detach().cpu().reshape(-1).tolist()
    return values


def changed(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A call's arguments by path, with changes; a struct that is replaced loses its fields."""
    merged = {**base, **changes}
    return {
        path: value
        for path, value in merged.items()
        if "." not in path or path.partition(".")[0] not in changes
    }


def nondecreasing(values: list[Any]) -> bool:
    """Whether no value is less than the one before it."""
    return all(left <= right for left, right in itertools.pairwise(values))


def unchanged(
    before: Mapping[str, list[Any]], after: Mapping[str, list[Any]], path: str, count: int
) -> bool:
    """Whether an output is what it was from an entry on."""
    return before[path][count:] == after[path][count:]
