# Generated from spec/kernels/plan.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_canary_plan_kernels: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.plan import PRESENCES, launch_canary_plan_kernels
from kv_canary_kernels.structs import VerifyPlan, WritePlan
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
from kv_canary_kernels.validators.plan import (
    accepts_plan,
    inspect_plan,
    validate_plan,
)

REFERENCE = "kv_canary.reference.plan:plan"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = [
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "token_rows",
    "token_columns",
    "write_offsets_len",
    "write_req_capacity",
    "has_swa_lut",
    "req_to_token_stride0",
]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = [
    "verify_plan_out.verify_slot_indices",
    "verify_plan_out.verify_expected_tokens",
    "verify_plan_out.verify_expected_positions",
    "verify_plan_out.verify_prev_slot_indices",
    "verify_plan_out.verify_num_valid",
    "verify_plan_out.enable",
    "write_plan_out.write_offsets",
    "write_plan_out.write_seed_slot_indices",
    "write_plan_out.write_num_valid_reqs",
    "verify_total",
]

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = [
    "full_to_swa_index_mapping_ptr",
    "req_to_verify_expected_tokens_ptr",
    "req_to_verify_expected_tokens_valid_lens_ptr",
    "verify_rotation_ptr",
]

VALID: dict[str, Any] = {
    "verify_plan_out.verify_slot_indices": T((1,), "int64"),
    "verify_plan_out.verify_expected_tokens": T((1,), "int64"),
    "verify_plan_out.verify_expected_positions": T((1,), "int64"),
    "verify_plan_out.verify_prev_slot_indices": T((1,), "int64"),
    "verify_plan_out.verify_num_valid": T((1,), "int32"),
    "verify_plan_out.enable": T((1,), "int32"),
    "write_plan_out.write_offsets": T((2,), "int64"),
    "write_plan_out.write_seed_slot_indices": T((1,), "int64"),
    "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
    "req_pool_indices": T((1,), "int64"),
    "prefix_lens": T((1,), "int64"),
    "extend_seq_lens": T((1,), "int64"),
    "req_to_token": T((1, 1), "int32"),
    "full_to_swa_index_mapping": None,
    "req_to_verify_expected_tokens": None,
    "req_to_verify_expected_tokens_valid_lens": None,
    "verify_rotation": None,
    "verify_total": None,
    "swa_window_size": 0,
    "verify_capacity": 1,
    "kv_token_id_vs_position_offset": 0,
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "plan.verify_plan_out.required",
        {"verify_plan_out": None},
        "kv-canary: verify_plan_out is required",
        [],
        id="plan.verify_plan_out.required",
    ),
    pytest.param(
        "plan.verify_plan_out.type",
        {"verify_plan_out": []},
        "kv-canary: verify_plan_out must be a VerifyPlan, got list",
        [],
        id="plan.verify_plan_out.type",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_slot_indices.required",
        {"verify_plan_out.verify_slot_indices": None},
        "kv-canary: out_verify_slot_indices is required",
        [],
        id="plan.verify_plan_out.verify_slot_indices.required",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_slot_indices.type",
        {"verify_plan_out.verify_slot_indices": []},
        "kv-canary: out_verify_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.verify_slot_indices.type",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.required",
        {"verify_plan_out.verify_expected_tokens": None},
        "kv-canary: out_verify_expected_tokens is required",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.required",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.type",
        {"verify_plan_out.verify_expected_tokens": []},
        "kv-canary: out_verify_expected_tokens must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.type",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.required",
        {"verify_plan_out.verify_expected_positions": None},
        "kv-canary: out_verify_expected_positions is required",
        [],
        id="plan.verify_plan_out.verify_expected_positions.required",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.type",
        {"verify_plan_out.verify_expected_positions": []},
        "kv-canary: out_verify_expected_positions must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.verify_expected_positions.type",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.required",
        {"verify_plan_out.verify_prev_slot_indices": None},
        "kv-canary: out_verify_prev_slot_indices is required",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.required",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.type",
        {"verify_plan_out.verify_prev_slot_indices": []},
        "kv-canary: out_verify_prev_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.type",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.required",
        {"verify_plan_out.verify_num_valid": None},
        "kv-canary: out_verify_num_valid is required",
        [],
        id="plan.verify_plan_out.verify_num_valid.required",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.type",
        {"verify_plan_out.verify_num_valid": []},
        "kv-canary: out_verify_num_valid must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.verify_num_valid.type",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.required",
        {"verify_plan_out.enable": None},
        "kv-canary: out_verify_enable is required",
        [],
        id="plan.verify_plan_out.enable.required",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.type",
        {"verify_plan_out.enable": []},
        "kv-canary: out_verify_enable must be a torch.Tensor, got list",
        [],
        id="plan.verify_plan_out.enable.type",
    ),
    pytest.param(
        "plan.write_plan_out.required",
        {"write_plan_out": None},
        "kv-canary: write_plan_out is required",
        [],
        id="plan.write_plan_out.required",
    ),
    pytest.param(
        "plan.write_plan_out.type",
        {"write_plan_out": []},
        "kv-canary: write_plan_out must be a WritePlan, got list",
        [],
        id="plan.write_plan_out.type",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.required",
        {"write_plan_out.write_offsets": None},
        "kv-canary: out_write_offsets is required",
        [],
        id="plan.write_plan_out.write_offsets.required",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.type",
        {"write_plan_out.write_offsets": []},
        "kv-canary: out_write_offsets must be a torch.Tensor, got list",
        [],
        id="plan.write_plan_out.write_offsets.type",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.required",
        {"write_plan_out.write_seed_slot_indices": None},
        "kv-canary: out_write_seed_slot_indices is required",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.required",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.type",
        {"write_plan_out.write_seed_slot_indices": []},
        "kv-canary: out_write_seed_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.type",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.required",
        {"write_plan_out.write_num_valid_reqs": None},
        "kv-canary: out_write_num_valid_reqs is required",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.required",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.type",
        {"write_plan_out.write_num_valid_reqs": []},
        "kv-canary: out_write_num_valid_reqs must be a torch.Tensor, got list",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.type",
    ),
    pytest.param(
        "plan.req_pool_indices.required",
        {"req_pool_indices": None},
        "kv-canary: req_pool_indices is required",
        [],
        id="plan.req_pool_indices.required",
    ),
    pytest.param(
        "plan.req_pool_indices.type",
        {"req_pool_indices": []},
        "kv-canary: req_pool_indices must be a torch.Tensor, got list",
        [],
        id="plan.req_pool_indices.type",
    ),
    pytest.param(
        "plan.prefix_lens.required",
        {"prefix_lens": None},
        "kv-canary: prefix_lens is required",
        [],
        id="plan.prefix_lens.required",
    ),
    pytest.param(
        "plan.prefix_lens.type",
        {"prefix_lens": []},
        "kv-canary: prefix_lens must be a torch.Tensor, got list",
        [],
        id="plan.prefix_lens.type",
    ),
    pytest.param(
        "plan.extend_seq_lens.required",
        {"extend_seq_lens": None},
        "kv-canary: extend_seq_lens is required",
        [],
        id="plan.extend_seq_lens.required",
    ),
    pytest.param(
        "plan.extend_seq_lens.type",
        {"extend_seq_lens": []},
        "kv-canary: extend_seq_lens must be a torch.Tensor, got list",
        [],
        id="plan.extend_seq_lens.type",
    ),
    pytest.param(
        "plan.req_to_token.required",
        {"req_to_token": None},
        "kv-canary: req_to_token is required",
        [],
        id="plan.req_to_token.required",
    ),
    pytest.param(
        "plan.req_to_token.type",
        {"req_to_token": []},
        "kv-canary: req_to_token must be a torch.Tensor, got list",
        [],
        id="plan.req_to_token.type",
    ),
    pytest.param(
        "plan.swa_window_size.required",
        {"swa_window_size": None},
        "kv-canary: swa_window_size is required",
        [],
        id="plan.swa_window_size.required",
    ),
    pytest.param(
        "plan.swa_window_size.type",
        {"swa_window_size": []},
        "kv-canary: swa_window_size must be int, got list",
        [],
        id="plan.swa_window_size.type",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.type",
        {"full_to_swa_index_mapping": []},
        "kv-canary: lut_tensor must be a torch.Tensor, got list",
        [],
        id="plan.full_to_swa_index_mapping.type",
    ),
    pytest.param(
        "plan.verify_capacity.required",
        {"verify_capacity": None},
        "kv-canary: verify_capacity is required",
        [],
        id="plan.verify_capacity.required",
    ),
    pytest.param(
        "plan.verify_capacity.type",
        {"verify_capacity": []},
        "kv-canary: verify_capacity must be int, got list",
        [],
        id="plan.verify_capacity.type",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.type",
        {
            "req_to_verify_expected_tokens": [],
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be a torch.Tensor, got list",
        [],
        id="plan.req_to_verify_expected_tokens.type",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.type",
        {"req_to_verify_expected_tokens_valid_lens": []},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be a torch.Tensor, got list",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.type",
    ),
    pytest.param(
        "plan.kv_token_id_vs_position_offset.required",
        {"kv_token_id_vs_position_offset": None},
        "kv-canary: kv_token_id_vs_position_offset is required",
        [],
        id="plan.kv_token_id_vs_position_offset.required",
    ),
    pytest.param(
        "plan.kv_token_id_vs_position_offset.type",
        {"kv_token_id_vs_position_offset": []},
        "kv-canary: kv_token_id_vs_position_offset must be int, got list",
        [],
        id="plan.kv_token_id_vs_position_offset.type",
    ),
    pytest.param(
        "plan.verify_rotation.type",
        {"verify_rotation": []},
        "kv-canary: verify_rotation must be a torch.Tensor, got list",
        [],
        id="plan.verify_rotation.type",
    ),
    pytest.param(
        "plan.verify_total.type",
        {"verify_rotation": T((1,), "int64"), "verify_total": []},
        "kv-canary: verify_total must be a torch.Tensor, got list",
        [],
        id="plan.verify_total.type",
    ),
    pytest.param(
        "plan.bs.type",
        {"bs": "1"},
        "kv-canary: bs must be int, got str",
        [],
        id="plan.bs.type",
    ),
    pytest.param(
        "plan.max_reqs.type",
        {"max_reqs": "1"},
        "kv-canary: max_reqs must be int, got str",
        [],
        id="plan.max_reqs.type",
    ),
    pytest.param(
        "plan.max_seq_len.type",
        {"max_seq_len": "1"},
        "kv-canary: max_seq_len must be int, got str",
        [],
        id="plan.max_seq_len.type",
    ),
    pytest.param(
        "plan.lut_len.type",
        {"lut_len": "1"},
        "kv-canary: lut_len must be int, got str",
        [],
        id="plan.lut_len.type",
    ),
    pytest.param(
        "plan.token_rows.type",
        {"token_rows": "1"},
        "kv-canary: token_rows must be int, got str",
        [],
        id="plan.token_rows.type",
    ),
    pytest.param(
        "plan.token_columns.type",
        {"token_columns": "1"},
        "kv-canary: token_columns must be int, got str",
        [],
        id="plan.token_columns.type",
    ),
    pytest.param(
        "plan.write_offsets_len.type",
        {"write_offsets_len": "1"},
        "kv-canary: write_offsets_len must be int, got str",
        [],
        id="plan.write_offsets_len.type",
    ),
    pytest.param(
        "plan.write_req_capacity.type",
        {"write_req_capacity": "1"},
        "kv-canary: write_req_capacity must be int, got str",
        [],
        id="plan.write_req_capacity.type",
    ),
    pytest.param(
        "plan.req_to_token_stride0.type",
        {"req_to_token_stride0": "1"},
        "kv-canary: req_to_token_stride0 must be int, got str",
        [],
        id="plan.req_to_token_stride0.type",
    ),
    pytest.param(
        "plan.swa_window_size.int64",
        {"swa_window_size": 9223372036854775808},
        "kv-canary: swa_window_size must fit in int64, got 9223372036854775808",
        [],
        id="plan.swa_window_size.int64",
    ),
    pytest.param(
        "plan.verify_capacity.int64",
        {"verify_capacity": 9223372036854775808},
        "kv-canary: verify_capacity must fit in int64, got 9223372036854775808",
        [],
        id="plan.verify_capacity.int64",
    ),
    pytest.param(
        "plan.kv_token_id_vs_position_offset.int64",
        {"kv_token_id_vs_position_offset": 9223372036854775808},
        "kv-canary: kv_token_id_vs_position_offset must fit in int64, got 9223372036854775808",
        [],
        id="plan.kv_token_id_vs_position_offset.int64",
    ),
    pytest.param(
        "plan.lut_required_with_window",
        {"swa_window_size": 1},
        "kv-canary: launch_canary_plan_kernels requires full_to_swa_index_mapping when "
        "swa_window_size > 0",
        [],
        id="plan.lut_required_with_window",
    ),
    pytest.param(
        "plan.bs_within_block",
        {
            "write_plan_out.write_offsets": T((4098,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((4097,), "int64"),
            "req_pool_indices": T((4097,), "int64"),
            "prefix_lens": T((4097,), "int64"),
            "extend_seq_lens": T((4097,), "int64"),
        },
        "kv-canary: launch_canary_plan_kernels supports at most bs=4096 reqs per launch, got "
        "bs=4097. Bump _PLAN_BS_BLOCK_SIZE if real workloads need this.",
        ["plan_offsets.bs_range"],
        id="plan.bs_within_block-also-plan_offsets.bs_range",
    ),
    pytest.param(
        "plan.verify_capacity_matches_plan",
        {"verify_plan_out.verify_slot_indices": T((2,), "int64")},
        "kv-canary: launch_canary_plan_kernels verify_capacity=1 does not match "
        "verify_plan_out.verify_slot_indices.shape[0]=2",
        [],
        id="plan.verify_capacity_matches_plan",
    ),
    pytest.param(
        "plan.req_pool_indices.contiguous",
        {
            "write_plan_out.write_offsets": T((3,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((2,), "int64"),
            "req_pool_indices": T((2,), "int64", strided=True),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64"),
        },
        "kv-canary: req_pool_indices must be contiguous",
        [],
        id="plan.req_pool_indices.contiguous",
    ),
    pytest.param(
        "plan.prefix_lens.contiguous",
        {
            "write_plan_out.write_offsets": T((3,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((2,), "int64"),
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64", strided=True),
            "extend_seq_lens": T((2,), "int64"),
        },
        "kv-canary: prefix_lens must be contiguous",
        [],
        id="plan.prefix_lens.contiguous",
    ),
    pytest.param(
        "plan.extend_seq_lens.contiguous",
        {
            "write_plan_out.write_offsets": T((3,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((2,), "int64"),
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64", strided=True),
        },
        "kv-canary: extend_seq_lens must be contiguous",
        [],
        id="plan.extend_seq_lens.contiguous",
    ),
    pytest.param(
        "plan.req_to_token.contiguous",
        {"req_to_token": T((2, 1), "int32", strided=True)},
        "kv-canary: req_to_token must be contiguous",
        [],
        id="plan.req_to_token.contiguous",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.contiguous",
        {"full_to_swa_index_mapping": T((2,), "int64", strided=True)},
        "kv-canary: lut_tensor must be contiguous",
        [],
        id="plan.full_to_swa_index_mapping.contiguous",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.contiguous",
        {
            "req_to_verify_expected_tokens": T((2, 1), "int32", strided=True),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be contiguous",
        [],
        id="plan.req_to_verify_expected_tokens.contiguous",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.contiguous",
        {
            "write_plan_out.write_offsets": T((3,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((2,), "int64"),
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "extend_seq_lens": T((2,), "int64"),
            "req_to_verify_expected_tokens_valid_lens": T((2,), "int64", strided=True),
        },
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be contiguous",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.contiguous",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_slot_indices.contiguous",
        {
            "verify_plan_out.verify_slot_indices": T((2,), "int64", strided=True),
            "verify_plan_out.verify_expected_tokens": T((2,), "int64"),
            "verify_plan_out.verify_expected_positions": T((2,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((2,), "int64"),
            "verify_capacity": 2,
        },
        "kv-canary: out_verify_slot_indices must be contiguous",
        [],
        id="plan.verify_plan_out.verify_slot_indices.contiguous",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.contiguous",
        {
            "verify_plan_out.verify_slot_indices": T((2,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((2,), "int64", strided=True),
            "verify_plan_out.verify_expected_positions": T((2,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((2,), "int64"),
            "verify_capacity": 2,
        },
        "kv-canary: out_verify_expected_tokens must be contiguous",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.contiguous",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.contiguous",
        {
            "verify_plan_out.verify_slot_indices": T((2,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((2,), "int64"),
            "verify_plan_out.verify_expected_positions": T((2,), "int64", strided=True),
            "verify_plan_out.verify_prev_slot_indices": T((2,), "int64"),
            "verify_capacity": 2,
        },
        "kv-canary: out_verify_expected_positions must be contiguous",
        [],
        id="plan.verify_plan_out.verify_expected_positions.contiguous",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.contiguous",
        {
            "verify_plan_out.verify_slot_indices": T((2,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((2,), "int64"),
            "verify_plan_out.verify_expected_positions": T((2,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((2,), "int64", strided=True),
            "verify_capacity": 2,
        },
        "kv-canary: out_verify_prev_slot_indices must be contiguous",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.contiguous",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.contiguous",
        {"verify_plan_out.verify_num_valid": T((2,), "int32", strided=True)},
        "kv-canary: out_verify_num_valid must be contiguous",
        ["plan.verify_plan_out.verify_num_valid.length"],
        id="plan.verify_plan_out.verify_num_valid.contiguous-also-plan.verify_plan_out.verify_num_valid.length",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.contiguous",
        {"verify_plan_out.enable": T((2,), "int32", strided=True)},
        "kv-canary: out_verify_enable must be contiguous",
        ["plan.verify_plan_out.enable.length"],
        id="plan.verify_plan_out.enable.contiguous-also-plan.verify_plan_out.enable.length",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.contiguous",
        {"write_plan_out.write_offsets": T((2,), "int64", strided=True)},
        "kv-canary: out_write_offsets must be contiguous",
        [],
        id="plan.write_plan_out.write_offsets.contiguous",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.contiguous",
        {
            "write_plan_out.write_offsets": T((3,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((2,), "int64", strided=True),
        },
        "kv-canary: out_write_seed_slot_indices must be contiguous",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.contiguous",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.contiguous",
        {"write_plan_out.write_num_valid_reqs": T((2,), "int32", strided=True)},
        "kv-canary: out_write_num_valid_reqs must be contiguous",
        ["plan.write_plan_out.write_num_valid_reqs.length"],
        id="plan.write_plan_out.write_num_valid_reqs.contiguous-also-plan.write_plan_out.write_num_valid_reqs.length",
    ),
    pytest.param(
        "plan.verify_rotation.contiguous",
        {"verify_rotation": T((2,), "int64", strided=True)},
        "kv-canary: verify_rotation must be contiguous",
        ["plan.verify_rotation.length"],
        id="plan.verify_rotation.contiguous-also-plan.verify_rotation.length",
    ),
    pytest.param(
        "plan.verify_total.contiguous",
        {"verify_rotation": T((1,), "int64"), "verify_total": T((2,), "int64", strided=True)},
        "kv-canary: verify_total must be contiguous",
        ["plan.verify_total.length"],
        id="plan.verify_total.contiguous-also-plan.verify_total.length",
    ),
    pytest.param(
        "plan.req_pool_indices.dtype",
        {"req_pool_indices": T((1,), "int32")},
        "kv-canary: req_pool_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan.req_pool_indices.dtype",
    ),
    pytest.param(
        "plan.prefix_lens.dtype",
        {"prefix_lens": T((1,), "int32")},
        "kv-canary: prefix_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan.prefix_lens.dtype",
    ),
    pytest.param(
        "plan.extend_seq_lens.dtype",
        {"extend_seq_lens": T((1,), "int32")},
        "kv-canary: extend_seq_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan.extend_seq_lens.dtype",
    ),
    pytest.param(
        "plan.req_to_token.dtype",
        {"req_to_token": T((1, 1), "int64")},
        "kv-canary: req_to_token must have dtype torch.int32, got torch.int64",
        [],
        id="plan.req_to_token.dtype",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.dtype",
        {"full_to_swa_index_mapping": T((1,), "int32")},
        "kv-canary: lut_tensor must have dtype torch.int64, got torch.int32",
        [],
        id="plan.full_to_swa_index_mapping.dtype",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.dtype",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int64"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must have dtype torch.int32, got torch.int64",
        [],
        id="plan.req_to_verify_expected_tokens.dtype",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.dtype",
        {"req_to_verify_expected_tokens_valid_lens": T((1,), "int32")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must have dtype torch.int64, got "
        "torch.int32",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_slot_indices.dtype",
        {"verify_plan_out.verify_slot_indices": T((1,), "int32")},
        "kv-canary: out_verify_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_plan_out.verify_slot_indices.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.dtype",
        {"verify_plan_out.verify_expected_tokens": T((1,), "int32")},
        "kv-canary: out_verify_expected_tokens must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.dtype",
        {"verify_plan_out.verify_expected_positions": T((1,), "int32")},
        "kv-canary: out_verify_expected_positions must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_plan_out.verify_expected_positions.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.dtype",
        {"verify_plan_out.verify_prev_slot_indices": T((1,), "int32")},
        "kv-canary: out_verify_prev_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.dtype",
        {"verify_plan_out.verify_num_valid": T((1,), "int64")},
        "kv-canary: out_verify_num_valid must have dtype torch.int32, got torch.int64",
        [],
        id="plan.verify_plan_out.verify_num_valid.dtype",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.dtype",
        {"verify_plan_out.enable": T((1,), "int64")},
        "kv-canary: out_verify_enable must have dtype torch.int32, got torch.int64",
        [],
        id="plan.verify_plan_out.enable.dtype",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.dtype",
        {"write_plan_out.write_offsets": T((2,), "int32")},
        "kv-canary: out_write_offsets must have dtype torch.int64, got torch.int32",
        [],
        id="plan.write_plan_out.write_offsets.dtype",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.dtype",
        {"write_plan_out.write_seed_slot_indices": T((1,), "int32")},
        "kv-canary: out_write_seed_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.dtype",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.dtype",
        {"write_plan_out.write_num_valid_reqs": T((1,), "int64")},
        "kv-canary: out_write_num_valid_reqs must have dtype torch.int32, got torch.int64",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.dtype",
    ),
    pytest.param(
        "plan.verify_rotation.dtype",
        {"verify_rotation": T((1,), "int32")},
        "kv-canary: verify_rotation must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_rotation.dtype",
    ),
    pytest.param(
        "plan.verify_total.dtype",
        {"verify_rotation": T((1,), "int64"), "verify_total": T((1,), "int32")},
        "kv-canary: verify_total must have dtype torch.int64, got torch.int32",
        [],
        id="plan.verify_total.dtype",
    ),
    pytest.param(
        "plan_offsets.bs_range",
        {"bs": -1},
        "kv-canary: offsets kernel bs must be in [0, 4096], got -1",
        ["plan.req_pool_indices.length", "plan.prefix_lens.length", "plan.extend_seq_lens.length"],
        id="plan_offsets.bs_range-also-plan.req_pool_indices.length-plan.prefix_lens.length-plan.extend_seq_lens.length",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_positive",
        {"write_plan_out.write_offsets": T((0,), "int64")},
        "kv-canary: write_offsets_len must be positive, got 0",
        ["plan_offsets.write_offsets_len_is_capacity_plus_one"],
        id="plan_offsets.write_offsets_len_positive-also-plan_offsets.write_offsets_len_is_capacity_plus_one",
    ),
    pytest.param(
        "plan_offsets.write_req_capacity_non_negative",
        {"write_req_capacity": -1},
        "kv-canary: write_req_capacity must be non-negative, got -1",
        [
            "plan.write_plan_out.write_seed_slot_indices.length",
            "plan_offsets.write_offsets_len_is_capacity_plus_one",
            "plan_offsets.bs_within_write_req_capacity",
        ],
        id="plan_offsets.write_req_capacity_non_negative-also-plan.write_plan_out.write_seed_slot_indices.length-plan_offsets.write_offsets_len_is_capacity_plus_one-plan_offsets.bs_within_write_req_capacity",
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
        "plan_entries.expected_tokens_need_valid_lens",
        {"req_to_verify_expected_tokens": T((1, 1), "int32")},
        "kv-canary: launch_plan_entries_kernel requires req_to_verify_expected_tokens_valid_lens "
        "when req_to_verify_expected_tokens is set",
        [],
        id="plan_entries.expected_tokens_need_valid_lens",
    ),
    pytest.param(
        "plan.total_needs_rotation",
        {"verify_total": T((1,), "int64")},
        "kv-canary: launch_canary_plan_kernels requires verify_rotation when verify_total is set",
        [],
        id="plan.total_needs_rotation",
    ),
    pytest.param(
        "plan.req_pool_indices.rank",
        {"req_pool_indices": T((), "int64")},
        "kv-canary: req_pool_indices must be 1-D, got shape ()",
        [],
        id="plan.req_pool_indices.rank",
    ),
    pytest.param(
        "plan.req_pool_indices.length",
        {"req_pool_indices": T((0,), "int64"), "bs": 1},
        "kv-canary: req_pool_indices length must be 1, got 0",
        [],
        id="plan.req_pool_indices.length",
    ),
    pytest.param(
        "plan.prefix_lens.rank",
        {"prefix_lens": T((), "int64")},
        "kv-canary: prefix_lens must be 1-D, got shape ()",
        [],
        id="plan.prefix_lens.rank",
    ),
    pytest.param(
        "plan.prefix_lens.length",
        {"prefix_lens": T((0,), "int64")},
        "kv-canary: prefix_lens length must be 1, got 0",
        [],
        id="plan.prefix_lens.length",
    ),
    pytest.param(
        "plan.extend_seq_lens.rank",
        {"extend_seq_lens": T((), "int64")},
        "kv-canary: extend_seq_lens must be 1-D, got shape ()",
        [],
        id="plan.extend_seq_lens.rank",
    ),
    pytest.param(
        "plan.extend_seq_lens.length",
        {"extend_seq_lens": T((0,), "int64")},
        "kv-canary: extend_seq_lens length must be 1, got 0",
        [],
        id="plan.extend_seq_lens.length",
    ),
    pytest.param(
        "plan.req_to_token.rank",
        {"req_to_token": T((), "int32")},
        "kv-canary: req_to_token must be 2-D, got shape ()",
        [],
        id="plan.req_to_token.rank",
    ),
    pytest.param(
        "plan.req_to_token.row_length",
        {"req_to_token": T((0, 1), "int32"), "max_reqs": 1},
        "kv-canary: req_to_token shape[0] must be 1, got 0",
        [],
        id="plan.req_to_token.row_length",
    ),
    pytest.param(
        "plan.req_to_token.position_length",
        {"req_to_token": T((1, 0), "int32"), "max_seq_len": 1},
        "kv-canary: req_to_token shape[1] must be 1, got 0",
        [],
        id="plan.req_to_token.position_length",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.rank",
        {"full_to_swa_index_mapping": T((), "int64")},
        "kv-canary: lut_tensor must be 1-D, got shape ()",
        [],
        id="plan.full_to_swa_index_mapping.rank",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.length",
        {"full_to_swa_index_mapping": T((0,), "int64"), "lut_len": 1},
        "kv-canary: lut_tensor length must be 1, got 0",
        [],
        id="plan.full_to_swa_index_mapping.length",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.rank",
        {
            "req_to_verify_expected_tokens": T((), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be 2-D, got shape ()",
        [],
        id="plan.req_to_verify_expected_tokens.rank",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.row_length",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
            "token_rows": 0,
        },
        "kv-canary: req_to_verify_expected_tokens shape[0] must be 0, got 1",
        [],
        id="plan.req_to_verify_expected_tokens.row_length",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.column_length",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
            "token_columns": 0,
        },
        "kv-canary: req_to_verify_expected_tokens shape[1] must be 0, got 1",
        [],
        id="plan.req_to_verify_expected_tokens.column_length",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.rank",
        {"req_to_verify_expected_tokens_valid_lens": T((), "int64")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be 1-D, got shape ()",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.rank",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.length",
        {"req_to_verify_expected_tokens_valid_lens": T((0,), "int64")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens length must be 1, got 0",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.length",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_slot_indices.rank",
        {"verify_plan_out.verify_slot_indices": T((), "int64")},
        "kv-canary: out_verify_slot_indices must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.verify_slot_indices.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.rank",
        {"verify_plan_out.verify_expected_tokens": T((), "int64")},
        "kv-canary: out_verify_expected_tokens must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.length",
        {"verify_plan_out.verify_expected_tokens": T((0,), "int64")},
        "kv-canary: out_verify_expected_tokens length must be 1, got 0",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.length",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.rank",
        {"verify_plan_out.verify_expected_positions": T((), "int64")},
        "kv-canary: out_verify_expected_positions must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.verify_expected_positions.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.length",
        {"verify_plan_out.verify_expected_positions": T((0,), "int64")},
        "kv-canary: out_verify_expected_positions length must be 1, got 0",
        [],
        id="plan.verify_plan_out.verify_expected_positions.length",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.rank",
        {"verify_plan_out.verify_prev_slot_indices": T((), "int64")},
        "kv-canary: out_verify_prev_slot_indices must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.length",
        {"verify_plan_out.verify_prev_slot_indices": T((0,), "int64")},
        "kv-canary: out_verify_prev_slot_indices length must be 1, got 0",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.length",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.rank",
        {"verify_plan_out.verify_num_valid": T((), "int32")},
        "kv-canary: out_verify_num_valid must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.verify_num_valid.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.length",
        {"verify_plan_out.verify_num_valid": T((0,), "int32")},
        "kv-canary: out_verify_num_valid length must be 1, got 0",
        [],
        id="plan.verify_plan_out.verify_num_valid.length",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.rank",
        {"verify_plan_out.enable": T((), "int32")},
        "kv-canary: out_verify_enable must be 1-D, got shape ()",
        [],
        id="plan.verify_plan_out.enable.rank",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.length",
        {"verify_plan_out.enable": T((0,), "int32")},
        "kv-canary: out_verify_enable length must be 1, got 0",
        [],
        id="plan.verify_plan_out.enable.length",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.rank",
        {"write_plan_out.write_offsets": T((), "int64")},
        "kv-canary: out_write_offsets must be 1-D, got shape ()",
        [],
        id="plan.write_plan_out.write_offsets.rank",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.length",
        {"write_plan_out.write_offsets": T((1,), "int64"), "write_offsets_len": 2},
        "kv-canary: out_write_offsets length must be 2, got 1",
        [],
        id="plan.write_plan_out.write_offsets.length",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.rank",
        {"write_plan_out.write_seed_slot_indices": T((), "int64")},
        "kv-canary: out_write_seed_slot_indices must be 1-D, got shape ()",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.rank",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.length",
        {"write_plan_out.write_seed_slot_indices": T((0,), "int64"), "write_req_capacity": 1},
        "kv-canary: out_write_seed_slot_indices length must be 1, got 0",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.length",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.rank",
        {"write_plan_out.write_num_valid_reqs": T((), "int32")},
        "kv-canary: out_write_num_valid_reqs must be 1-D, got shape ()",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.rank",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.length",
        {"write_plan_out.write_num_valid_reqs": T((0,), "int32")},
        "kv-canary: out_write_num_valid_reqs length must be 1, got 0",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.length",
    ),
    pytest.param(
        "plan.verify_rotation.rank",
        {"verify_rotation": T((), "int64")},
        "kv-canary: verify_rotation must be 1-D, got shape ()",
        [],
        id="plan.verify_rotation.rank",
    ),
    pytest.param(
        "plan.verify_rotation.length",
        {"verify_rotation": T((0,), "int64")},
        "kv-canary: verify_rotation length must be 1, got 0",
        [],
        id="plan.verify_rotation.length",
    ),
    pytest.param(
        "plan.verify_total.rank",
        {"verify_rotation": T((1,), "int64"), "verify_total": T((), "int64")},
        "kv-canary: verify_total must be 1-D, got shape ()",
        [],
        id="plan.verify_total.rank",
    ),
    pytest.param(
        "plan.verify_total.length",
        {"verify_rotation": T((1,), "int64"), "verify_total": T((0,), "int64")},
        "kv-canary: verify_total length must be 1, got 0",
        [],
        id="plan.verify_total.length",
    ),
    pytest.param(
        "plan_offsets.write_offsets_len_is_capacity_plus_one",
        {"write_plan_out.write_offsets": T((1,), "int64")},
        "kv-canary: write_offsets_len must equal write_req_capacity + 1, got 1 and 1",
        [],
        id="plan_offsets.write_offsets_len_is_capacity_plus_one",
    ),
    pytest.param(
        "plan_offsets.bs_within_write_req_capacity",
        {
            "write_plan_out.write_offsets": T((1,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((0,), "int64"),
        },
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
        "plan.req_pool_indices.device",
        {"req_pool_indices": T((1,), "int64", device="meta")},
        "kv-canary: req_pool_indices must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.req_pool_indices.device",
    ),
    pytest.param(
        "plan.prefix_lens.device",
        {"prefix_lens": T((1,), "int64", device="meta")},
        "kv-canary: prefix_lens must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.prefix_lens.device",
    ),
    pytest.param(
        "plan.extend_seq_lens.device",
        {"extend_seq_lens": T((1,), "int64", device="meta")},
        "kv-canary: extend_seq_lens must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.extend_seq_lens.device",
    ),
    pytest.param(
        "plan.req_to_token.device",
        {"req_to_token": T((1, 1), "int32", device="meta")},
        "kv-canary: req_to_token must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.req_to_token.device",
    ),
    pytest.param(
        "plan.full_to_swa_index_mapping.device",
        {"full_to_swa_index_mapping": T((1,), "int64", device="meta")},
        "kv-canary: lut_tensor must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.full_to_swa_index_mapping.device",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens.device",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32", device="meta"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be on out_verify_slot_indices's device "
        "cpu, got meta",
        [],
        id="plan.req_to_verify_expected_tokens.device",
    ),
    pytest.param(
        "plan.req_to_verify_expected_tokens_valid_lens.device",
        {"req_to_verify_expected_tokens_valid_lens": T((1,), "int64", device="meta")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be on out_verify_slot_indices's "
        "device cpu, got meta",
        [],
        id="plan.req_to_verify_expected_tokens_valid_lens.device",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_tokens.device",
        {"verify_plan_out.verify_expected_tokens": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_expected_tokens must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan.verify_plan_out.verify_expected_tokens.device",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_expected_positions.device",
        {"verify_plan_out.verify_expected_positions": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_expected_positions must be on out_verify_slot_indices's device "
        "cpu, got meta",
        [],
        id="plan.verify_plan_out.verify_expected_positions.device",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_prev_slot_indices.device",
        {"verify_plan_out.verify_prev_slot_indices": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_prev_slot_indices must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan.verify_plan_out.verify_prev_slot_indices.device",
    ),
    pytest.param(
        "plan.verify_plan_out.verify_num_valid.device",
        {"verify_plan_out.verify_num_valid": T((1,), "int32", device="meta")},
        "kv-canary: out_verify_num_valid must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.verify_plan_out.verify_num_valid.device",
    ),
    pytest.param(
        "plan.verify_plan_out.enable.device",
        {"verify_plan_out.enable": T((1,), "int32", device="meta")},
        "kv-canary: out_verify_enable must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.verify_plan_out.enable.device",
    ),
    pytest.param(
        "plan.write_plan_out.write_offsets.device",
        {"write_plan_out.write_offsets": T((2,), "int64", device="meta")},
        "kv-canary: out_write_offsets must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.write_plan_out.write_offsets.device",
    ),
    pytest.param(
        "plan.write_plan_out.write_seed_slot_indices.device",
        {"write_plan_out.write_seed_slot_indices": T((1,), "int64", device="meta")},
        "kv-canary: out_write_seed_slot_indices must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan.write_plan_out.write_seed_slot_indices.device",
    ),
    pytest.param(
        "plan.write_plan_out.write_num_valid_reqs.device",
        {"write_plan_out.write_num_valid_reqs": T((1,), "int32", device="meta")},
        "kv-canary: out_write_num_valid_reqs must be on out_verify_slot_indices's device cpu, got "
        "meta",
        [],
        id="plan.write_plan_out.write_num_valid_reqs.device",
    ),
    pytest.param(
        "plan.verify_rotation.device",
        {"verify_rotation": T((1,), "int64", device="meta")},
        "kv-canary: verify_rotation must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.verify_rotation.device",
    ),
    pytest.param(
        "plan.verify_total.device",
        {"verify_rotation": T((1,), "int64"), "verify_total": T((1,), "int64", device="meta")},
        "kv-canary: verify_total must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan.verify_total.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = [
    "plan_offsets.verify_capacity_non_negative",
]

EXAMPLES: list[Any] = [
    pytest.param(
        "plan.lut_required_with_window",
        {"swa_window_size": 1},
        {"full_to_swa_index_mapping": T((1,), "int64"), "swa_window_size": 1},
        id="plan.lut_required_with_window",
    ),
    pytest.param(
        "plan.bs_within_block",
        {
            "req_pool_indices": T((4097,), "int64"),
            "prefix_lens": T((4097,), "int64"),
            "extend_seq_lens": T((4097,), "int64"),
        },
        {
            "write_plan_out.write_offsets": T((4097,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((4096,), "int64"),
            "req_pool_indices": T((4096,), "int64"),
            "prefix_lens": T((4096,), "int64"),
            "extend_seq_lens": T((4096,), "int64"),
        },
        id="plan.bs_within_block",
    ),
    pytest.param(
        "plan.verify_capacity_matches_plan",
        {"verify_capacity": 64},
        {},
        id="plan.verify_capacity_matches_plan",
    ),
    pytest.param(
        "plan.total_needs_rotation",
        {"verify_total": T((1,), "int64")},
        {"verify_rotation": T((1,), "int64"), "verify_total": T((1,), "int64")},
        id="plan.total_needs_rotation",
    ),
]

SHAPES: list[Any] = [
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((1,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((1,), "int64"),
            "verify_plan_out.verify_expected_positions": T((1,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((1,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((2,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((1,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((1,), "int64"),
            "prefix_lens": T((1,), "int64"),
            "extend_seq_lens": T((1,), "int64"),
            "req_to_token": T((1, 1), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 1,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="smallest",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((0,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((0,), "int64"),
            "verify_plan_out.verify_expected_positions": T((0,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((0,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((1,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((0,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 0,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="empty_roomy_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((3,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((3,), "int64"),
            "verify_plan_out.verify_expected_positions": T((3,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((3,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((4,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((3,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 3,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="odd_roomy_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((17,), "int64"),
            "verify_plan_out.verify_expected_positions": T((17,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((18,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((17,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 17,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="seventeen_roomy_no_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((0,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((0,), "int64"),
            "verify_plan_out.verify_expected_positions": T((0,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((0,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((1,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((0,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((1,), "int64"),
            "req_to_verify_expected_tokens": T((0, 0), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((0,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 0,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="empty_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "extend_seq_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((1,), "int64"),
            "req_to_verify_expected_tokens": T((0, 0), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((0,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="empty_roomy_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((3,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((3,), "int64"),
            "verify_plan_out.verify_expected_positions": T((3,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((3,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((4,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((3,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 3,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="odd_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="odd_roomy_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((17,), "int64"),
            "verify_plan_out.verify_expected_positions": T((17,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((18,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((17,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "req_to_verify_expected_tokens": T((17, 17), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((17,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 17,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="seventeen_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "req_to_verify_expected_tokens": T((17, 17), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((17,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="seventeen_roomy_all_optional",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": T((5,), "int64"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="only_full_to_swa_index_mapping",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": T((5, 5), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((5,), "int64"),
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="only_req_to_verify_expected_tokens",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": T((5,), "int64"),
            "verify_rotation": None,
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="only_req_to_verify_expected_tokens_valid_lens",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": T((1,), "int64"),
            "verify_total": None,
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="only_verify_rotation",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "extend_seq_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="only_verify_total",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((256,), "int64"),
            "prefix_lens": T((256,), "int64"),
            "extend_seq_lens": T((256,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((256,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        5,
        id="bs_of_REQUEST_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((257,), "int64"),
            "prefix_lens": T((257,), "int64"),
            "extend_seq_lens": T((257,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((257,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        5,
        id="bs_of_REQUEST_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 256), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        5,
        id="max_seq_len_of_REQUEST_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 257), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        5,
        id="max_seq_len_of_REQUEST_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((256,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((256,), "int64"),
            "verify_plan_out.verify_expected_positions": T((256,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((256,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 256,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="verify_capacity_of_REQUEST_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((257,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((257,), "int64"),
            "verify_plan_out.verify_expected_positions": T((257,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((257,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 257,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="verify_capacity_of_REQUEST_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((257,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((256,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        3,
        id="write_req_capacity_of_REQUEST_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((258,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((257,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        3,
        id="write_req_capacity_of_REQUEST_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((16,), "int64"),
            "prefix_lens": T((16,), "int64"),
            "extend_seq_lens": T((16,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((16,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="bs_of_GROUP_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "extend_seq_lens": T((17,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((17,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="bs_of_GROUP_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 16), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="max_seq_len_of_GROUP_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 17), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="max_seq_len_of_GROUP_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((16,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((16,), "int64"),
            "verify_plan_out.verify_expected_positions": T((16,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((16,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 16,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="verify_capacity_of_GROUP_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((17,), "int64"),
            "verify_plan_out.verify_expected_positions": T((17,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((17,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((641,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((640,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 17,
            "kv_token_id_vs_position_offset": 0,
        },
        4,
        id="verify_capacity_of_GROUP_BLOCK_and_1",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((17,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((16,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="write_req_capacity_of_GROUP_BLOCK",
    ),
    pytest.param(
        {
            "verify_plan_out.verify_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_expected_tokens": T((640,), "int64"),
            "verify_plan_out.verify_expected_positions": T((640,), "int64"),
            "verify_plan_out.verify_prev_slot_indices": T((640,), "int64"),
            "verify_plan_out.verify_num_valid": T((1,), "int32"),
            "verify_plan_out.enable": T((1,), "int32"),
            "write_plan_out.write_offsets": T((18,), "int64"),
            "write_plan_out.write_seed_slot_indices": T((17,), "int64"),
            "write_plan_out.write_num_valid_reqs": T((1,), "int32"),
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "extend_seq_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "verify_rotation": T((1,), "int64"),
            "verify_total": T((1,), "int64"),
            "swa_window_size": 0,
            "verify_capacity": 640,
            "kv_token_id_vs_position_offset": 0,
        },
        2,
        id="write_req_capacity_of_GROUP_BLOCK_and_1",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    values = {path: make(value) for path, value in arguments.items()}
    if "verify_plan_out" not in values:
        values["verify_plan_out"] = VerifyPlan(
            verify_slot_indices=values.pop("verify_plan_out.verify_slot_indices"),
            verify_expected_tokens=values.pop("verify_plan_out.verify_expected_tokens"),
            verify_expected_positions=values.pop("verify_plan_out.verify_expected_positions"),
            verify_prev_slot_indices=values.pop("verify_plan_out.verify_prev_slot_indices"),
            verify_num_valid=values.pop("verify_plan_out.verify_num_valid"),
            enable=values.pop("verify_plan_out.enable"),
        )
    if "write_plan_out" not in values:
        values["write_plan_out"] = WritePlan(
            write_offsets=values.pop("write_plan_out.write_offsets"),
            write_seed_slot_indices=values.pop("write_plan_out.write_seed_slot_indices"),
            write_num_valid_reqs=values.pop("write_plan_out.write_num_valid_reqs"),
        )
    return values


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_plan(**arguments)
    assert inspect_plan(**arguments) == ()
    assert validate_plan(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_plan(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_canary_plan_kernels(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("plan.")}
    assert implied <= reached


@pytest.mark.parametrize(("rule", "wrong", "right"), EXAMPLES)
def test_example_of_the_spec_breaks_its_rule_and_is_mended(
    rule: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    with pytest.raises(ContractError) as caught:
        validate_plan(**assembled(changed(VALID, wrong)))
    assert caught.value.broken_rules[0].rule_id == rule
    validate_plan(**assembled(changed(VALID, right)))


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
    launch_canary_plan_kernels(**assembled(arguments))


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
    # write_plan_out.write_num_valid_reqs[0] == bs
    assert after["write_plan_out.write_num_valid_reqs"][0] == bs
    # verify_plan_out.enable in [0, 1]
    assert all(0 <= value <= 1 for value in after["verify_plan_out.enable"])
    # verify_plan_out.verify_num_valid in [0, verify_capacity]
    assert all(0 <= value <= verify_capacity for value in after["verify_plan_out.verify_num_valid"])
    # write_plan_out.write_offsets[0] == 0
    assert after["write_plan_out.write_offsets"][0] == 0
    # nondecreasing(write_plan_out.write_offsets to bs + 1)
    assert nondecreasing(after["write_plan_out.write_offsets"][: bs + 1])
    # unchanged(write_plan_out.write_seed_slot_indices beyond bs)
    assert unchanged(before, after, "write_plan_out.write_seed_slot_indices", bs)


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

COMPILED_IN: list[str] = ["BATCH_BLOCK", "MEMBER_BLOCK", "TILE_BLOCK", "WIDE_ALIGNMENT"]
EVERY_VALUE: list[tuple[int, ...]] = [
    (16, 16, 128, 16),
    (16, 16, 128, 8),
    (16, 16, 512, 16),
    (16, 16, 512, 8),
    (256, 16, 128, 16),
    (256, 16, 128, 8),
    (256, 16, 512, 16),
    (256, 16, 512, 8),
    (1024, 16, 128, 16),
    (1024, 16, 128, 8),
    (1024, 16, 512, 16),
    (1024, 16, 512, 8),
    (4096, 4, 128, 16),
    (4096, 4, 128, 8),
    (4096, 4, 512, 16),
    (4096, 4, 512, 8),
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

    from kv_canary_kernels.kernels.plan import _plan_kernel

    signature = {
        "out_verify_slot_indices_ptr": "*i64",
        "out_verify_expected_tokens_ptr": "*i64",
        "out_verify_expected_positions_ptr": "*i64",
        "out_verify_prev_slot_indices_ptr": "*i64",
        "out_verify_num_valid_ptr": "*i32",
        "out_verify_enable_ptr": "*i32",
        "out_write_offsets_ptr": "*i64",
        "out_write_seed_slot_indices_ptr": "*i64",
        "out_write_num_valid_reqs_ptr": "*i32",
        "req_pool_indices_ptr": "*i64",
        "prefix_lens_ptr": "*i64",
        "extend_seq_lens_ptr": "*i64",
        "req_to_token_ptr": "*i32",
        "full_to_swa_index_mapping_ptr": "*i64",
        "req_to_verify_expected_tokens_ptr": "*i32",
        "req_to_verify_expected_tokens_valid_lens_ptr": "*i64",
        "verify_rotation_ptr": "*i64",
        "bs": "i64",
        "max_reqs": "i64",
        "max_seq_len": "i64",
        "lut_len": "i64",
        "token_rows": "i64",
        "token_columns": "i64",
        "write_offsets_len": "i64",
        "write_req_capacity": "i64",
        "swa_window_size": "i64",
        "verify_capacity": "i64",
        "kv_token_id_vs_position_offset": "i64",
        "BATCH_BLOCK": "constexpr",
        "MEMBER_BLOCK": "constexpr",
        "TILE_BLOCK": "constexpr",
        "WIDE_ALIGNMENT": "constexpr",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_plan_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
