"""Faults that leave nothing behind which a stamp could be compared with."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from kv_canary.faults.victims import any_position, readers, where
from kv_canary.replay.scene import Injected, Scene


def race_read(scene: Scene) -> Injected | None:
    """Let the forward read bytes that are not there yet, and are when it ends."""
    for reader in readers(scene):
        position = any_position(scene, reader)
        slot = scene.slot(reader.entry, position)
        pool = scene.memory.pools[0]
        views = [pool.bytes_of(layer, slot) for layer in pool.each_layer()]
        arrived = [view.clone() for view in views]

        scene.before_store.append(partial(_fill, views, [torch.zeros_like(v) for v in views]))
        scene.after_store.append(partial(_fill, views, arrived))
        return Injected(
            what=f"{where(reader, position, slot)}: read before its bytes arrived",
            steps_until_read=None,
        )
    return None


def _fill(views: list[Tensor], contents: list[Tensor]) -> None:
    for view, content in zip(views, contents, strict=True):
        view.copy_(content)


def compute_wrong_value(scene: Scene) -> Injected | None:
    """Store wrong bytes for new tokens before they are stamped."""
    slots = scene.inputs.out_cache_loc
    kept = [int(slot) for slot in slots.tolist() if slot > 0]
    if not kept:
        return None

    def damage() -> None:
        for pool in scene.memory.pools:
            own = pool.located(slots.new_tensor(kept))
            for slot in own[own > 0].tolist():
                for layer in pool.each_layer():
                    pool.bytes_of(layer, slot).fill_(0)

    scene.after_store.append(damage)
    return Injected(what=f"{len(kept)} new tokens got zeros for K and V", steps_until_read=None)


def feed_wrong_token(scene: Scene) -> Injected | None:
    """Give the model another token than the one that was sampled, in its input and everywhere."""
    for reader in readers(scene):
        request = reader.request
        if reader.length < request.prompt_length:
            continue
        token = scene.first_token(reader.entry)
        wrong = int(scene.inputs.input_ids[token]) ^ 1
        scene.inputs.input_ids[token] = wrong
        request.tokens[reader.length] = wrong
        return Injected(
            what=f"row {reader.row}, position {reader.length}: token {wrong}",
            steps_until_read=None,
        )
    return None


def damage_free_slot(scene: Scene) -> Injected | None:
    """Overwrite a slot that nobody holds."""
    free = scene.pool.free_pages()
    if not free:
        return None
    slot = scene.random.choice(scene.pool.slots_of(scene.random.choice(free)))
    pool = scene.memory.pools[0]
    for layer in pool.each_layer():
        pool.bytes_of(layer, slot).fill_(255)
    return Injected(what=f"slot {slot}, which nobody holds, was overwritten", steps_until_read=None)
