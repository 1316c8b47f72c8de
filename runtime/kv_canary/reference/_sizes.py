"""Sizes that depend on what tensors hold, and ranges of that kind packed one behind the other.

Note [Nothing is read back]
A CPU tensor is read for free, so there a launch does exactly the work that its contents ask for.
Any other device would have to be waited for, and a graph could not be captured: there a launch
works on as many places as the tensors' shapes allow, and masks say which of them are in use.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kv_canary.reference._requests import exclusive_prefix_sum


def reading_is_free(tensor: Tensor) -> bool:
    """Return whether the host may look into a tensor; see Note [Nothing is read back]."""
    return tensor.device.type == "cpu"


def known_size(exact: Tensor, bound: int) -> int:
    """Return the size itself where reading it is free, and the most that it can be elsewhere.

    Args:
        exact: integer, one element, in [0, bound].
        bound: the largest size that the shapes allow.
    """
    return int(exact) if reading_is_free(exact) else bound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackedRanges:
    """Ranges of any lengths behind one another, seen from their places."""

    starts: Tensor
    """int64 [n]: place at which each range starts."""
    counts: Tensor
    """int64 [n]: places of each range."""
    owner: Tensor
    """int64 [places]: range of each place; any range where the place is not owned."""
    local: Tensor
    """int64 [places]: index of each place in its range; any number where it is not owned."""
    is_owned: Tensor
    """bool [places]: the place belongs to a range; all of them do where reading is free."""

    @classmethod
    def pack(cls, counts: Tensor, *, bound: int) -> PackedRanges:
        """Lay ranges out behind one another.

        Args:
            counts: int64 [n], places of each range, none negative; n is at least 1.
            bound: the largest sum of the counts that the shapes allow.
        """
        offsets = exclusive_prefix_sum(counts)
        starts, total = offsets[:-1], offsets[-1]
        place = torch.arange(known_size(total, bound), dtype=torch.int64, device=counts.device)
        owner = torch.searchsorted(offsets[1:], place, right=True).clamp(max=counts.shape[0] - 1)
        return cls(
            starts=starts,
            counts=counts,
            owner=owner,
            local=place - starts[owner],
            is_owned=place < total,
        )
