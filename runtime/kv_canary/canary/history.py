"""The batches of the last few forwards, kept on the device until somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from kv_canary.canary.group import Batch
from kv_canary.findings.snapshot import StepSnapshot


class History:
    """A ring of batches; a forward costs one copy on the device.

    Args:
        places: forwards that are kept.
        max_batch_size: requests of a forward at most.
        max_tokens: tokens of a forward at most.
        device: where the ring is; the meta device, to count its bytes.
    """

    def __init__(
        self, *, places: int, max_batch_size: int, max_tokens: int, device: torch.device
    ) -> None:
        self._ring = torch.zeros(
            (places, 1 + 3 * max_batch_size + 2 * max_tokens), dtype=torch.int64, device=device
        )
        self._sizes: list[tuple[int, int] | None] = [None] * places
        self._next = 0

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that was made here."""
        yield self._ring

    def clear(self) -> None:
        """Forget every batch."""
        self._sizes = [None] * len(self._sizes)

    def keep(self, number: Tensor, batch: Batch) -> None:
        """Keep a forward's batch in the place of the oldest.

        Args:
            number: int64 [1], the forward's number, which graphs that were replayed moved too.
            batch: the forward's.
        """
        if not self._sizes:
            return
        place = self._next
        self._next = (place + 1) % len(self._sizes)
        self._sizes[place] = batch.size, batch.tokens
        length = 1 + 3 * batch.size + 2 * batch.tokens
        torch.cat(
            [
                number,
                batch.req_pool_indices,
                batch.prefix_lens,
                batch.extend_seq_lens,
                batch.positions,
                batch.out_cache_loc,
            ],
            out=self._ring[place, :length],
        )

    def steps(self, forwards: int, *, has_graphs: bool) -> tuple[StepSnapshot, ...]:
        """Return the last forwards, oldest first; this waits for the device.

        Args:
            forwards: how many the device has run.
            has_graphs: whether forwards were captured, so that those not seen were replayed.
        """
        seen: dict[int, StepSnapshot] = {}
        for row, sizes in zip(self._ring.cpu(), self._sizes, strict=True):
            if sizes is not None:
                step = _step(row, *sizes)
                seen[step.step] = step
        if has_graphs:
            nothing = torch.zeros(0, dtype=torch.int64, device="cpu")
            for number in range(max(0, forwards - len(self._sizes)), forwards):
                if number not in seen:
                    seen[number] = StepSnapshot(
                        step=number,
                        req_pool_indices=nothing,
                        prefix_lens=nothing,
                        extend_seq_lens=nothing,
                        positions=nothing,
                        out_cache_loc=nothing,
                        captured=True,
                    )
        return tuple(seen[number] for number in sorted(seen))


def _step(row: Tensor, size: int, tokens: int) -> StepSnapshot:
    ends = accumulate([1, size, size, size, tokens, tokens])
    rows, prefixes, extends, positions, slots = (
        row[first:end].clone() for first, end in pairwise(ends)
    )
    return StepSnapshot(
        step=int(row[0]),
        req_pool_indices=rows,
        prefix_lens=prefixes,
        extend_seq_lens=extends,
        positions=positions,
        out_cache_loc=slots,
    )
