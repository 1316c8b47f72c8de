"""Every refusal of a plan's launcher, validator or allocation says exactly what the contract says.

`data/messages.jsonl` has one wrong call a line: `call` is what is called, `change` what is wrong
with an otherwise valid call, `message` the whole text.  A change maps an argument, a field of a
plan (`verify_plan_out.enable`), `every tensor`, or a name of an environment variable to one of:

    {"value": 3}                 this JSON value
    {"numpy": [2]}               a NumPy array of this shape
    {"numpy_int": 3}             a NumPy integer
    {"plan": "WritePlan"}        the valid call's other plan
    {"environment": "cuda"}      the variable is set to this; null: not set
    {"shape": [2, 1], "dtype": "int32", "device": "meta", "layout": "strided"}
                                 the valid call's tensor, with what is named here changed
"""

import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module

import pytest

MARK = 987_654_321
"""What every tensor of a call is filled with, if its dtype can hold it; no message may show it."""

BATCH = {
    "req_pool_indices": ("int64", [2]),
    "prefix_lens": ("int64", [2]),
    "extend_seq_lens": ("int64", [2]),
}
TABLES = {
    "req_to_token": ("int32", [3, 8]),
    "full_to_swa_index_mapping": ("int64", [11]),
}
EXPECTED_TOKENS = {
    "req_to_verify_expected_tokens": ("int32", [3, 9]),
    "req_to_verify_expected_tokens_valid_lens": ("int64", [2]),
}
VERIFY_PLAN = {
    "verify_plan_out.verify_slot_indices": ("int64", [7]),
    "verify_plan_out.verify_expected_tokens": ("int64", [7]),
    "verify_plan_out.verify_expected_positions": ("int64", [7]),
    "verify_plan_out.verify_prev_slot_indices": ("int64", [7]),
    "verify_plan_out.verify_num_valid": ("int32", [1]),
    "verify_plan_out.enable": ("int32", [1]),
}
WRITE_PLAN = {
    "write_plan_out.write_offsets": ("int64", [5]),
    "write_plan_out.write_seed_slot_indices": ("int64", [4]),
    "write_plan_out.write_num_valid_reqs": ("int32", [1]),
}
OFFSETS_OUTPUTS = {
    "out_verify_offsets_scratch": ("int64", [4097]),
    "out_write_offsets": ("int64", [5]),
    "out_write_seed_slot_indices": ("int64", [4]),
    "out_verify_num_valid": ("int32", [1]),
    "out_verify_enable": ("int32", [1]),
    "out_write_num_valid_reqs": ("int32", [1]),
}
SCRATCH = {
    "verify_offsets_scratch": ("int64", [3]),
    "verify_enable": ("int32", [1]),
}
ENTRIES_OUTPUTS = {
    "out_verify_slot_indices": ("int64", [7]),
    "out_verify_expected_tokens": ("int64", [7]),
    "out_verify_expected_positions": ("int64", [7]),
    "out_verify_prev_slot_indices": ("int64", [7]),
}

PLAN_OFFSETS = BATCH | TABLES | OFFSETS_OUTPUTS | {"swa_window_size": 3, "verify_capacity": 7}
PLAN_ENTRIES = (
    {name: BATCH[name] for name in ("req_pool_indices", "prefix_lens")}
    | TABLES
    | SCRATCH
    | EXPECTED_TOKENS
    | ENTRIES_OUTPUTS
    | {"kv_token_id_vs_position_offset": 0, "swa_window_size": 3}
)
PLAN = (
    VERIFY_PLAN
    | WRITE_PLAN
    | BATCH
    | TABLES
    | EXPECTED_TOKENS
    | {"swa_window_size": 3, "verify_capacity": 7, "kv_token_id_vs_position_offset": 0}
)
VALID_CALLS = {
    "launch_plan_offsets_kernel": PLAN_OFFSETS,
    "launch_plan_entries_kernel": PLAN_ENTRIES,
    "launch_canary_plan_kernels": PLAN,
    "validate_plan_offsets": PLAN_OFFSETS,
    "validate_plan_entries": PLAN_ENTRIES,
    "VerifyPlan.allocate": {"verify_capacity": 7},
    "WritePlan.allocate": {"write_req_capacity": 4},
    "VerifyPlan.allocation_bytes": {"capacity": 7},
    "WritePlan.allocation_bytes": {"capacity": 4},
}
"""The arguments of a valid call: a tensor's dtype and shape, or a scalar."""

OPTIONAL = {
    "full_to_swa_index_mapping",
    "req_to_verify_expected_tokens",
    "req_to_verify_expected_tokens_valid_lens",
}

MODULES = {
    "launch_plan_offsets_kernel": "launchers.plan_offsets",
    "launch_plan_entries_kernel": "launchers.plan_entries",
    "launch_canary_plan_kernels": "launchers.plan",
    "validate_plan_offsets": "validators.plan_offsets",
    "validate_plan_entries": "validators.plan_entries",
    "VerifyPlan": "structs",
    "WritePlan": "structs",
}
"""Where in the generated package a call, or the struct whose method it is, lives."""

DEVICE_REFERENCES = {
    "launch_plan_offsets_kernel": "out_verify_offsets_scratch",
    "launch_plan_entries_kernel": "out_verify_slot_indices",
    "launch_canary_plan_kernels": "out_verify_slot_indices",
}
"""The tensor whose device the others must be on."""


def name_in_messages(call, argument):
    """What the messages call an argument, or a plan's field."""
    if argument == "full_to_swa_index_mapping" and call != "launch_plan_entries_kernel":
        return "lut_tensor"
    if argument == "verify_plan_out.enable":
        return "out_verify_enable"
    plan, _, field = argument.partition(".")
    return f"out_{field}" if field else plan


# Making a call -----------------------------------------------------------------------------------


def make_tensor(dtype, shape, device="cpu", layout="contiguous"):
    """A tensor full of the mark."""
    import torch

    dtype = getattr(torch, dtype)
    wide = dtype in (torch.int32, torch.int64, torch.float32, torch.float64)
    full = partial(torch.full, fill_value=MARK if wide else 1, dtype=dtype, device=device)
    match layout:
        case "contiguous":
            return full(shape)
        case "strided":  # every other element
            return full([*shape[:-1], 2 * shape[-1]])[..., ::2]
        case "transposed":
            return full(shape[::-1]).T
        case "stride0":  # a first dimension of one element, whose stride nothing needs
            return full(shape).as_strided(shape, [0, *full(shape).stride()[1:]])
    raise ValueError(f"no such layout: {layout}")


def make_value(change, valid, device):
    """What a change puts in the place of a valid argument."""
    if "value" in change:
        assert change.keys() == {"value"}
        return change["value"]
    if "numpy" in change or "numpy_int" in change:
        import numpy

        assert len(change) == 1
        if "numpy_int" in change:
            return numpy.int64(change["numpy_int"])
        return numpy.full(change["numpy"], MARK, dtype=valid[0])
    dtype, shape = valid if isinstance(valid, tuple) else ("int64", [])
    assert change.keys() <= {"dtype", "shape", "device", "layout"}, f"no such change: {change}"
    return make_tensor(**({"dtype": dtype, "shape": shape, "device": device} | change))


def make_plan(name, arguments):
    """Take a plan's fields out of the arguments, and put them into the plan."""
    from kv_canary_kernels import structs

    prefix = {"VerifyPlan": "verify_plan_out.", "WritePlan": "write_plan_out."}[name]
    fields = [argument for argument in arguments if argument.startswith(prefix)]
    return getattr(structs, name)(
        **{field.removeprefix(prefix): arguments.pop(field) for field in fields}
    )


def make_call(call, change, device="cpu"):
    """Return a wrong call, ready to be made; the environment is its caller's to set."""
    valid = VALID_CALLS[call]
    arguments = {
        name: make_tensor(*value, device=device) if isinstance(value, tuple) else value
        for name, value in valid.items()
    }
    changed_plans = {}
    for name, what in change.items():
        if "environment" in what:
            continue
        if name == "every tensor":
            for tensor, value in valid.items():
                if isinstance(value, tuple):
                    arguments[tensor] = make_value(what, value, device)
        elif name in ("verify_plan_out", "write_plan_out"):
            changed_plans[name] = what
        else:
            arguments[name] = make_value(what, valid.get(name), device)
    if call == "launch_canary_plan_kernels":
        plans = {name: make_plan(name, arguments) for name in ("VerifyPlan", "WritePlan")}
        arguments["verify_plan_out"] = plans["VerifyPlan"]
        arguments["write_plan_out"] = plans["WritePlan"]
        for name, what in changed_plans.items():
            arguments[name] = (
                plans[what["plan"]] if "plan" in what else make_value(what, None, device)
            )
    return bind(call, arguments, device)


def bind(call, arguments, device):
    """Return what a case's `call` names, with its arguments."""
    name, _, method = call.partition(".")
    function = getattr(import_module(f"kv_canary_kernels.{MODULES[name]}"), name)
    if method == "allocate":
        return partial(function.allocate, **arguments, device=device)
    if method == "allocation_bytes":
        return partial(function.allocation_bytes, arguments["capacity"])
    return partial(function, **arguments)


def environment_of(change):
    """The environment variables that a change sets, or (None) leaves unset."""
    return {name: what["environment"] for name, what in change.items() if "environment" in what}


# A worker process --------------------------------------------------------------------------------

IN_WORKER = """
import importlib.util
spec = importlib.util.spec_from_file_location("test_messages", path)
test_messages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test_messages)
test_messages.make_call_in_worker(case)
"""
"""No package holds this file, so that a worker loads it by its path."""


def make_call_in_worker(case):
    for name, value in environment_of(case["change"]).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    make_call(case["call"], case["change"])()


@pytest.fixture(scope="session")
def error_from_worker():
    """A function that makes a case's call in another process, and returns the error it raises."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        yield lambda case: pool.submit(
            exec, IN_WORKER, {"path": __file__, "case": case}
        ).exception()


# Tests -------------------------------------------------------------------------------------------


def assert_refused(error, message):
    """Check all that a refusal promises."""
    from kv_canary_kernels.contract import ContractError

    assert str(error) == message
    assert type(error) is ContractError
    assert isinstance(error, ValueError)
    assert error.broken_rules[0].message == message
    said = "\n".join([repr(error), repr(error.broken_rules), *getattr(error, "__notes__", [])])
    marked = str(MARK)[:6]  # float32 rounds the rest
    assert marked not in said, "the contents of a tensor are shown"


@pytest.fixture(scope="session")
def cases_by_call(read_cases):
    """The cases of each call, in the file's order."""
    cases = read_cases("messages")
    return {call: [case for case in cases if case["call"] == call] for call in VALID_CALLS}


@pytest.mark.cases("messages")
def test_wrong_call_is_refused_with_this_message(backend, monkeypatch, request, case):
    from kv_canary_kernels.contract import ContractError

    environment = environment_of(case["change"])
    if "TRITON_INTERPRET" in environment:
        # Triton reads it once, when it is imported: only a new process can be without it.
        assert_refused(request.getfixturevalue("error_from_worker")(case), case["message"])
        return
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ContractError) as caught:
        make_call(case["call"], case["change"], backend.device)()
    message = case["message"]
    if backend.device == "cuda":  # the messages are written down as the CPU gives them
        message = message.replace("device cpu", "device cuda:0").replace("got cpu", "got cuda:0")
    assert_refused(caught.value, message)
    assert_refused(pickle.loads(pickle.dumps(caught.value)), message)


@pytest.mark.parametrize("call", VALID_CALLS)
def test_unchanged_call_is_accepted(backend, call):
    """What is refused above is refused for its change alone."""
    make_call(call, {}, backend.device)()


@pytest.mark.parametrize("call", ["launch_plan_offsets_kernel", "launch_plan_entries_kernel"])
def test_call_without_its_optional_tensors_is_accepted(backend, call):
    change = {name: {"value": None} for name in OPTIONAL & VALID_CALLS[call].keys()}
    make_call(call, change, backend.device)()


def test_plan_without_its_optional_tensors_is_accepted(backend):
    change = {name: {"value": None} for name in OPTIONAL} | {"swa_window_size": {"value": 0}}
    make_call("launch_canary_plan_kernels", change, backend.device)()


def test_refusal_survives_a_worker_process(error_from_worker, cases_by_call):
    """One case of each call, raised in a process of its own and sent back."""
    for cases in cases_by_call.values():
        assert_refused(error_from_worker(cases[0]), cases[0]["message"])


@pytest.mark.parametrize(
    "call",
    ["launch_plan_offsets_kernel", "launch_plan_entries_kernel", "launch_canary_plan_kernels"],
)
def test_every_tensor_has_a_case_of_every_kind(cases_by_call, call):
    """Type, presence, contiguity, dtype, rank and device, each with nothing else wrong."""
    messages = {
        (name, case["message"].split(" got ")[0])
        for case in cases_by_call[call]
        for name in case["change"]
        if len(case["change"]) == 1
    }
    for name, value in VALID_CALLS[call].items():
        if not isinstance(value, tuple):
            continue
        said = name_in_messages(call, name)
        dtype, shape = value
        kinds = {
            f"{said} must be a torch.Tensor,",
            f"{said} must be contiguous",
            f"{said} must have dtype torch.{dtype},",
            f"{said} must be {len(shape)}-D,",
        }
        if name not in OPTIONAL:
            kinds.add(f"{said} is required")
        reference = DEVICE_REFERENCES[call]
        if said != reference:
            kinds.add(f"{said} must be on {reference}'s device cpu,")
        missing = {kind for kind in kinds if (name, f"kv-canary: {kind}") not in messages}
        assert missing == set()
