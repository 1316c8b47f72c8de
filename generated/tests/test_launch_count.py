# Generated from spec/kernels/launch_count.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_launch_count_kernel: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.launch_count import launch_launch_count_kernel
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
)
from kv_canary_kernels.validators.launch_count import (
    accepts_launch_count,
    inspect_launch_count,
    validate_launch_count,
)

REFERENCE = "kv_canary.reference.launch_count:launch_count"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = []

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = []

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = []

VALID: dict[str, Any] = {
    "kernel_run_counter": T((1,), "int64"),
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "launch_count.kernel_run_counter.required",
        {"kernel_run_counter": None},
        "kv-canary: kernel_run_counter is required",
        [],
        id="launch_count.kernel_run_counter.required",
    ),
    pytest.param(
        "launch_count.kernel_run_counter.type",
        {"kernel_run_counter": []},
        "kv-canary: kernel_run_counter must be a torch.Tensor, got list",
        [],
        id="launch_count.kernel_run_counter.type",
    ),
    pytest.param(
        "launch_count.kernel_run_counter.contiguous",
        {"kernel_run_counter": T((2,), "int64", strided=True)},
        "kv-canary: kernel_run_counter must be contiguous",
        ["launch_count.kernel_run_counter.length"],
        id="launch_count.kernel_run_counter.contiguous-also-launch_count.kernel_run_counter.length",
    ),
    pytest.param(
        "launch_count.kernel_run_counter.dtype",
        {"kernel_run_counter": T((1,), "int32")},
        "kv-canary: kernel_run_counter must have dtype torch.int64, got torch.int32",
        [],
        id="launch_count.kernel_run_counter.dtype",
    ),
    pytest.param(
        "launch_count.kernel_run_counter.rank",
        {"kernel_run_counter": T((), "int64")},
        "kv-canary: kernel_run_counter must be 1-D, got shape ()",
        [],
        id="launch_count.kernel_run_counter.rank",
    ),
    pytest.param(
        "launch_count.kernel_run_counter.length",
        {"kernel_run_counter": T((0,), "int64")},
        "kv-canary: kernel_run_counter length must be 1, got 0",
        [],
        id="launch_count.kernel_run_counter.length",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

SHAPES: list[Any] = [
    pytest.param(
        {
            "kernel_run_counter": T((1,), "int64"),
        },
        1,
        id="smallest",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_launch_count(**arguments)
    assert inspect_launch_count(**arguments) == ()
    assert validate_launch_count(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_launch_count(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_launch_count_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("launch_count.")}
    assert implied <= reached


def filled(arguments: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with contents, and the poisoned buffer around each output."""

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    bounds: dict[str, tuple[int, int]] = {}
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
    launch_launch_count_kernel(**assembled(arguments))


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
EVERY_PRESENCE: list[tuple[bool, ...]] = [()]

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

    from kv_canary_kernels.kernels.launch_count import _launch_count_kernel

    signature = {
        "kernel_run_counter_ptr": "*i64",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_launch_count_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
