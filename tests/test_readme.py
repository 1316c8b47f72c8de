"""What the README shows an engine's author runs as it stands there, and finds what it says."""

import re
from pathlib import Path

import pytest
import torch

from kv_canary import Canary, CanaryConfig, RealKvSource

README = Path(__file__).parent.parent / "README.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.S | re.M)


def test_block_finds_the_stray_write_and_nothing_else(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (block,) = blocks()
    names = {}
    exec(compile(block, str(README), "exec"), names)  # what a reader does with it
    (finding,) = names["canary"].findings
    assert (finding.halves, finding.requests) == (("K",), (3,))
    assert (finding.positions.parts, finding.slots.parts) == ((range(2, 3),), (range(18, 19),))
    assert capsys.readouterr().out == f"{finding}\n"
    assert str(finding).startswith("changed after it was stamped (changed_after_stamp, certain)\n")


@pytest.mark.parametrize("column", [0, 9, 255])
def test_block_covers_every_byte_of_a_token(monkeypatch, column):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    block = blocks()[0].replace("[18, 9]", f"[18, {column}]")
    assert f"[18, {column}]" in block
    names = {}
    exec(compile(block, str(README), "exec"), names)
    assert len(names["canary"].findings) == 1


@pytest.mark.parametrize("layer", [0, 17, 31])
def test_one_source_covers_all_layers_that_lie_side_by_side(layer):
    cache = torch.zeros(17, 32, 2, 8, dtype=torch.float16)
    n = 32 * 2 * 8 * 2
    canary = Canary(
        CanaryConfig(mode="collect", real_kv="all"),
        num_slots=17,
        req_to_token=torch.arange(1, 17, dtype=torch.int32).repeat(2, 1),
        max_batch_size=1,
        max_tokens_per_forward=8,
        k_sources=[RealKvSource(cache.flatten(1), 1, n, n)],
    )
    canary.arm()

    def step(prefix, count):
        positions = torch.arange(prefix, prefix + count)
        numbers = (torch.tensor([number]) for number in (1, prefix, count))
        with canary.forward(*numbers, positions, positions, positions + 1):
            cache[positions + 1] = torch.randn(count, 32, 2, 8).half()

    step(0, 8)
    assert canary.poll() == ()
    cache[5, layer, 1, 7] += 1
    step(8, 1)
    (finding,) = canary.poll()
    assert finding.slots.parts == (range(5, 6),)
