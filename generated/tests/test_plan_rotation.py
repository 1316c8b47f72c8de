# Generated from spec/kernels/plan_rotation.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_plan_rotation_kernel: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.plan_rotation import PRESENCES, launch_plan_rotation_kernel
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
)
from kv_canary_kernels.validators.plan_rotation import (
    accepts_plan_rotation,
    inspect_plan_rotation,
    validate_plan_rotation,
)

REFERENCE = "kv_canary.reference.plan_rotation:plan_rotation"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = ["bs", "max_reqs", "max_seq_len"]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = ["verify_total"]

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = ["verify_total_ptr"]

VALID: dict[str, Any] = {
    "req_pool_indices": T((1,), "int64"),
    "prefix_lens": T((1,), "int64"),
    "req_to_token": T((1, 1), "int32"),
    "verify_rotation": T((1,), "int64"),
    "verify_total": None,
    "swa_window_size": 0,
    "verify_capacity": 0,
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "plan_rotation.req_pool_indices.required",
        {"req_pool_indices": None},
        "kv-canary: req_pool_indices is required",
        [],
        id="plan_rotation.req_pool_indices.required",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.type",
        {"req_pool_indices": []},
        "kv-canary: req_pool_indices must be a torch.Tensor, got list",
        [],
        id="plan_rotation.req_pool_indices.type",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.required",
        {"prefix_lens": None},
        "kv-canary: prefix_lens is required",
        [],
        id="plan_rotation.prefix_lens.required",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.type",
        {"prefix_lens": []},
        "kv-canary: prefix_lens must be a torch.Tensor, got list",
        [],
        id="plan_rotation.prefix_lens.type",
    ),
    pytest.param(
        "plan_rotation.req_to_token.required",
        {"req_to_token": None},
        "kv-canary: req_to_token is required",
        [],
        id="plan_rotation.req_to_token.required",
    ),
    pytest.param(
        "plan_rotation.req_to_token.type",
        {"req_to_token": []},
        "kv-canary: req_to_token must be a torch.Tensor, got list",
        [],
        id="plan_rotation.req_to_token.type",
    ),
    pytest.param(
        "plan_rotation.swa_window_size.required",
        {"swa_window_size": None},
        "kv-canary: swa_window_size is required",
        [],
        id="plan_rotation.swa_window_size.required",
    ),
    pytest.param(
        "plan_rotation.swa_window_size.type",
        {"swa_window_size": []},
        "kv-canary: swa_window_size must be int, got list",
        [],
        id="plan_rotation.swa_window_size.type",
    ),
    pytest.param(
        "plan_rotation.verify_capacity.required",
        {"verify_capacity": None},
        "kv-canary: verify_capacity is required",
        [],
        id="plan_rotation.verify_capacity.required",
    ),
    pytest.param(
        "plan_rotation.verify_capacity.type",
        {"verify_capacity": []},
        "kv-canary: verify_capacity must be int, got list",
        [],
        id="plan_rotation.verify_capacity.type",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.required",
        {"verify_rotation": None},
        "kv-canary: verify_rotation is required",
        [],
        id="plan_rotation.verify_rotation.required",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.type",
        {"verify_rotation": []},
        "kv-canary: verify_rotation must be a torch.Tensor, got list",
        [],
        id="plan_rotation.verify_rotation.type",
    ),
    pytest.param(
        "plan_rotation.verify_total.type",
        {"verify_total": []},
        "kv-canary: verify_total must be a torch.Tensor, got list",
        [],
        id="plan_rotation.verify_total.type",
    ),
    pytest.param(
        "plan_rotation.bs.type",
        {"bs": "1"},
        "kv-canary: bs must be int, got str",
        [],
        id="plan_rotation.bs.type",
    ),
    pytest.param(
        "plan_rotation.max_reqs.type",
        {"max_reqs": "1"},
        "kv-canary: max_reqs must be int, got str",
        [],
        id="plan_rotation.max_reqs.type",
    ),
    pytest.param(
        "plan_rotation.max_seq_len.type",
        {"max_seq_len": "1"},
        "kv-canary: max_seq_len must be int, got str",
        [],
        id="plan_rotation.max_seq_len.type",
    ),
    pytest.param(
        "plan_rotation.swa_window_size.int64",
        {"swa_window_size": 9223372036854775808},
        "kv-canary: swa_window_size must fit in int64, got 9223372036854775808",
        [],
        id="plan_rotation.swa_window_size.int64",
    ),
    pytest.param(
        "plan_rotation.verify_capacity.int64",
        {"verify_capacity": 9223372036854775808},
        "kv-canary: verify_capacity must fit in int64, got 9223372036854775808",
        [],
        id="plan_rotation.verify_capacity.int64",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.contiguous",
        {"req_pool_indices": T((2,), "int64", strided=True), "prefix_lens": T((2,), "int64")},
        "kv-canary: req_pool_indices must be contiguous",
        [],
        id="plan_rotation.req_pool_indices.contiguous",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.contiguous",
        {"req_pool_indices": T((2,), "int64"), "prefix_lens": T((2,), "int64", strided=True)},
        "kv-canary: prefix_lens must be contiguous",
        [],
        id="plan_rotation.prefix_lens.contiguous",
    ),
    pytest.param(
        "plan_rotation.req_to_token.contiguous",
        {"req_to_token": T((2, 1), "int32", strided=True)},
        "kv-canary: req_to_token must be contiguous",
        [],
        id="plan_rotation.req_to_token.contiguous",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.contiguous",
        {"verify_rotation": T((2,), "int64", strided=True)},
        "kv-canary: verify_rotation must be contiguous",
        ["plan_rotation.verify_rotation.length"],
        id="plan_rotation.verify_rotation.contiguous-also-plan_rotation.verify_rotation.length",
    ),
    pytest.param(
        "plan_rotation.verify_total.contiguous",
        {"verify_total": T((2,), "int64", strided=True)},
        "kv-canary: verify_total must be contiguous",
        ["plan_rotation.verify_total.length"],
        id="plan_rotation.verify_total.contiguous-also-plan_rotation.verify_total.length",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.dtype",
        {"req_pool_indices": T((1,), "int32")},
        "kv-canary: req_pool_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_rotation.req_pool_indices.dtype",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.dtype",
        {"prefix_lens": T((1,), "int32")},
        "kv-canary: prefix_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan_rotation.prefix_lens.dtype",
    ),
    pytest.param(
        "plan_rotation.req_to_token.dtype",
        {"req_to_token": T((1, 1), "int64")},
        "kv-canary: req_to_token must have dtype torch.int32, got torch.int64",
        [],
        id="plan_rotation.req_to_token.dtype",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.dtype",
        {"verify_rotation": T((1,), "int32")},
        "kv-canary: verify_rotation must have dtype torch.int64, got torch.int32",
        [],
        id="plan_rotation.verify_rotation.dtype",
    ),
    pytest.param(
        "plan_rotation.verify_total.dtype",
        {"verify_total": T((1,), "int32")},
        "kv-canary: verify_total must have dtype torch.int64, got torch.int32",
        [],
        id="plan_rotation.verify_total.dtype",
    ),
    pytest.param(
        "plan_rotation.bs_range",
        {"req_pool_indices": T((4097,), "int64"), "prefix_lens": T((4097,), "int64")},
        "kv-canary: rotation kernel bs must be at most 4096, got 4097",
        [],
        id="plan_rotation.bs_range",
    ),
    pytest.param(
        "plan_rotation.verify_capacity_non_negative",
        {"verify_capacity": -1},
        "kv-canary: verify_capacity must be non-negative, got -1",
        [],
        id="plan_rotation.verify_capacity_non_negative",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.rank",
        {"req_pool_indices": T((), "int64")},
        "kv-canary: req_pool_indices must be 1-D, got shape ()",
        [],
        id="plan_rotation.req_pool_indices.rank",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.length",
        {"req_pool_indices": T((0,), "int64"), "bs": 1},
        "kv-canary: req_pool_indices length must be 1, got 0",
        [],
        id="plan_rotation.req_pool_indices.length",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.rank",
        {"prefix_lens": T((), "int64")},
        "kv-canary: prefix_lens must be 1-D, got shape ()",
        [],
        id="plan_rotation.prefix_lens.rank",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.length",
        {"prefix_lens": T((0,), "int64")},
        "kv-canary: prefix_lens length must be 1, got 0",
        [],
        id="plan_rotation.prefix_lens.length",
    ),
    pytest.param(
        "plan_rotation.req_to_token.rank",
        {"req_to_token": T((), "int32")},
        "kv-canary: req_to_token must be 2-D, got shape ()",
        [],
        id="plan_rotation.req_to_token.rank",
    ),
    pytest.param(
        "plan_rotation.req_to_token.row_length",
        {"req_to_token": T((0, 1), "int32"), "max_reqs": 1},
        "kv-canary: req_to_token shape[0] must be 1, got 0",
        [],
        id="plan_rotation.req_to_token.row_length",
    ),
    pytest.param(
        "plan_rotation.req_to_token.position_length",
        {"req_to_token": T((1, 0), "int32"), "max_seq_len": 1},
        "kv-canary: req_to_token shape[1] must be 1, got 0",
        [],
        id="plan_rotation.req_to_token.position_length",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.rank",
        {"verify_rotation": T((), "int64")},
        "kv-canary: verify_rotation must be 1-D, got shape ()",
        [],
        id="plan_rotation.verify_rotation.rank",
    ),
    pytest.param(
        "plan_rotation.verify_rotation.length",
        {"verify_rotation": T((0,), "int64")},
        "kv-canary: verify_rotation length must be 1, got 0",
        [],
        id="plan_rotation.verify_rotation.length",
    ),
    pytest.param(
        "plan_rotation.verify_total.rank",
        {"verify_total": T((), "int64")},
        "kv-canary: verify_total must be 1-D, got shape ()",
        [],
        id="plan_rotation.verify_total.rank",
    ),
    pytest.param(
        "plan_rotation.verify_total.length",
        {"verify_total": T((0,), "int64")},
        "kv-canary: verify_total length must be 1, got 0",
        [],
        id="plan_rotation.verify_total.length",
    ),
    pytest.param(
        "plan_rotation.req_pool_indices.device",
        {"req_pool_indices": T((1,), "int64", device="meta")},
        "kv-canary: req_pool_indices must be on verify_rotation's device cpu, got meta",
        [],
        id="plan_rotation.req_pool_indices.device",
    ),
    pytest.param(
        "plan_rotation.prefix_lens.device",
        {"prefix_lens": T((1,), "int64", device="meta")},
        "kv-canary: prefix_lens must be on verify_rotation's device cpu, got meta",
        [],
        id="plan_rotation.prefix_lens.device",
    ),
    pytest.param(
        "plan_rotation.req_to_token.device",
        {"req_to_token": T((1, 1), "int32", device="meta")},
        "kv-canary: req_to_token must be on verify_rotation's device cpu, got meta",
        [],
        id="plan_rotation.req_to_token.device",
    ),
    pytest.param(
        "plan_rotation.verify_total.device",
        {"verify_total": T((1,), "int64", device="meta")},
        "kv-canary: verify_total must be on verify_rotation's device cpu, got meta",
        [],
        id="plan_rotation.verify_total.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

EXAMPLES: list[Any] = [
    pytest.param(
        "plan_rotation.bs_range",
        {"req_pool_indices": T((4097,), "int64"), "prefix_lens": T((4097,), "int64")},
        {"req_pool_indices": T((4096,), "int64"), "prefix_lens": T((4096,), "int64")},
        id="plan_rotation.bs_range",
    ),
    pytest.param(
        "plan_rotation.verify_capacity_non_negative",
        {"verify_capacity": -1},
        {},
        id="plan_rotation.verify_capacity_non_negative",
    ),
]

SHAPES: list[Any] = [
    pytest.param(
        {
            "req_pool_indices": T((1,), "int64"),
            "prefix_lens": T((1,), "int64"),
            "req_to_token": T((1, 1), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="smallest",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="odd_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="seventeen_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="only_verify_total",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_plan_rotation(**arguments)
    assert inspect_plan_rotation(**arguments) == ()
    assert validate_plan_rotation(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_plan_rotation(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_plan_rotation_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("plan_rotation.")}
    assert implied <= reached


@pytest.mark.parametrize(("rule", "wrong", "right"), EXAMPLES)
def test_example_of_the_spec_breaks_its_rule_and_is_mended(
    rule: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    with pytest.raises(ContractError) as caught:
        validate_plan_rotation(**assembled(changed(VALID, wrong)))
    assert caught.value.broken_rules[0].rule_id == rule
    validate_plan_rotation(**assembled(changed(VALID, right)))


def filled(arguments: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with contents, and the poisoned buffer around each output."""

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    max_reqs = shape("req_to_token", 0)
    max_seq_len = shape("req_to_token", 1)
    bounds: dict[str, tuple[int, int]] = {
        "req_pool_indices": (0, max_reqs - 1),
        "prefix_lens": (0, max_seq_len),
    }
    samples: dict[str, Any] = {}
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
    launch_plan_rotation_kernel(**assembled(arguments))


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

    from kv_canary_kernels.kernels.plan_rotation import _plan_rotation_kernel

    signature = {
        "req_pool_indices_ptr": "*i64",
        "prefix_lens_ptr": "*i64",
        "verify_rotation_ptr": "*i64",
        "verify_total_ptr": "*i64",
        "bs": "i64",
        "max_reqs": "i64",
        "max_seq_len": "i64",
        "swa_window_size": "i64",
        "verify_capacity": "i64",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_plan_rotation_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
