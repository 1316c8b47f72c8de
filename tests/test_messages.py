"""Every refusal of a launcher, a validator, an allocation or a source says what the contract says.

`data/messages.jsonl` has one wrong call a line: `call` is what is called, `change` what is wrong
with an otherwise valid call, `message` the whole text, `also` a builtin error that it is as well,
`broken` every rule that it breaks, where a case is about more than the first. `data/accepted.jsonl`
has calls that some might refuse, written the same way. A change maps an argument, a field of a
struct (`verify_plan_out.enable`, `context.canary_buf`, `context.real_kv_sources[0].page_size`),
`every tensor`, or a name of an environment variable to:

    {"value": 3}                 this JSON value
    {"numpy": [2]}               a NumPy array of this shape
    {"numpy_int": 3}             a NumPy integer
    {"member": "CanaryLaunchTag.HEAD_K_FULL"}
                                 a member of an enum
    {"plan": "WritePlan"}        a plan, where the valid call has something else
    {"sources": 5}               so many of the valid call's sources, the last of them repeated
    {"source": 0}                one of them, where a list should be
    {"generator": 2}             so many of them, one after the other
    {"items": ["source 0", 3]}   a list: the valid call's sources, a tensor, or JSON values
    {"environment": "cuda"}      the variable is set to this; null: not set
    {"shape": [2, 1], "dtype": "int32", "device": "meta", "layout": "strided", "row": 12,
     "offset": 8}                the valid call's tensor, with what is named here changed, or an
                                 int64 tensor where the valid call has none
"""

import math
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

CONTEXT = {
    "context.canary_buf": ("uint8", [5, 48]),
    "context.kernel_kind": 4,
    "context.violation_ring": ("int64", [6, 8]),
    "context.violation_write_index": ("int32", [1]),
    "context.slot_run_counter": ("int64", [1]),
    "context.kernel_run_counter": ("int64", [1]),
    "context.real_kv_sources[0].tensor": ("bfloat16", [3, 40]),
    "context.real_kv_sources[0].page_size": 2,
    "context.real_kv_sources[0].num_bytes_per_token": 32,
    "context.real_kv_sources[0].read_bytes": 16,
    "context.real_kv_sources[1].tensor": ("uint8", [5, 32]),
    "context.real_kv_sources[1].page_size": 1,
    "context.real_kv_sources[1].num_bytes_per_token": 32,
    "context.real_kv_sources[1].read_bytes": 32,
    "context.real_kv_sources[2].tensor": ("float32", [2, 24]),
    "context.real_kv_sources[2].page_size": 3,
    "context.real_kv_sources[2].num_bytes_per_token": 32,
    "context.real_kv_sources[2].read_bytes": 16,
    "context.real_kv_sources[3].tensor": ("int8", [5, 64]),
    "context.real_kv_sources[3].page_size": 1,
    "context.real_kv_sources[3].num_bytes_per_token": 48,
    "context.real_kv_sources[3].read_bytes": 48,
    "context.real_kv_hash_mode": 2,
    "context.enable_chain_position_assert": ("int32", [1]),
    "context.hash_format": "serial",
    "context.evidence_ring": ("int64", [6, 8]),
    "context.workspace": ("int64", [3]),
}

WRITE = CONTEXT | {
    "plan.write_offsets": ("int64", [5]),
    "plan.write_seed_slot_indices": ("int64", [4]),
    "plan.write_num_valid_reqs": ("int32", [1]),
    "input_ids": ("int64", [3]),
    "positions": ("int64", [3]),
    "out_cache_loc": ("int64", [3]),
    "enable_write_input_assert": True,
    "expected_input_tokens": ("int64", [3]),
    "expected_input_positions": ("int64", [3]),
}
VERIFY = CONTEXT | {
    "plan.verify_slot_indices": ("int64", [7]),
    "plan.verify_expected_tokens": ("int64", [7]),
    "plan.verify_expected_positions": ("int64", [7]),
    "plan.verify_prev_slot_indices": ("int64", [7]),
    "plan.verify_num_valid": ("int32", [1]),
    "plan.enable": ("int32", [1]),
    "check_verify_expected_token": True,
    "report_padding_slot": False,
}
SCATTER = {
    "flat_in": ("int64", [9]),
    "offsets": ("int64", [3]),
    "req_pool_indices": ("int64", [2]),
    "pool_out": ("int32", [3, 8]),
    "column_starts": ("int64", [2]),
}
SOURCE = {
    "tensor": ("bfloat16", [3, 40]),
    "page_size": 2,
    "num_bytes_per_token": 32,
    "read_bytes": 16,
}

ROTATION = BATCH | {"req_to_token": ("int32", [3, 8])}
del ROTATION["extend_seq_lens"]
PLAN_ROTATION = ROTATION | {
    "verify_rotation": ("int64", [1]),
    "swa_window_size": 3,
    "verify_capacity": 7,
}
WRITE_SUMS = {
    "canary_buf": ("uint8", [5, 48]),
    "workspace": ("int64", [3]),
    "write_offsets": ("int64", [5]),
    "write_seed_slot_indices": ("int64", [4]),
    "write_num_valid_reqs": ("int32", [1]),
    "input_ids": ("int64", [3]),
    "positions": ("int64", [3]),
    "out_cache_loc": ("int64", [3]),
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
    "launch_plan_rotation_kernel": PLAN_ROTATION,
    "launch_write_sums_kernel": WRITE_SUMS,
    "launch_launch_count_kernel": {"kernel_run_counter": ("int64", [1])},
    "validate_plan": PLAN,
    "validate_plan_rotation": PLAN_ROTATION,
    "validate_plan_offsets": PLAN_OFFSETS,
    "validate_plan_entries": PLAN_ENTRIES,
    "VerifyPlan.allocate": {"verify_capacity": 7},
    "WritePlan.allocate": {"write_req_capacity": 4},
    "VerifyPlan.allocation_bytes": {"capacity": 7},
    "WritePlan.allocation_bytes": {"capacity": 4},
    "launch_canary_write_kernel": WRITE,
    "launch_canary_verify_kernel": VERIFY,
    "launch_scatter_req_token_ids_kernel": SCATTER,
    "validate_write": WRITE,
    "validate_verify": VERIFY,
    "validate_scatter_req_token_ids": SCATTER,
    "RealKvSource": SOURCE,
}
"""The arguments of a valid call: a tensor's dtype and shape, or a scalar."""

OPTIONAL = {
    "full_to_swa_index_mapping",
    "req_to_verify_expected_tokens",
    "req_to_verify_expected_tokens_valid_lens",
    "context.evidence_ring",
    "context.workspace",
    "expected_input_tokens",
    "expected_input_positions",
    "column_starts",
}

PLANS = {"verify_plan_out": "VerifyPlan", "write_plan_out": "WritePlan"}
STRUCTS = {
    "launch_canary_plan_kernels": PLANS,
    "validate_plan": PLANS,
    "launch_canary_write_kernel": {"context": "VerifyOrWriteContext", "plan": "WritePlan"},
    "launch_canary_verify_kernel": {"context": "VerifyOrWriteContext", "plan": "VerifyPlan"},
    "validate_write": {"context": "VerifyOrWriteContext", "plan": "WritePlan"},
    "validate_verify": {"context": "VerifyOrWriteContext", "plan": "VerifyPlan"},
}
"""Arguments that are structs, made of the fields that stand above under their names."""

SOURCES = "context.real_kv_sources"

MODULES = {
    "launch_plan_offsets_kernel": "launchers.plan_offsets",
    "launch_plan_entries_kernel": "launchers.plan_entries",
    "launch_canary_plan_kernels": "launchers.plan",
    "launch_plan_rotation_kernel": "launchers.plan_rotation",
    "launch_write_sums_kernel": "launchers.write_sums",
    "launch_launch_count_kernel": "launchers.launch_count",
    "validate_plan": "validators.plan",
    "validate_plan_rotation": "validators.plan_rotation",
    "validate_plan_offsets": "validators.plan_offsets",
    "validate_plan_entries": "validators.plan_entries",
    "VerifyPlan": "structs",
    "WritePlan": "structs",
    "launch_canary_write_kernel": "launchers.write",
    "launch_canary_verify_kernel": "launchers.verify",
    "launch_scatter_req_token_ids_kernel": "launchers.scatter_req_token_ids",
    "validate_write": "validators.write",
    "validate_verify": "validators.verify",
    "validate_scatter_req_token_ids": "validators.scatter_req_token_ids",
    "RealKvSource": "structs",
}
"""Where in the generated package a call, or the struct whose method it is, lives."""

DEVICE_REFERENCES = {
    "launch_plan_offsets_kernel": "out_verify_offsets_scratch",
    "launch_plan_entries_kernel": "out_verify_slot_indices",
    "launch_canary_plan_kernels": "out_verify_slot_indices",
    "launch_canary_write_kernel": "canary_buf",
    "launch_canary_verify_kernel": "canary_buf",
    "launch_scatter_req_token_ids_kernel": "pool_out",
}
"""The tensor whose device the others must be on."""


def name_in_messages(call, argument):
    """What the messages call an argument, or a struct's field."""
    if call in ("launch_canary_write_kernel", "launch_canary_verify_kernel"):
        return argument.removeprefix("context.")
    if argument == "full_to_swa_index_mapping" and call != "launch_plan_entries_kernel":
        return "lut_tensor"
    if argument == "verify_plan_out.enable":
        return "out_verify_enable"
    plan, _, field = argument.partition(".")
    return f"out_{field}" if field else plan


# Making a call -----------------------------------------------------------------------------------


def make_tensor(dtype, shape, device="cpu", layout="contiguous", row=None, offset=0):
    """A tensor full of the mark.

    `row`: elements from one row to the next, `offset`: elements before the first of them.
    """
    import torch

    dtype = getattr(torch, dtype)
    wide = dtype in (torch.int32, torch.int64, torch.float32, torch.float64)

    def full(shape):
        made = torch.full(
            [offset + math.prod(shape)], MARK if wide else 1, dtype=dtype, device=device
        )
        return made[offset:].view(shape)

    if row is not None:
        return full([*shape[:-1], row])[..., : shape[-1]]
    match layout:
        case "contiguous":
            return full(shape)
        case "strided":  # every other element
            return full([*shape[:-1], 2 * shape[-1]])[..., ::2]
        case "transposed":
            return full(shape[::-1]).T
        case "repeated":  # one element of each row, again and again
            return full([*shape[:-1], 16])[..., :1].expand(shape)
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

        if "numpy_int" in change:
            return numpy.int64(change["numpy_int"])
        dtype = change.get("dtype", valid[0])
        mark = MARK if dtype in ("int32", "int64") else 1
        return numpy.full(change["numpy"], mark, dtype=dtype)
    if "member" in change:
        from kv_canary_kernels import constants

        enum, _, member = change["member"].partition(".")
        return getattr(constants, enum)[member]
    if "plan" in change:
        from kv_canary_kernels import structs

        size = {"VerifyPlan": "verify_capacity", "WritePlan": "write_req_capacity"}[change["plan"]]
        return getattr(structs, change["plan"]).allocate(**{size: 4}, device=device)
    dtype, shape = valid if isinstance(valid, tuple) else ("int64", [])
    known = {"dtype", "shape", "device", "layout", "row", "offset"}
    assert change.keys() <= known, f"no such change: {change}"
    return make_tensor(**({"dtype": dtype, "shape": shape, "device": device} | change))


def take_fields(arguments, prefix):
    """Take the arguments whose names begin so out of the others; what remains of their names."""
    names = [name for name in arguments if name.startswith(prefix)]
    return {name.removeprefix(prefix): arguments.pop(name) for name in names}


def make_sources(arguments, change, device):
    """The list of a context's sources, the valid call's or what a change puts in its place."""
    from kv_canary_kernels.structs import RealKvSource

    sources = []
    while fields := take_fields(arguments, f"{SOURCES}[{len(sources)}]."):
        sources.append(RealKvSource(**fields))
    match change:
        case None:
            return tuple(sources)
        case {"sources": count}:
            return tuple(sources[min(index, len(sources) - 1)] for index in range(count))
        case {"source": place}:
            return sources[place]
        case {"generator": count}:
            return (source for source in sources[:count])
        case {"items": items}:
            named = {f"source {place}": source for place, source in enumerate(sources)}
            named["tensor"] = make_tensor("uint8", [5, 32], device)
            return [named.get(item, item) if isinstance(item, str) else item for item in items]
    return make_value(change, None, device)


def make_call(call, change, device="cpu"):
    """Return a wrong call, ready to be made; the environment is its caller's to set."""
    valid = VALID_CALLS[call]
    arguments = {
        name: make_tensor(*value, device=device) if isinstance(value, tuple) else value
        for name, value in valid.items()
    }
    named = STRUCTS.get(call, {})
    for name, what in change.items():
        if "environment" in what or name in named or name == SOURCES:
            continue
        if name == "every tensor":
            for tensor, value in valid.items():
                if isinstance(value, tuple):
                    arguments[tensor] = make_value(what, value, device)
        else:
            arguments[name] = make_value(what, valid.get(name), device)
    if "context" in named:
        arguments[SOURCES] = make_sources(arguments, change.get(SOURCES), device)
    for name, struct in named.items():
        fields = take_fields(arguments, f"{name}.")
        arguments[name] = (
            make_value(change[name], None, device)
            if name in change
            else getattr(import_module("kv_canary_kernels.structs"), struct)(**fields)
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


def assert_refused(error, message, also=None, broken=None):
    """Check all that a refusal promises."""
    from kv_canary_kernels.contract import ContractError, ContractTypeError

    assert str(error) == message
    assert type(error) is (ContractTypeError if also == "TypeError" else ContractError)
    assert isinstance(error, ContractError)
    assert isinstance(error, ValueError)
    assert isinstance(error, TypeError) == (also == "TypeError")
    assert error.broken_rules[0].message == message
    assert broken is None or [rule.rule_id for rule in error.broken_rules] == broken
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
        error = request.getfixturevalue("error_from_worker")(case)
        assert_refused(error, case["message"], case.get("also"))
        return
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ContractError) as caught:
        make_call(case["call"], case["change"], backend.device)()
    message = case["message"]
    if backend.device == "cuda":  # the messages are written down as the CPU gives them
        message = message.replace("device cpu", "device cuda:0").replace("got cpu", "got cuda:0")
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert_refused(error, message, case.get("also"), case.get("broken"))


@pytest.mark.parametrize("call", VALID_CALLS)
def test_unchanged_call_is_accepted(backend, call):
    """What is refused above is refused for its change alone."""
    make_call(call, {}, backend.device)()


@pytest.mark.cases("accepted")
def test_call_that_some_might_refuse_is_accepted(backend, case):
    make_call(case["call"], case["change"], backend.device)()


def test_refusal_survives_a_worker_process(error_from_worker, cases_by_call):
    """One case of each call, raised in a process of its own and sent back."""
    for cases in cases_by_call.values():
        for case in (*cases[:1], *(case for case in cases if "also" in case)):
            assert_refused(error_from_worker(case), case["message"], case.get("also"))


@pytest.mark.parametrize("call", DEVICE_REFERENCES)
def test_every_tensor_has_a_case_of_every_kind(cases_by_call, call):
    """Type, presence, contiguity, dtype, rank and device, each with nothing else wrong."""
    messages = {
        (name, case["message"].split(" got ")[0])
        for case in cases_by_call[call]
        for name in case["change"]
        if len(case["change"]) == 1
    }
    for name, value in VALID_CALLS[call].items():
        if not isinstance(value, tuple) or name.startswith(SOURCES):
            continue
        said = name_in_messages(call, name)
        dtype, shape = value
        kinds = {
            f"{said} must be a torch.Tensor,",
            f"{said} must be contiguous",
            f"{said} must have dtype torch.{dtype},",
            f"{said} must be {len(shape)}-D,",
        }
        if call == "launch_scatter_req_token_ids_kernel":  # which has words of its own
            kinds = {
                f"{said} must be a torch.Tensor,",
                f"{said} must be contiguous",
                f"scatter_req_token_ids {said} must be {dtype},",
                f"scatter_req_token_ids {said} must be {len(shape)}-D,",
            }
        if name not in OPTIONAL:
            kinds.add(f"{said} is required")
        reference = DEVICE_REFERENCES[call]
        if said != reference:
            kinds.add(f"{said} must be on {reference}'s device cpu,")
        missing = {kind for kind in kinds if (name, f"kv-canary: {kind}") not in messages}
        assert missing == set()


SOURCE_RULES = (
    "rows must be packed (stride(-1) == 1),",
    "(viewed as uint8) must be 2-D,",
    "must start on a 16-byte boundary",
    "rows hold ",
    "covers ",
)
"""In the order in which each source is checked."""


@pytest.mark.parametrize("call", ["launch_canary_write_kernel", "launch_canary_verify_kernel"])
def test_sources_are_refused_for_every_rule_the_first_and_a_later_one(cases_by_call, call):
    messages = [case["message"] for case in cases_by_call[call] if len(case["change"]) == 1]
    for rule in SOURCE_RULES:
        places = {
            place
            for place in range(4)
            for message in messages
            if message.startswith(f"kv-canary: real_kv_sources[{place}].tensor {rule}")
        }
        assert 0 in places, rule
        assert places - {0}, rule


def test_many_calls_have_two_or_more_things_wrong(cases_by_call):
    """Of the launchers that have a context, and of scatter: which is reported is the order."""
    several = [
        case
        for call in DEVICE_REFERENCES
        if "plan" not in call
        for case in cases_by_call[call]
        if len(case["change"]) > 1
    ]
    assert len(several) >= 60


def test_source_is_made_by_place_as_well(backend):
    from kv_canary_kernels.structs import RealKvSource

    tensor = make_tensor("uint8", [2, 64], backend.device)
    source = RealKvSource(tensor, 2, 32, 16)
    assert source.tensor is tensor
    assert (source.page_size, source.num_bytes_per_token, source.read_bytes) == (2, 32, 16)
