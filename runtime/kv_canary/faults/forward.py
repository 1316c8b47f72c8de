"""Faults that happen while a forward runs."""

from __future__ import annotations

from functools import partial

from torch import Tensor

from kv_canary.faults.victims import readers_again
from kv_canary.replay.scene import Injected, Scene


def turn_offsets_back(scene: Scene) -> Injected | None:
    """Let a stray store hit the offsets that say which tokens are whose."""
    for reader in readers_again(scene):
        place = scene.place(reader.entry)
        first = scene.first_token(reader.entry)
        if first == 0:
            continue
        state = scene.memory.canary._state
        assert state is not None, "the canary of a replay is open"
        offsets = [group.write_plan.write_offsets for group in state.groups]
        scene.after_store.append(partial(_set, offsets, place + 1, first - 1))
        return Injected(
            what=f"row {reader.row}: its tokens begin at {first} and end at {first - 1}",
            steps_until_read=0,
        )
    return None


def _set(tensors: list[Tensor], index: int, value: int) -> None:
    for tensor in tensors:
        tensor[index] = value
