# Generated from spec/kernels/scatter_req_token_ids.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_scatter_req_token_ids_kernel: every rule, every example, the kernel against its
reference.
"""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.scatter_req_token_ids import (
    PRESENCES,
    launch_scatter_req_token_ids_kernel,
)
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
)
from kv_canary_kernels.validators.scatter_req_token_ids import (
    accepts_scatter_req_token_ids,
    inspect_scatter_req_token_ids,
    validate_scatter_req_token_ids,
)

REFERENCE = "kv_canary.reference.scatter_req_token_ids:scatter_req_token_ids"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = ["token_count", "bs", "pool_rows", "pool_columns"]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = []

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = ["column_starts_ptr"]

VALID: dict[str, Any] = {
    "flat_in": T((1,), "int64"),
    "offsets": T((2,), "int64"),
    "req_pool_indices": T((1,), "int64"),
    "pool_out": T((1, 1), "int32"),
    "column_starts": None,
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "scatter_req_token_ids.flat_in.required",
        {"flat_in": None},
        "kv-canary: flat_in is required",
        [],
        id="scatter_req_token_ids.flat_in.required",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.type",
        {"flat_in": []},
        "kv-canary: flat_in must be a torch.Tensor, got list",
        [],
        id="scatter_req_token_ids.flat_in.type",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.required",
        {"offsets": None},
        "kv-canary: offsets is required",
        [],
        id="scatter_req_token_ids.offsets.required",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.type",
        {"offsets": []},
        "kv-canary: offsets must be a torch.Tensor, got list",
        [],
        id="scatter_req_token_ids.offsets.type",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.required",
        {"req_pool_indices": None},
        "kv-canary: req_pool_indices is required",
        [],
        id="scatter_req_token_ids.req_pool_indices.required",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.type",
        {"req_pool_indices": []},
        "kv-canary: req_pool_indices must be a torch.Tensor, got list",
        [],
        id="scatter_req_token_ids.req_pool_indices.type",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.required",
        {"pool_out": None},
        "kv-canary: pool_out is required",
        [],
        id="scatter_req_token_ids.pool_out.required",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.type",
        {"pool_out": []},
        "kv-canary: pool_out must be a torch.Tensor, got list",
        [],
        id="scatter_req_token_ids.pool_out.type",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.type",
        {"column_starts": []},
        "kv-canary: column_starts must be a torch.Tensor, got list",
        [],
        id="scatter_req_token_ids.column_starts.type",
    ),
    pytest.param(
        "scatter_req_token_ids.token_count.type",
        {"token_count": "1"},
        "kv-canary: token_count must be int, got str",
        [],
        id="scatter_req_token_ids.token_count.type",
    ),
    pytest.param(
        "scatter_req_token_ids.bs.type",
        {"bs": "1"},
        "kv-canary: bs must be int, got str",
        [],
        id="scatter_req_token_ids.bs.type",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_rows.type",
        {"pool_rows": "1"},
        "kv-canary: pool_rows must be int, got str",
        [],
        id="scatter_req_token_ids.pool_rows.type",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_columns.type",
        {"pool_columns": "1"},
        "kv-canary: pool_columns must be int, got str",
        [],
        id="scatter_req_token_ids.pool_columns.type",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.rank",
        {"flat_in": T((), "int64")},
        "kv-canary: scatter_req_token_ids flat_in must be 1-D, got shape ()",
        [],
        id="scatter_req_token_ids.flat_in.rank",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.rank",
        {"offsets": T((), "int64")},
        "kv-canary: scatter_req_token_ids offsets must be 1-D, got shape ()",
        [],
        id="scatter_req_token_ids.offsets.rank",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.rank",
        {"req_pool_indices": T((), "int64")},
        "kv-canary: scatter_req_token_ids req_pool_indices must be 1-D, got shape ()",
        [],
        id="scatter_req_token_ids.req_pool_indices.rank",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.rank",
        {"pool_out": T((), "int32")},
        "kv-canary: scatter_req_token_ids pool_out must be 2-D, got shape ()",
        [],
        id="scatter_req_token_ids.pool_out.rank",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.rank",
        {"column_starts": T((), "int64")},
        "kv-canary: scatter_req_token_ids column_starts must be 1-D, got shape ()",
        [],
        id="scatter_req_token_ids.column_starts.rank",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.dtype",
        {"flat_in": T((1,), "int32")},
        "kv-canary: scatter_req_token_ids flat_in must be int64, got torch.int32",
        [],
        id="scatter_req_token_ids.flat_in.dtype",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.dtype",
        {"offsets": T((2,), "int32")},
        "kv-canary: scatter_req_token_ids offsets must be int64, got torch.int32",
        [],
        id="scatter_req_token_ids.offsets.dtype",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.dtype",
        {"req_pool_indices": T((1,), "int32")},
        "kv-canary: scatter_req_token_ids req_pool_indices must be int64, got torch.int32",
        [],
        id="scatter_req_token_ids.req_pool_indices.dtype",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.dtype",
        {"pool_out": T((1, 1), "int64")},
        "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64",
        [],
        id="scatter_req_token_ids.pool_out.dtype",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.dtype",
        {"column_starts": T((1,), "int32")},
        "kv-canary: scatter_req_token_ids column_starts must be int64, got torch.int32",
        [],
        id="scatter_req_token_ids.column_starts.dtype",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.length",
        {"flat_in": T((0,), "int64"), "token_count": 1},
        "kv-canary: flat_in length must be 1, got 0",
        [],
        id="scatter_req_token_ids.flat_in.length",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.length",
        {"offsets": T((1,), "int64")},
        "kv-canary: scatter_req_token_ids offsets length 1 != bs+1 (2)",
        [],
        id="scatter_req_token_ids.offsets.length",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.length",
        {"req_pool_indices": T((0,), "int64"), "bs": 1},
        "kv-canary: req_pool_indices length must be 1, got 0",
        [],
        id="scatter_req_token_ids.req_pool_indices.length",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.row_length",
        {"pool_out": T((0, 1), "int32"), "pool_rows": 1},
        "kv-canary: pool_out shape[0] must be 1, got 0",
        [],
        id="scatter_req_token_ids.pool_out.row_length",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.column_length",
        {"pool_out": T((1, 0), "int32"), "pool_columns": 1},
        "kv-canary: pool_out shape[1] must be 1, got 0",
        [],
        id="scatter_req_token_ids.pool_out.column_length",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.length",
        {"column_starts": T((0,), "int64")},
        "kv-canary: column_starts length must be 1, got 0",
        [],
        id="scatter_req_token_ids.column_starts.length",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.contiguous",
        {"flat_in": T((2,), "int64", strided=True)},
        "kv-canary: flat_in must be contiguous",
        [],
        id="scatter_req_token_ids.flat_in.contiguous",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.contiguous",
        {"offsets": T((3,), "int64", strided=True), "req_pool_indices": T((2,), "int64")},
        "kv-canary: offsets must be contiguous",
        [],
        id="scatter_req_token_ids.offsets.contiguous",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.contiguous",
        {"offsets": T((3,), "int64"), "req_pool_indices": T((2,), "int64", strided=True)},
        "kv-canary: req_pool_indices must be contiguous",
        [],
        id="scatter_req_token_ids.req_pool_indices.contiguous",
    ),
    pytest.param(
        "scatter_req_token_ids.pool_out.contiguous",
        {"pool_out": T((2, 1), "int32", strided=True)},
        "kv-canary: pool_out must be contiguous",
        [],
        id="scatter_req_token_ids.pool_out.contiguous",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.contiguous",
        {
            "offsets": T((3,), "int64"),
            "req_pool_indices": T((2,), "int64"),
            "column_starts": T((2,), "int64", strided=True),
        },
        "kv-canary: column_starts must be contiguous",
        [],
        id="scatter_req_token_ids.column_starts.contiguous",
    ),
    pytest.param(
        "scatter_req_token_ids.flat_in.device",
        {"flat_in": T((1,), "int64", device="meta")},
        "kv-canary: flat_in must be on pool_out's device cpu, got meta",
        [],
        id="scatter_req_token_ids.flat_in.device",
    ),
    pytest.param(
        "scatter_req_token_ids.offsets.device",
        {"offsets": T((2,), "int64", device="meta")},
        "kv-canary: offsets must be on pool_out's device cpu, got meta",
        [],
        id="scatter_req_token_ids.offsets.device",
    ),
    pytest.param(
        "scatter_req_token_ids.req_pool_indices.device",
        {"req_pool_indices": T((1,), "int64", device="meta")},
        "kv-canary: req_pool_indices must be on pool_out's device cpu, got meta",
        [],
        id="scatter_req_token_ids.req_pool_indices.device",
    ),
    pytest.param(
        "scatter_req_token_ids.column_starts.device",
        {"column_starts": T((1,), "int64", device="meta")},
        "kv-canary: column_starts must be on pool_out's device cpu, got meta",
        [],
        id="scatter_req_token_ids.column_starts.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

SHAPES: list[Any] = [
    pytest.param(
        {
            "flat_in": T((1,), "int64"),
            "offsets": T((2,), "int64"),
            "req_pool_indices": T((1,), "int64"),
            "pool_out": T((1, 1), "int32"),
            "column_starts": None,
        },
        1,
        id="smallest",
    ),
    pytest.param(
        {
            "flat_in": T((0,), "int64"),
            "offsets": T((1,), "int64"),
            "req_pool_indices": T((0,), "int64"),
            "pool_out": T((0, 0), "int32"),
            "column_starts": None,
        },
        1,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((3, 3), "int32"),
            "column_starts": None,
        },
        3,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "flat_in": T((17,), "int64"),
            "offsets": T((18,), "int64"),
            "req_pool_indices": T((17,), "int64"),
            "pool_out": T((17, 17), "int32"),
            "column_starts": None,
        },
        17,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "flat_in": T((0,), "int64"),
            "offsets": T((1,), "int64"),
            "req_pool_indices": T((0,), "int64"),
            "pool_out": T((0, 0), "int32"),
            "column_starts": T((0,), "int64"),
        },
        1,
        id="empty_all_optional",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((3, 3), "int32"),
            "column_starts": T((3,), "int64"),
        },
        3,
        id="odd_all_optional",
    ),
    pytest.param(
        {
            "flat_in": T((17,), "int64"),
            "offsets": T((18,), "int64"),
            "req_pool_indices": T((17,), "int64"),
            "pool_out": T((17, 17), "int32"),
            "column_starts": T((17,), "int64"),
        },
        17,
        id="seventeen_all_optional",
    ),
    pytest.param(
        {
            "flat_in": T((5,), "int64"),
            "offsets": T((6,), "int64"),
            "req_pool_indices": T((5,), "int64"),
            "pool_out": T((5, 5), "int32"),
            "column_starts": T((5,), "int64"),
        },
        5,
        id="only_column_starts",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((257,), "int64"),
            "req_pool_indices": T((256,), "int64"),
            "pool_out": T((3, 3), "int32"),
            "column_starts": T((256,), "int64"),
        },
        256,
        id="bs_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((258,), "int64"),
            "req_pool_indices": T((257,), "int64"),
            "pool_out": T((3, 3), "int32"),
            "column_starts": T((257,), "int64"),
        },
        257,
        id="bs_of_TOKEN_BLOCK_and_1",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((3, 256), "int32"),
            "column_starts": T((3,), "int64"),
        },
        3,
        id="pool_columns_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((3, 257), "int32"),
            "column_starts": T((3,), "int64"),
        },
        3,
        id="pool_columns_of_TOKEN_BLOCK_and_1",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((256, 3), "int32"),
            "column_starts": T((3,), "int64"),
        },
        3,
        id="pool_rows_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "flat_in": T((3,), "int64"),
            "offsets": T((4,), "int64"),
            "req_pool_indices": T((3,), "int64"),
            "pool_out": T((257, 3), "int32"),
            "column_starts": T((3,), "int64"),
        },
        3,
        id="pool_rows_of_TOKEN_BLOCK_and_1",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_scatter_req_token_ids(**arguments)
    assert inspect_scatter_req_token_ids(**arguments) == ()
    assert validate_scatter_req_token_ids(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_scatter_req_token_ids(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_scatter_req_token_ids_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("scatter_req_token_ids.")}
    assert implied <= reached


def filled(arguments: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with contents, and the poisoned buffer around each output."""

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    token_count = shape("flat_in", 0)
    pool_rows = shape("pool_out", 0)
    pool_columns = shape("pool_out", 1)
    bounds: dict[str, tuple[int, int]] = {
        "req_pool_indices": (0, pool_rows - 1),
        "column_starts": (0, pool_columns),
    }
    samples: dict[str, Any] = {
        "offsets": lambda i: min(2 * i, token_count),
        "req_pool_indices": lambda i: i,
    }
    values: dict[str, Any] = {}
    buffers: dict[str, Any] = {}
    for path, value in arguments.items():
        if not isinstance(value, T):
            values[path] = value
            continue
        dtype = make(T((), value.dtype)).dtype
        buffers[path], values[path] = guarded(value.shape, dtype, device)
        if path in samples:
            count = values[path].numel()
            made = make(T((count,), value.dtype))
            for i in range(count):
                made[i] = samples[path](i)
            values[path].copy_(made.view(value.shape))
        elif path not in OUTPUTS:
            low, high = bounds.get(path, (None, None))
            values[path].copy_(contents(value.shape, dtype, seed=path, low=low, high=high))
    return values, buffers


def launched(backend: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    if backend == "reference":
        reference = reference_of(REFERENCE)
        reference(**assembled(arguments))
        return
    monkeypatch.setenv("KV_CANARY_BACKEND", "triton")
    launch_scatter_req_token_ids_kernel(**assembled(arguments))


def run_and_compare(
    arguments: dict[str, Any], backend: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, wanted_buffers = filled(arguments, "cpu")
    found, found_buffers = filled(arguments, device)
    before = {path: flat(wanted[path]) for path in wanted_buffers}
    launched("reference", wanted, monkeypatch)
    launched(backend, found, monkeypatch)
    for path in found_buffers:
        assert flat(found_buffers[path]) == flat(wanted_buffers[path]), path
    after = {path: flat(found[path]) for path in found_buffers}
    check_ensured(arguments, before, after)


def check_ensured(
    arguments: dict[str, Any], before: dict[str, list[Any]], after: dict[str, list[Any]]
) -> None:
    """What the spec ensures of the outputs."""
    assert before.keys() == after.keys()


@pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") != "1", reason="needs TRITON_INTERPRET=1 before triton"
)
@pytest.mark.parametrize(("arguments", "programs"), SHAPES)
def test_interpreted_kernel_equals_reference(
    arguments: dict[str, Any], programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if programs > 600:
        pytest.skip(f"{programs} programs take too long one after another; a GPU runs them")
    run_and_compare(arguments, "triton", "cpu", monkeypatch)


@pytest.mark.gpu
@pytest.mark.parametrize(("arguments", "programs"), SHAPES)
def test_gpu_kernel_equals_reference(
    arguments: dict[str, Any], programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = [device for name, device in backend_devices() if name == "gpu"]
    if not devices:
        pytest.skip("no GPU here, or Triton's interpreter is on")
    run_and_compare(arguments, "triton", devices[0], monkeypatch)


TARGETS = (
    ("cuda", 80, 32),
    ("cuda", 90, 32),
    ("cuda", 100, 32),
    ("hip", "gfx942", 64),
    ("hip", "gfx950", 64),
)
EVERY_PRESENCE = [tuple(sign == "+" for sign in presence) for presence in PRESENCES]

COMPILED_IN: list[str] = []
EVERY_VALUE: list[tuple[int, ...]] = [
    (),
]


def is_quick(
    target: tuple[str, Any, int], given: tuple[bool, ...], values: tuple[int, ...]
) -> bool:
    """Whether a compilation is one of the few that every run makes; a soak run makes the others."""
    first = given == EVERY_PRESENCE[0]
    last = given == EVERY_PRESENCE[-1] and values == EVERY_VALUE[-1]
    if target == ("cuda", 90, 32):
        few = len(EVERY_PRESENCE) <= 16 and values == EVERY_VALUE[-1]
        return first or last or few
    return (first and values == EVERY_VALUE[0]) or last


# Every variant for one target; for the others, two.
COMPILATIONS = [
    pytest.param(
        target,
        given,
        values,
        id=f"{target[0]}-{target[1]}-{''.join('-+'[g] for g in given)}{values}",
        marks=() if is_quick(target, given, values) else pytest.mark.soak,
    )
    for target in TARGETS
    for given in EVERY_PRESENCE
    for values in EVERY_VALUE
    if target == ("cuda", 90, 32) or is_quick(target, given, values)
]


@pytest.mark.compiles
@pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") == "1", reason="the interpreter replaces the compiler"
)
@pytest.mark.parametrize(("target", "given", "values"), COMPILATIONS)
def test_kernel_compiles(
    target: tuple[str, Any, int], given: tuple[bool, ...], values: tuple[int, ...]
) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kv_canary_kernels.kernels.scatter_req_token_ids import _scatter_req_token_ids_kernel

    signature = {
        "flat_in_ptr": "*i64",
        "offsets_ptr": "*i64",
        "req_pool_indices_ptr": "*i64",
        "pool_out_ptr": "*i32",
        "column_starts_ptr": "*i64",
        "token_count": "i64",
        "bs": "i64",
        "pool_rows": "i64",
        "pool_columns": "i64",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_scatter_req_token_ids_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
