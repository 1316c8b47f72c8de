"""A forward's scope, and poll, inside a region that torch.compile traces.

Note [Operators in the graph]
A compiler that met the canary's own Python would break its graph there, and compile anew whenever a
count moves. So a traced scope is two operators, and a traced poll is one; what they do stays Python
that nobody traces. They say that they write `ticket`, so that no compiler drops them or moves one
past another, and the scope's operators say that they read the sources, so that none moves them past
a write of K or V in the same graph. A compiler that keeps no mutation in place may hand over the
sources, as they are at that point, in memory of its own; then those are what is hashed. Writes that
a graph hides, as in an operator that finds its cache by name, order nothing: there the scope
belongs outside the compiled region.
"""

from __future__ import annotations

from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from kv_canary.canary.group import Batch

if TYPE_CHECKING:
    from kv_canary.canary.canary import Canary

_canaries: WeakValueDictionary[int, Canary] = WeakValueDictionary()
_handles = count()


def handle_of(canary: Canary) -> int:
    """Give a canary a number that a graph can hold."""
    handle = next(_handles)
    _canaries[handle] = canary
    return handle


@torch.library.custom_op(
    "kv_canary::enter_forward",
    mutates_args=("ticket",),
    schema="(Tensor(a!) ticket, int handle, Tensor req_pool_indices, Tensor prefix_lens, "
    "Tensor extend_seq_lens, Tensor input_ids, Tensor positions, Tensor out_cache_loc, "
    "Tensor[] sources) -> ()",
)
def _enter_forward(
    ticket: Tensor,
    handle: int,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    sources: list[Tensor],
) -> None:
    batch = Batch(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
    )
    _canaries[handle]._enter_from_graph(batch, sources)


@torch.library.custom_op(
    "kv_canary::check_nested",
    mutates_args=("ticket",),
    schema="(Tensor(a!) ticket, int handle, Tensor req_pool_indices, Tensor prefix_lens, "
    "Tensor extend_seq_lens, Tensor input_ids, Tensor positions, Tensor out_cache_loc) -> ()",
)
def _check_nested(
    ticket: Tensor,
    handle: int,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    extend_seq_lens: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
) -> None:
    batch = Batch(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        extend_seq_lens=extend_seq_lens,
        input_ids=input_ids,
        positions=positions,
        out_cache_loc=out_cache_loc,
    )
    _canaries[handle]._check_nested(batch)


@torch.library.custom_op(
    "kv_canary::leave_forward",
    mutates_args=("ticket",),
    schema="(Tensor(a!) ticket, int handle, bool has_failed, Tensor[] sources) -> ()",
)
def _leave_forward(ticket: Tensor, handle: int, has_failed: bool, sources: list[Tensor]) -> None:
    _canaries[handle]._leave_from_graph(sources, has_failed=has_failed)


@torch.library.custom_op(
    "kv_canary::poll",
    mutates_args=("ticket",),
    schema="(Tensor(a!) ticket, int handle) -> ()",
)
def _poll(ticket: Tensor, handle: int) -> None:
    _canaries[handle].poll()


@_enter_forward.register_fake
@_check_nested.register_fake
@_leave_forward.register_fake
@_poll.register_fake
def _nothing(*arguments: Any) -> None:
    """What a tracer runs instead: no operator gives anything back."""


class TracedScope:
    """The scope of one forward, as a tracer sees it.

    Args:
        canary: whose forward it is.
        batch: the forward's six tensors, in the order of its arguments.
    """

    def __init__(self, canary: Canary, batch: tuple[Tensor, ...]) -> None:
        self._canary = canary
        self._batch = batch

    def __enter__(self) -> None:
        canary = self._canary
        # Scopes in one traced region are told apart while it is traced: those inside each other are
        # one, and leave nothing in the graph but for a check of what is not the outer one's tensor.
        canary.traced_depth += 1
        if canary.traced_depth == 1:
            canary.traced_batch = self._batch
            torch.ops.kv_canary.enter_forward(
                canary.ticket, canary.handle, *self._batch, canary.source_tensors
            )
            return
        for outer, inner in zip(canary.traced_batch or (), self._batch, strict=True):
            if outer is not inner:
                torch.ops.kv_canary.check_nested(canary.ticket, canary.handle, *self._batch)
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        canary = self._canary
        canary.traced_depth -= 1
        if canary.traced_depth == 0:
            canary.traced_batch = None
            torch.ops.kv_canary.leave_forward(
                canary.ticket, canary.handle, kind is not None, canary.source_tensors
            )
