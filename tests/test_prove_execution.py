"""What is proved is so: calls that nobody chose, between unmapped pages, never fault.

Sizes, scalars and presence are drawn at random and kept if they pass validation; contents are any
bit patterns, edges of sizes and of types among them.
"""

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.model import ScalarKind
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove.replay import GivenNumber, GivenStruct, GivenTensor, replayed
from kv_canary_codegen.search import Search

REPOSITORY = Path(__file__).parent.parent
STEMS = ("plan_offsets", "plan_entries", "plan_rotation", "scatter_req_token_ids")
CALLS, SOAK_CALLS = 24, 750
EDGES = (-(2**63), 2**63 - 1, -(2**31), 2**31 - 1, 2**31, 2**32, -1, 0, 1, 2)


def plan_of(search, kernel, random):
    """A valid plan with small sizes."""
    base = search.base
    given = frozenset(t.path for t in kernel.optional_tensors() if random.random() < 0.6)
    sizes = {name: random.choice([0, 1, 1, 2, 3]) for name in base.sizes}
    scalars = dict(base.scalars)
    for scalar in kernel.scalars:
        if scalar.name in search.shared:
            scalars[scalar.name] = sizes[scalar.name]
        elif scalar.kind is ScalarKind.INT:
            scalars[scalar.name] = random.choice([0, 1, 2, 3, 5, *EDGES])
    plan = type(base)(sizes=sizes, scalars=scalars, given=given)
    return search.repair(plan, frozenset()) or base


def call_of(search, kernel, random):
    """Arguments with wild contents."""
    call = search.call(plan_of(search, kernel, random))
    found = [GivenStruct(path=s.name, struct=s.struct) for s in kernel.structs]
    sizes = [extent for t in call.tensors.values() if t is not None for extent in t.shape]
    for path, tensor in call.tensors.items():
        if tensor is None:
            found.append(GivenNumber(path=path, value=None))
            continue
        bits = {"int64": 64, "int32": 32}[tensor.dtype]
        near = [*EDGES, *(size + step for size in sizes for step in (-1, 0, 1)), 0, 1, 2, 3]
        count = 1
        for extent in tensor.shape:
            count *= extent
        contents = tuple(
            (place, min(max(random.choice(near), -(2 ** (bits - 1))), 2 ** (bits - 1) - 1))
            for place in range(min(count, 64))
        )
        found.append(
            GivenTensor(path=path, dtype=tensor.dtype, shape=tensor.shape, contents=contents)
        )
    found += [GivenNumber(path=s.path, value=call.scalars[s.name]) for s in kernel.scalars]
    return tuple(found)


def check(stem, count):
    spec = read_spec(REPOSITORY / "spec", "spec")
    kernel = next(kernel for kernel in spec.kernels if kernel.stem == stem)
    search = Search(spec, kernel)
    random = Random(f"calls of {stem}")
    done = 0
    while done < count:
        calls = [call_of(search, kernel, random) for _ in range(min(150, count - done))]
        replay = replayed(spec, kernel, REPOSITORY / "generated", calls)
        assert replay.failed == ""
        assert replay.faulted is None, (stem, replay.line, calls[replay.faulted])
        assert replay.refused < len(calls), "calls should pass validation"
        done += len(calls)


@pytest.mark.parametrize("stem", STEMS)
def test_no_access_of_a_proved_kernel_faults(stem):
    check(stem, CALLS)


@pytest.mark.soak
@pytest.mark.parametrize("stem", STEMS)
def test_no_access_of_a_proved_kernel_faults_in_thousands_of_calls(stem):
    check(stem, SOAK_CALLS)
