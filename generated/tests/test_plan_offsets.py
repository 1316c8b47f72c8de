# Generated from spec/kernels/plan_offsets.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_plan_offsets_kernel: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.plan_offsets import PRESENCES, launch_plan_offsets_kernel
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
    nondecreasing,
    unchanged,
)
from kv_canary_kernels.validators.plan_offsets import (
    accepts_plan_offsets,
    inspect_plan_offsets,
    validate_plan_offsets,
)

REFERENCE = "kv_canary.reference.plan_offsets:plan_offsets"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = [
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "write_offsets_len",
    "write_req_capacity",
    "has_swa_lut",
    "req_to_token_stride0",
]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = [
    "out_verify_offsets_scratch",
    "out_write_offsets",
    "out_write_seed_slot_indices",
    "out_verify_num_valid",
    "out_verify_enable",
    "out_write_num_valid_reqs",
]

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = ["full_to_swa_index_mapping_ptr"]

VALID: dict[str, Any] = {
    "req_pool_indices": T((1,), "int64"),
    "prefix_lens": T((1,), "int64"),
    "extend_seq_lens": T((1,), "int64"),
    "req_to_token": T((1, 1), "int32"),
    "full_to_swa_index_mapping": None,
    "out_verify_offsets_scratch": T((4097,), "int64"),
    "out_write_offsets": T((2,), "int64"),
    "out_write_seed_slot_indices": T((1,), "int64"),
    "out_verify_num_valid": T((1,), "int32"),
    "out_verify_enable": T((1,), "int32"),
    "out_write_num_valid_reqs": T((1,), "int32"),
    "swa_window_size": 0,
    "verify_capacity": 0,
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "plan_offsets.req_pool_indices.required",
        {"req_pool_indices": None},
        "kv-canary: req_pool_indices is required",
        [],
        id="plan_offsets.req_pool_indices.required",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.type",
        {"req_pool_indices": []},
        "kv-canary: req_pool_indices must be a torch.Tensor, got list",
        [],
        id="plan_offsets.req_pool_indices.type",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.required",
        {"prefix_lens": None},
        "kv-canary: prefix_lens is required",
        [],
        id="plan_offsets.prefix_lens.required",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.type",
        {"prefix_lens": []},
        "kv-canary: prefix_lens must be a torch.Tensor, got list",
        [],
        id="plan_offsets.prefix_lens.type",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.required",
        {"extend_seq_lens": None},
        "kv-canary: extend_seq_lens is required",
        [],
        id="plan_offsets.extend_seq_lens.required",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.type",
        {"extend_seq_lens": []},
        "kv-canary: extend_seq_lens must be a torch.Tensor, got list",
        [],
        id="plan_offsets.extend_seq_lens.type",
    ),
    pytest.param(
        "plan_offsets.req_to_token.required",
        {"req_to_token": None},
        "kv-canary: req_to_token is required",
        [],
        id="plan_offsets.req_to_token.required",
    ),
    pytest.param(
        "plan_offsets.req_to_token.type",
        {"req_to_token": []},
        "kv-canary: req_to_token must be a torch.Tensor, got list",
        [],
        id="plan_offsets.req_to_token.type",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.type",
        {"full_to_swa_index_mapping": []},
        "kv-canary: lut_tensor must be a torch.Tensor, got list",
        [],
        id="plan_offsets.full_to_swa_index_mapping.type",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.required",
        {"out_verify_offsets_scratch": None},
        "kv-canary: out_verify_offsets_scratch is required",
        [],
        id="plan_offsets.out_verify_offsets_scratch.required",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.type",
        {"out_verify_offsets_scratch": []},
        "kv-canary: out_verify_offsets_scratch must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_verify_offsets_scratch.type",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.required",
        {"out_write_offsets": None},
        "kv-canary: out_write_offsets is required",
        [],
        id="plan_offsets.out_write_offsets.required",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.type",
        {"out_write_offsets": []},
        "kv-canary: out_write_offsets must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_write_offsets.type",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.required",
        {"out_write_seed_slot_indices": None},
        "kv-canary: out_write_seed_slot_indices is required",
        [],
        id="plan_offsets.out_write_seed_slot_indices.required",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.type",
        {"out_write_seed_slot_indices": []},
        "kv-canary: out_write_seed_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_write_seed_slot_indices.type",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.required",
        {"out_verify_num_valid": None},
        "kv-canary: out_verify_num_valid is required",
        [],
        id="plan_offsets.out_verify_num_valid.required",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.type",
        {"out_verify_num_valid": []},
        "kv-canary: out_verify_num_valid must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_verify_num_valid.type",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.required",
        {"out_verify_enable": None},
        "kv-canary: out_verify_enable is required",
        [],
        id="plan_offsets.out_verify_enable.required",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.type",
        {"out_verify_enable": []},
        "kv-canary: out_verify_enable must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_verify_enable.type",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.required",
        {"out_write_num_valid_reqs": None},
        "kv-canary: out_write_num_valid_reqs is required",
        [],
        id="plan_offsets.out_write_num_valid_reqs.required",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.type",
        {"out_write_num_valid_reqs": []},
        "kv-canary: out_write_num_valid_reqs must be a torch.Tensor, got list",
        [],
        id="plan_offsets.out_write_num_valid_reqs.type",
    ),
    pytest.param(
        "plan_offsets.swa_window_size.required",
        {"swa_window_size": None},
        "kv-canary: swa_window_size is required",
        [],
        id="plan_offsets.swa_window_size.required",
    ),
    pytest.param(
        "plan_offsets.swa_window_size.type",
        {"swa_window_size": []},
        "kv-canary: swa_window_size must be int, got list",
        [],
        id="plan_offsets.swa_window_size.type",
    ),
    pytest.param(
        "plan_offsets.verify_capacity.required",
        {"verify_capacity": None},
        "kv-canary: verify_capacity is required",
        [],
        id="plan_offsets.verify_capacity.required",
    ),
    pytest.param(
        "plan_offsets.verify_capacity.type",
        {"verify_capacity": []},
        "kv-canary: verify_capacity must be int, got list",
        [],
        id="plan_offsets.verify_capacity.type",
    ),
    pytest.param(
        "plan_offsets.bs.type",
        {"bs": "1"},
        "kv-canary: bs must be int, got str",
        [],
        id="plan_offsets.bs.type",
    ),
    pytest.param(
        "plan_offsets.max_reqs.type",
        {"max_reqs": "1"},
        "kv-canary: max_reqs must be int, got str",
        [],
        id="plan_offsets.max_reqs.type",
    ),
    pytest.param(
        "plan_offsets.max_seq_len.type",
        {"max_seq_len": "1"},
        "kv-canary: max_seq_len must be int, got str",
        [],
        id="plan_offsets.max_seq_len.type",
    ),
    pytest.param(
        "plan_offsets.lut_len.type",
        {"lut_len": "1"},
        "kv-canary: lut_len must be int, got str",
        [],
        id="plan_offsets.lut_len.type",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len.type",
        {"write_offsets_len": "1"},
        "kv-canary: write_offsets_len must be int, got str",
        [],
        id="plan_offsets.write_offsets_len.type",
    ),
    pytest.param(
        "plan_offsets.write_req_capacity.type",
        {"write_req_capacity": "1"},
        "kv-canary: write_req_capacity must be int, got str",
        [],
        id="plan_offsets.write_req_capacity.type",
    ),
    pytest.param(
        "plan_offsets.req_to_token_stride0.type",
        {"req_to_token_stride0": "1"},
        "kv-canary: req_to_token_stride0 must be int, got str",
        [],
        id="plan_offsets.req_to_token_stride0.type",
    ),
    pytest.param(
        "plan_offsets.swa_window_size.int64",
        {"swa_window_size": 9223372036854775808},
        "kv-canary: swa_window_size must fit in int64, got 9223372036854775808",
        [],
        id="plan_offsets.swa_window_size.int64",
    ),
    pytest.param(
        "plan_offsets.verify_capacity.int64",
        {"verify_capacity": 9223372036854775808},
        "kv-canary: verify_capacity must fit in int64, got 9223372036854775808",
        [],
        id="plan_offsets.verify_capacity.int64",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.contiguous",
        {
            "req_pool_indices": T((2,), "int64", strided=True),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64"),
            "out_write_offsets": T((3,), "int64"),
            "out_write_seed_slot_indices": T((2,), "int64"),
        },
        "kv-canary: req_pool_indices must be contiguous",
        [],
        id="plan_offsets.req_pool_indices.contiguous",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.contiguous",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64", strided=True),
            "extend_seq_lens": T((2,), "int64"),
            "out_write_offsets": T((3,), "int64"),
            "out_write_seed_slot_indices": T((2,), "int64"),
        },
        "kv-canary: prefix_lens must be contiguous",
        [],
        id="plan_offsets.prefix_lens.contiguous",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.contiguous",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64", strided=True),
            "out_write_offsets": T((3,), "int64"),
            "out_write_seed_slot_indices": T((2,), "int64"),
        },
        "kv-canary: extend_seq_lens must be contiguous",
        [],
        id="plan_offsets.extend_seq_lens.contiguous",
    ),
    pytest.param(
        "plan_offsets.req_to_token.contiguous",
        {"req_to_token": T((2, 1), "int32", strided=True)},
        "kv-canary: req_to_token must be contiguous",
        [],
        id="plan_offsets.req_to_token.contiguous",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.contiguous",
        {"full_to_swa_index_mapping": T((2,), "int64", strided=True)},
        "kv-canary: lut_tensor must be contiguous",
        [],
        id="plan_offsets.full_to_swa_index_mapping.contiguous",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.contiguous",
        {"out_verify_offsets_scratch": T((4097,), "int64", strided=True)},
        "kv-canary: out_verify_offsets_scratch must be contiguous",
        [],
        id="plan_offsets.out_verify_offsets_scratch.contiguous",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.contiguous",
        {"out_write_offsets": T((2,), "int64", strided=True)},
        "kv-canary: out_write_offsets must be contiguous",
        [],
        id="plan_offsets.out_write_offsets.contiguous",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.contiguous",
        {
            "out_write_offsets": T((3,), "int64"),
            "out_write_seed_slot_indices": T((2,), "int64", strided=True),
        },
        "kv-canary: out_write_seed_slot_indices must be contiguous",
        [],
        id="plan_offsets.out_write_seed_slot_indices.contiguous",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.contiguous",
        {"out_verify_num_valid": T((2,), "int32", strided=True)},
        "kv-canary: out_verify_num_valid must be contiguous",
        ["plan_offsets.out_verify_num_valid.length"],
        id="plan_offsets.out_verify_num_valid.contiguous-also-plan_offsets.out_verify_num_valid.length",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.contiguous",
        {"out_verify_enable": T((2,), "int32", strided=True)},
        "kv-canary: out_verify_enable must be contiguous",
        ["plan_offsets.out_verify_enable.length"],
        id="plan_offsets.out_verify_enable.contiguous-also-plan_offsets.out_verify_enable.length",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.contiguous",
        {"out_write_num_valid_reqs": T((2,), "int32", strided=True)},
        "kv-canary: out_write_num_valid_reqs must be contiguous",
        ["plan_offsets.out_write_num_valid_reqs.length"],
        id="plan_offsets.out_write_num_valid_reqs.contiguous-also-plan_offsets.out_write_num_valid_reqs.length",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.dtype",
        {"req_pool_indices": T((1,), "int32")},
        "kv-canary: req_pool_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.req_pool_indices.dtype",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.dtype",
        {"prefix_lens": T((1,), "int32")},
        "kv-canary: prefix_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.prefix_lens.dtype",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.dtype",
        {"extend_seq_lens": T((1,), "int32")},
        "kv-canary: extend_seq_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.extend_seq_lens.dtype",
    ),
    pytest.param(
        "plan_offsets.req_to_token.dtype",
        {"req_to_token": T((1, 1), "int64")},
        "kv-canary: req_to_token must have dtype torch.int32, got torch.int64",
        [],
        id="plan_offsets.req_to_token.dtype",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.dtype",
        {"full_to_swa_index_mapping": T((1,), "int32")},
        "kv-canary: lut_tensor must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.full_to_swa_index_mapping.dtype",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.dtype",
        {"out_verify_offsets_scratch": T((4097,), "int32")},
        "kv-canary: out_verify_offsets_scratch must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.out_verify_offsets_scratch.dtype",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.dtype",
        {"out_write_offsets": T((2,), "int32")},
        "kv-canary: out_write_offsets must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.out_write_offsets.dtype",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.dtype",
        {"out_write_seed_slot_indices": T((1,), "int32")},
        "kv-canary: out_write_seed_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_offsets.out_write_seed_slot_indices.dtype",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.dtype",
        {"out_verify_num_valid": T((1,), "int64")},
        "kv-canary: out_verify_num_valid must have dtype torch.int32, got torch.int64",
        [],
        id="plan_offsets.out_verify_num_valid.dtype",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.dtype",
        {"out_verify_enable": T((1,), "int64")},
        "kv-canary: out_verify_enable must have dtype torch.int32, got torch.int64",
        [],
        id="plan_offsets.out_verify_enable.dtype",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.dtype",
        {"out_write_num_valid_reqs": T((1,), "int64")},
        "kv-canary: out_write_num_valid_reqs must have dtype torch.int32, got torch.int64",
        [],
        id="plan_offsets.out_write_num_valid_reqs.dtype",
    ),
    pytest.param(
        "plan_offsets.bs_range",
        {
            "req_pool_indices": T((4097,), "int64"),
            "prefix_lens": T((4097,), "int64"),
            "extend_seq_lens": T((4097,), "int64"),
            "out_write_offsets": T((4098,), "int64"),
            "out_write_seed_slot_indices": T((4097,), "int64"),
        },
        "kv-canary: offsets kernel bs must be in [0, 4096], got 4097",
        [],
        id="plan_offsets.bs_range",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_positive",
        {"out_write_offsets": T((0,), "int64")},
        "kv-canary: write_offsets_len must be positive, got 0",
        ["plan_offsets.write_offsets_len_is_capacity_plus_one"],
        id="plan_offsets.write_offsets_len_positive-also-plan_offsets.write_offsets_len_is_capacity_plus_one",
    ),
    pytest.param(
        "plan_offsets.write_req_capacity_non_negative",
        {"write_req_capacity": -1},
        "kv-canary: write_req_capacity must be non-negative, got -1",
        [
            "plan_offsets.out_write_seed_slot_indices.length",
            "plan_offsets.write_offsets_len_is_capacity_plus_one",
            "plan_offsets.bs_within_write_req_capacity",
        ],
        id="plan_offsets.write_req_capacity_non_negative-also-plan_offsets.out_write_seed_slot_indices.length-plan_offsets.write_offsets_len_is_capacity_plus_one-plan_offsets.bs_within_write_req_capacity",
    ),
    pytest.param(
        "plan_offsets.verify_capacity_non_negative",
        {"verify_capacity": -1},
        "kv-canary: verify_capacity must be non-negative, got -1",
        [],
        id="plan_offsets.verify_capacity_non_negative",
    ),
    pytest.param(
        "plan_offsets.req_to_token_stride0_positive",
        {"req_to_token_stride0": 0},
        "kv-canary: req_to_token_stride0 must be positive, got 0",
        ["plan_offsets.req_to_token_stride0_matches"],
        id="plan_offsets.req_to_token_stride0_positive-also-plan_offsets.req_to_token_stride0_matches",
    ),
    pytest.param(
        "plan_offsets.lut_len_non_negative",
        {"lut_len": -1},
        "kv-canary: lut_len must be non-negative, got -1",
        ["plan_offsets.lut_len_zero_without_lut"],
        id="plan_offsets.lut_len_non_negative-also-plan_offsets.lut_len_zero_without_lut",
    ),
    pytest.param(
        "plan_offsets.has_swa_lut_is_bool",
        {"has_swa_lut": 1},
        "kv-canary: has_swa_lut must be bool, got int",
        [],
        id="plan_offsets.has_swa_lut_is_bool",
    ),
    pytest.param(
        "plan_offsets.lut_len_positive_with_lut",
        {"full_to_swa_index_mapping": T((0,), "int64")},
        "kv-canary: lut_len must be positive when has_swa_lut is True",
        [],
        id="plan_offsets.lut_len_positive_with_lut",
    ),
    pytest.param(
        "plan_offsets.lut_len_zero_without_lut",
        {"lut_len": 1},
        "kv-canary: lut_len must be 0 when has_swa_lut is False",
        [],
        id="plan_offsets.lut_len_zero_without_lut",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.rank",
        {"req_pool_indices": T((), "int64")},
        "kv-canary: req_pool_indices must be 1-D, got shape ()",
        [],
        id="plan_offsets.req_pool_indices.rank",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.length",
        {"req_pool_indices": T((0,), "int64"), "bs": 1},
        "kv-canary: req_pool_indices length must be 1, got 0",
        [],
        id="plan_offsets.req_pool_indices.length",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.rank",
        {"prefix_lens": T((), "int64")},
        "kv-canary: prefix_lens must be 1-D, got shape ()",
        [],
        id="plan_offsets.prefix_lens.rank",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.length",
        {"prefix_lens": T((0,), "int64")},
        "kv-canary: prefix_lens length must be 1, got 0",
        [],
        id="plan_offsets.prefix_lens.length",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.rank",
        {"extend_seq_lens": T((), "int64")},
        "kv-canary: extend_seq_lens must be 1-D, got shape ()",
        [],
        id="plan_offsets.extend_seq_lens.rank",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.length",
        {"extend_seq_lens": T((0,), "int64")},
        "kv-canary: extend_seq_lens length must be 1, got 0",
        [],
        id="plan_offsets.extend_seq_lens.length",
    ),
    pytest.param(
        "plan_offsets.req_to_token.rank",
        {"req_to_token": T((), "int32")},
        "kv-canary: req_to_token must be 2-D, got shape ()",
        [],
        id="plan_offsets.req_to_token.rank",
    ),
    pytest.param(
        "plan_offsets.req_to_token.row_length",
        {"req_to_token": T((0, 1), "int32"), "max_reqs": 1},
        "kv-canary: req_to_token shape[0] must be 1, got 0",
        [],
        id="plan_offsets.req_to_token.row_length",
    ),
    pytest.param(
        "plan_offsets.req_to_token.position_length",
        {"req_to_token": T((1, 0), "int32"), "max_seq_len": 1},
        "kv-canary: req_to_token shape[1] must be 1, got 0",
        [],
        id="plan_offsets.req_to_token.position_length",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.rank",
        {"full_to_swa_index_mapping": T((), "int64")},
        "kv-canary: lut_tensor must be 1-D, got shape ()",
        [],
        id="plan_offsets.full_to_swa_index_mapping.rank",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.length",
        {"full_to_swa_index_mapping": T((0,), "int64"), "lut_len": 1},
        "kv-canary: lut_tensor length must be 1, got 0",
        [],
        id="plan_offsets.full_to_swa_index_mapping.length",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.rank",
        {"out_verify_offsets_scratch": T((), "int64")},
        "kv-canary: out_verify_offsets_scratch must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_verify_offsets_scratch.rank",
    ),
    pytest.param(
        "plan_offsets.out_verify_offsets_scratch.length",
        {"out_verify_offsets_scratch": T((4096,), "int64")},
        "kv-canary: out_verify_offsets_scratch length must be >= 4097, got 4096",
        [],
        id="plan_offsets.out_verify_offsets_scratch.length",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.rank",
        {"out_write_offsets": T((), "int64")},
        "kv-canary: out_write_offsets must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_write_offsets.rank",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.length",
        {"out_write_offsets": T((1,), "int64"), "write_offsets_len": 2},
        "kv-canary: out_write_offsets length must be 2, got 1",
        [],
        id="plan_offsets.out_write_offsets.length",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.rank",
        {"out_write_seed_slot_indices": T((), "int64")},
        "kv-canary: out_write_seed_slot_indices must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_write_seed_slot_indices.rank",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.length",
        {"out_write_seed_slot_indices": T((0,), "int64"), "write_req_capacity": 1},
        "kv-canary: out_write_seed_slot_indices length must be 1, got 0",
        [],
        id="plan_offsets.out_write_seed_slot_indices.length",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.rank",
        {"out_verify_num_valid": T((), "int32")},
        "kv-canary: out_verify_num_valid must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_verify_num_valid.rank",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.length",
        {"out_verify_num_valid": T((0,), "int32")},
        "kv-canary: out_verify_num_valid length must be 1, got 0",
        [],
        id="plan_offsets.out_verify_num_valid.length",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.rank",
        {"out_verify_enable": T((), "int32")},
        "kv-canary: out_verify_enable must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_verify_enable.rank",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.length",
        {"out_verify_enable": T((0,), "int32")},
        "kv-canary: out_verify_enable length must be 1, got 0",
        [],
        id="plan_offsets.out_verify_enable.length",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.rank",
        {"out_write_num_valid_reqs": T((), "int32")},
        "kv-canary: out_write_num_valid_reqs must be 1-D, got shape ()",
        [],
        id="plan_offsets.out_write_num_valid_reqs.rank",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.length",
        {"out_write_num_valid_reqs": T((0,), "int32")},
        "kv-canary: out_write_num_valid_reqs length must be 1, got 0",
        [],
        id="plan_offsets.out_write_num_valid_reqs.length",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_is_capacity_plus_one",
        {"out_write_offsets": T((1,), "int64")},
        "kv-canary: write_offsets_len must equal write_req_capacity + 1, got 1 and 1",
        [],
        id="plan_offsets.write_offsets_len_is_capacity_plus_one",
    ),
    pytest.param(
        "plan_offsets.bs_within_write_req_capacity",
        {"out_write_offsets": T((1,), "int64"), "out_write_seed_slot_indices": T((0,), "int64")},
        "kv-canary: bs=1 exceeds write_req_capacity=0",
        [],
        id="plan_offsets.bs_within_write_req_capacity",
    ),
    pytest.param(
        "plan_offsets.req_to_token_stride0_matches",
        {"req_to_token_stride0": 2},
        "kv-canary: req_to_token_stride0=2 does not match req_to_token.stride(0)=1",
        [],
        id="plan_offsets.req_to_token_stride0_matches",
    ),
    pytest.param(
        "plan_offsets.req_pool_indices.device",
        {"req_pool_indices": T((1,), "int64", device="meta")},
        "kv-canary: req_pool_indices must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.req_pool_indices.device",
    ),
    pytest.param(
        "plan_offsets.prefix_lens.device",
        {"prefix_lens": T((1,), "int64", device="meta")},
        "kv-canary: prefix_lens must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.prefix_lens.device",
    ),
    pytest.param(
        "plan_offsets.extend_seq_lens.device",
        {"extend_seq_lens": T((1,), "int64", device="meta")},
        "kv-canary: extend_seq_lens must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.extend_seq_lens.device",
    ),
    pytest.param(
        "plan_offsets.req_to_token.device",
        {"req_to_token": T((1, 1), "int32", device="meta")},
        "kv-canary: req_to_token must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.req_to_token.device",
    ),
    pytest.param(
        "plan_offsets.full_to_swa_index_mapping.device",
        {"full_to_swa_index_mapping": T((1,), "int64", device="meta")},
        "kv-canary: lut_tensor must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.full_to_swa_index_mapping.device",
    ),
    pytest.param(
        "plan_offsets.out_write_offsets.device",
        {"out_write_offsets": T((2,), "int64", device="meta")},
        "kv-canary: out_write_offsets must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.out_write_offsets.device",
    ),
    pytest.param(
        "plan_offsets.out_write_seed_slot_indices.device",
        {"out_write_seed_slot_indices": T((1,), "int64", device="meta")},
        "kv-canary: out_write_seed_slot_indices must be on out_verify_offsets_scratch's device "
        "cpu, got meta",
        [],
        id="plan_offsets.out_write_seed_slot_indices.device",
    ),
    pytest.param(
        "plan_offsets.out_verify_num_valid.device",
        {"out_verify_num_valid": T((1,), "int32", device="meta")},
        "kv-canary: out_verify_num_valid must be on out_verify_offsets_scratch's device cpu, got "
        "meta",
        [],
        id="plan_offsets.out_verify_num_valid.device",
    ),
    pytest.param(
        "plan_offsets.out_verify_enable.device",
        {"out_verify_enable": T((1,), "int32", device="meta")},
        "kv-canary: out_verify_enable must be on out_verify_offsets_scratch's device cpu, got meta",
        [],
        id="plan_offsets.out_verify_enable.device",
    ),
    pytest.param(
        "plan_offsets.out_write_num_valid_reqs.device",
        {"out_write_num_valid_reqs": T((1,), "int32", device="meta")},
        "kv-canary: out_write_num_valid_reqs must be on out_verify_offsets_scratch's device cpu, "
        "got meta",
        [],
        id="plan_offsets.out_write_num_valid_reqs.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

EXAMPLES: list[Any] = [
    pytest.param(
        "plan_offsets.bs_range",
        {
            "req_pool_indices": T((4097,), "int64"),
            "prefix_lens": T((4097,), "int64"),
            "extend_seq_lens": T((4097,), "int64"),
            "out_write_offsets": T((4098,), "int64"),
            "out_write_seed_slot_indices": T((4097,), "int64"),
        },
        {
            "req_pool_indices": T((4096,), "int64"),
            "prefix_lens": T((4096,), "int64"),
            "extend_seq_lens": T((4096,), "int64"),
            "out_write_offsets": T((4097,), "int64"),
            "out_write_seed_slot_indices": T((4096,), "int64"),
        },
        id="plan_offsets.bs_range",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_positive",
        {"out_write_offsets": T((0,), "int64")},
        {},
        id="plan_offsets.write_offsets_len_positive",
    ),
    pytest.param(
        "plan_offsets.write_req_capacity_non_negative",
        {"write_req_capacity": -1},
        {},
        id="plan_offsets.write_req_capacity_non_negative",
    ),
    pytest.param(
        "plan_offsets.verify_capacity_non_negative",
        {"verify_capacity": -1},
        {},
        id="plan_offsets.verify_capacity_non_negative",
    ),
    pytest.param(
        "plan_offsets.req_to_token_stride0_positive",
        {"req_to_token_stride0": 0},
        {},
        id="plan_offsets.req_to_token_stride0_positive",
    ),
    pytest.param(
        "plan_offsets.lut_len_non_negative",
        {"lut_len": -1},
        {"lut_len": 0},
        id="plan_offsets.lut_len_non_negative",
    ),
    pytest.param(
        "plan_offsets.has_swa_lut_is_bool",
        {"has_swa_lut": 1},
        {"has_swa_lut": False},
        id="plan_offsets.has_swa_lut_is_bool",
    ),
    pytest.param(
        "plan_offsets.lut_len_positive_with_lut",
        {"full_to_swa_index_mapping": T((0,), "int64")},
        {"full_to_swa_index_mapping": T((1,), "int64")},
        id="plan_offsets.lut_len_positive_with_lut",
    ),
    pytest.param(
        "plan_offsets.lut_len_zero_without_lut",
        {"lut_len": 1},
        {"lut_len": 0},
        id="plan_offsets.lut_len_zero_without_lut",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_is_capacity_plus_one",
        {"out_write_offsets": T((1,), "int64")},
        {},
        id="plan_offsets.write_offsets_len_is_capacity_plus_one",
    ),
    pytest.param(
        "plan_offsets.bs_within_write_req_capacity",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64"),
        },
        {},
        id="plan_offsets.bs_within_write_req_capacity",
    ),
    pytest.param(
        "plan_offsets.req_to_token_stride0_matches",
        {"req_to_token_stride0": 7},
        {},
        id="plan_offsets.req_to_token_stride0_matches",
    ),
]

SHAPES: list[Any] = [
    pytest.param(
        {
            "req_pool_indices": T((1,), "int64"),
            "prefix_lens": T((1,), "int64"),
            "extend_seq_lens": T((1,), "int64"),
            "req_to_token": T((1, 1), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((2,), "int64"),
            "out_write_seed_slot_indices": T((1,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        2,
        id="smallest",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((1,), "int64"),
            "out_write_seed_slot_indices": T((0,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((4,), "int64"),
            "out_write_seed_slot_indices": T((3,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="odd_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((18,), "int64"),
            "out_write_seed_slot_indices": T((17,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        18,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        18,
        id="seventeen_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((1,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((1,), "int64"),
            "out_write_seed_slot_indices": T((0,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((1,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        1,
        id="empty_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((4,), "int64"),
            "out_write_seed_slot_indices": T((3,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="odd_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="odd_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((18,), "int64"),
            "out_write_seed_slot_indices": T((17,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        18,
        id="seventeen_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        18,
        id="seventeen_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": T((5,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        6,
        id="only_full_to_swa_index_mapping",
    ),
    pytest.param(
        {
            "req_pool_indices": T((256,), "int64"),
            "prefix_lens": T((256,), "int64"),
            "extend_seq_lens": T((256,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        257,
        id="bs_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "req_pool_indices": T((257,), "int64"),
            "prefix_lens": T((257,), "int64"),
            "extend_seq_lens": T((257,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((641,), "int64"),
            "out_write_seed_slot_indices": T((640,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        258,
        id="bs_of_TOKEN_BLOCK_and_1",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((257,), "int64"),
            "out_write_seed_slot_indices": T((256,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="write_req_capacity_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "out_verify_offsets_scratch": T((4097,), "int64"),
            "out_write_offsets": T((258,), "int64"),
            "out_write_seed_slot_indices": T((257,), "int64"),
            "out_verify_num_valid": T((1,), "int32"),
            "out_verify_enable": T((1,), "int32"),
            "out_write_num_valid_reqs": T((1,), "int32"),
            "swa_window_size": 0,
            "verify_capacity": 0,
        },
        4,
        id="write_req_capacity_of_TOKEN_BLOCK_and_1",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_plan_offsets(**arguments)
    assert inspect_plan_offsets(**arguments) == ()
    assert validate_plan_offsets(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_plan_offsets(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_plan_offsets_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("plan_offsets.")}
    assert implied <= reached


@pytest.mark.parametrize(("rule", "wrong", "right"), EXAMPLES)
def test_example_of_the_spec_breaks_its_rule_and_is_mended(
    rule: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    with pytest.raises(ContractError) as caught:
        validate_plan_offsets(**assembled(changed(VALID, wrong)))
    assert caught.value.broken_rules[0].rule_id == rule
    validate_plan_offsets(**assembled(changed(VALID, right)))


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
    launch_plan_offsets_kernel(**assembled(arguments))


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

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    bs = shape("req_pool_indices", 0)
    verify_capacity = arguments["verify_capacity"]
    # out_write_num_valid_reqs[0] == bs
    assert after["out_write_num_valid_reqs"][0] == bs
    # out_verify_enable in [0, 1]
    assert all(0 <= value <= 1 for value in after["out_verify_enable"])
    # out_verify_num_valid in [0, verify_capacity]
    assert all(0 <= value <= verify_capacity for value in after["out_verify_num_valid"])
    # out_write_offsets[0] == 0
    assert after["out_write_offsets"][0] == 0
    # nondecreasing(out_verify_offsets_scratch to bs + 1)
    assert nondecreasing(after["out_verify_offsets_scratch"][: bs + 1])
    # nondecreasing(out_write_offsets to bs + 1)
    assert nondecreasing(after["out_write_offsets"][: bs + 1])
    # unchanged(out_write_seed_slot_indices beyond bs)
    assert unchanged(before, after, "out_write_seed_slot_indices", bs)
    # unchanged(out_verify_offsets_scratch beyond bs + 1)
    assert unchanged(before, after, "out_verify_offsets_scratch", bs + 1)


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

    from kv_canary_kernels.kernels.plan_offsets import _plan_offsets_kernel

    signature = {
        "req_pool_indices_ptr": "*i64",
        "prefix_lens_ptr": "*i64",
        "extend_seq_lens_ptr": "*i64",
        "req_to_token_ptr": "*i32",
        "out_verify_offsets_scratch_ptr": "*i64",
        "out_write_offsets_ptr": "*i64",
        "out_write_seed_slot_indices_ptr": "*i64",
        "out_verify_num_valid_ptr": "*i32",
        "out_verify_enable_ptr": "*i32",
        "out_write_num_valid_reqs_ptr": "*i32",
        "full_to_swa_index_mapping_ptr": "*i64",
        "bs": "i64",
        "max_reqs": "i64",
        "max_seq_len": "i64",
        "lut_len": "i64",
        "write_offsets_len": "i64",
        "write_req_capacity": "i64",
        "swa_window_size": "i64",
        "verify_capacity": "i64",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_plan_offsets_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
