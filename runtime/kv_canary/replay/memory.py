"""The bytes of K and V that a replayed engine holds, and their stamps: what faults damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import torch
from torch import Tensor

from kv_canary_kernels.structs import RealKvSource

if TYPE_CHECKING:
    from kv_canary import Canary

BYTES_PER_TOKEN: Final = 32
"""Bytes of a token in each source; a canary in partial mode covers the first 16."""

Half = Literal["K", "V"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolMemory:
    """One pool's bytes, layer by layer, as strided views of one buffer per page."""

    num_slots: int
    """Slots of the pool, the padding slots of page 0 among them."""
    page_size: int
    """Slots in a page."""
    mapping: Tensor | None
    """int64 [slots of the full pool], full slot to slot of this pool; None for the full pool."""
    layers: dict[Half, tuple[Tensor, ...]]
    """uint8 [pages, page_size, BYTES_PER_TOKEN] of each layer."""

    @classmethod
    def allocate(
        cls, *, pages: int, page_size: int, mapping: Tensor | None, device: torch.device
    ) -> PoolMemory:
        """Return a pool of zeros: K in two layers, V in one, as engines lay them out.

        Args:
            pages: pages, the padding page among them.
            page_size: slots in a page.
            mapping: full slot to slot of this pool; None for the full pool.
            device: where it is.
        """

        def buffer(layers: int) -> tuple[Tensor, ...]:
            shape = (pages, layers, page_size, BYTES_PER_TOKEN)
            whole = torch.zeros(shape, dtype=torch.uint8, device=device)
            return tuple(whole[:, layer] for layer in range(layers))

        return cls(
            num_slots=pages * page_size,
            page_size=page_size,
            mapping=mapping,
            layers={"K": buffer(2), "V": buffer(1)},
        )

    def sources(self, half: Half) -> tuple[RealKvSource, ...]:
        """Return where a half's bytes lie, for a canary."""
        return tuple(
            RealKvSource(layer.flatten(1), self.page_size, BYTES_PER_TOKEN, BYTES_PER_TOKEN)
            for layer in self.layers[half]
        )

    def located(self, slots: Tensor) -> Tensor:
        """Return this pool's slots of full slots: int64 [n], 0 where there is none."""
        if self.mapping is None:
            return slots
        inside = (slots >= 0) & (slots < self.mapping.shape[0])
        return torch.where(inside, self.mapping[torch.where(inside, slots, 0)], 0)

    def store(self, slots: Tensor, generator: torch.Generator) -> None:
        """Store random bytes for tokens; a slot outside the pool is not stored to.

        Args:
            slots: int64 [n], slots of the full pool.
            generator: where the bytes come from.
        """
        own = self.located(slots)
        own = own[(own >= 0) & (own < self.num_slots)]
        page, place = own // self.page_size, own % self.page_size
        for layer in self.each_layer():
            shape = (len(own), BYTES_PER_TOKEN)
            content = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
            layer[page, place] = content.to(layer.device)

    def each_layer(self) -> Iterator[Tensor]:
        """Every layer of K, then of V."""
        for half in self.layers.values():
            yield from half

    def bytes_of(self, layer: Tensor, slot: int) -> Tensor:
        """Return the view of one slot's bytes in a layer."""
        return layer[slot // self.page_size, slot % self.page_size]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KvMemory:
    """All pools, and the canary's stamps of each, which move with the bytes."""

    pools: tuple[PoolMemory, ...]
    """The full pool, and the window pool if there is one."""
    canary: Canary
    """Whose stamps they are."""

    def store(self, slots: Tensor, generator: torch.Generator) -> None:
        """Store random bytes for tokens in every pool, as a model does inside a forward."""
        for pool in self.pools:
            pool.store(slots, generator)

    def move(self, pairs: Iterable[tuple[int, int]], *, with_stamps: bool) -> None:
        """Copy slots to others, all read before one is written.

        Args:
            pairs: source and destination, slots of the full pool.
            with_stamps: whether the canary's buffers are copied like the layers.
        """
        device = self.pools[0].layers["V"][0].device
        source, destination = (
            torch.tensor(side, dtype=torch.int64, device=device)
            for side in zip(*pairs, strict=True)
        )
        for pool, stamps in zip(self.pools, self.stamps(), strict=True):
            here, there = pool.located(source), pool.located(destination)
            is_held = (here > 0) & (there > 0)
            here, there = here[is_held], there[is_held]
            size = pool.page_size
            for layer in pool.each_layer():
                layer[there // size, there % size] = layer[here // size, here % size].clone()
            for buffer in stamps if with_stamps else ():
                buffer[there] = buffer[here].clone()

    def stamps(self) -> tuple[tuple[Tensor, ...], ...]:
        """Return the canary's buffers of each pool, uint8 [num_slots, 32] each."""
        return self.canary.stamp_buffers()
