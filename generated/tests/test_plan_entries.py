# Generated from spec/kernels/plan_entries.yaml by `kv-canary generate`; do not edit.
# Template: test.py.jinja.
"""launch_plan_entries_kernel: every rule, every example, the kernel against its reference."""

import os
from typing import Any

import pytest

from kv_canary_kernels.backends import reference_of
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.plan_entries import PRESENCES, launch_plan_entries_kernel
from kv_canary_kernels.testing import (
    T,
    backend_devices,
    changed,
    contents,
    flat,
    guarded,
    make,
)
from kv_canary_kernels.validators.plan_entries import (
    accepts_plan_entries,
    inspect_plan_entries,
    validate_plan_entries,
)

REFERENCE = "kv_canary.reference.plan_entries:plan_entries"

# Sizes that a caller may give to the validator, and to nothing else.
SIZES: list[str] = [
    "bs",
    "max_reqs",
    "max_seq_len",
    "lut_len",
    "token_rows",
    "token_columns",
    "verify_capacity",
]

# Outputs that nothing reads: they begin as poison.
OUTPUTS: list[str] = [
    "out_verify_slot_indices",
    "out_verify_expected_tokens",
    "out_verify_expected_positions",
    "out_verify_prev_slot_indices",
]

# Pointers that are None when their tensor is left out.
OPTIONAL: list[str] = [
    "full_to_swa_index_mapping_ptr",
    "req_to_verify_expected_tokens_ptr",
    "req_to_verify_expected_tokens_valid_lens_ptr",
]

VALID: dict[str, Any] = {
    "req_pool_indices": T((1,), "int64"),
    "prefix_lens": T((1,), "int64"),
    "req_to_token": T((1, 1), "int32"),
    "full_to_swa_index_mapping": None,
    "verify_offsets_scratch": T((2,), "int64"),
    "verify_enable": T((1,), "int32"),
    "req_to_verify_expected_tokens": None,
    "req_to_verify_expected_tokens_valid_lens": None,
    "out_verify_slot_indices": T((1,), "int64"),
    "out_verify_expected_tokens": T((1,), "int64"),
    "out_verify_expected_positions": T((1,), "int64"),
    "out_verify_prev_slot_indices": T((1,), "int64"),
    "kv_token_id_vs_position_offset": 0,
    "swa_window_size": 0,
}

# Rule, changes to the smallest valid call, message, later rules that break with it.
BREAKING: list[Any] = [
    pytest.param(
        "plan_entries.req_pool_indices.required",
        {"req_pool_indices": None},
        "kv-canary: req_pool_indices is required",
        [],
        id="plan_entries.req_pool_indices.required",
    ),
    pytest.param(
        "plan_entries.req_pool_indices.type",
        {"req_pool_indices": []},
        "kv-canary: req_pool_indices must be a torch.Tensor, got list",
        [],
        id="plan_entries.req_pool_indices.type",
    ),
    pytest.param(
        "plan_entries.prefix_lens.required",
        {"prefix_lens": None},
        "kv-canary: prefix_lens is required",
        [],
        id="plan_entries.prefix_lens.required",
    ),
    pytest.param(
        "plan_entries.prefix_lens.type",
        {"prefix_lens": []},
        "kv-canary: prefix_lens must be a torch.Tensor, got list",
        [],
        id="plan_entries.prefix_lens.type",
    ),
    pytest.param(
        "plan_entries.req_to_token.required",
        {"req_to_token": None},
        "kv-canary: req_to_token is required",
        [],
        id="plan_entries.req_to_token.required",
    ),
    pytest.param(
        "plan_entries.req_to_token.type",
        {"req_to_token": []},
        "kv-canary: req_to_token must be a torch.Tensor, got list",
        [],
        id="plan_entries.req_to_token.type",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.type",
        {"full_to_swa_index_mapping": []},
        "kv-canary: full_to_swa_index_mapping must be a torch.Tensor, got list",
        [],
        id="plan_entries.full_to_swa_index_mapping.type",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.required",
        {"verify_offsets_scratch": None},
        "kv-canary: verify_offsets_scratch is required",
        [],
        id="plan_entries.verify_offsets_scratch.required",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.type",
        {"verify_offsets_scratch": []},
        "kv-canary: verify_offsets_scratch must be a torch.Tensor, got list",
        [],
        id="plan_entries.verify_offsets_scratch.type",
    ),
    pytest.param(
        "plan_entries.verify_enable.required",
        {"verify_enable": None},
        "kv-canary: verify_enable is required",
        [],
        id="plan_entries.verify_enable.required",
    ),
    pytest.param(
        "plan_entries.verify_enable.type",
        {"verify_enable": []},
        "kv-canary: verify_enable must be a torch.Tensor, got list",
        [],
        id="plan_entries.verify_enable.type",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.type",
        {
            "req_to_verify_expected_tokens": [],
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be a torch.Tensor, got list",
        [],
        id="plan_entries.req_to_verify_expected_tokens.type",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.type",
        {"req_to_verify_expected_tokens_valid_lens": []},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be a torch.Tensor, got list",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.type",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.required",
        {"out_verify_slot_indices": None},
        "kv-canary: out_verify_slot_indices is required",
        [],
        id="plan_entries.out_verify_slot_indices.required",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.type",
        {"out_verify_slot_indices": []},
        "kv-canary: out_verify_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan_entries.out_verify_slot_indices.type",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.required",
        {"out_verify_expected_tokens": None},
        "kv-canary: out_verify_expected_tokens is required",
        [],
        id="plan_entries.out_verify_expected_tokens.required",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.type",
        {"out_verify_expected_tokens": []},
        "kv-canary: out_verify_expected_tokens must be a torch.Tensor, got list",
        [],
        id="plan_entries.out_verify_expected_tokens.type",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.required",
        {"out_verify_expected_positions": None},
        "kv-canary: out_verify_expected_positions is required",
        [],
        id="plan_entries.out_verify_expected_positions.required",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.type",
        {"out_verify_expected_positions": []},
        "kv-canary: out_verify_expected_positions must be a torch.Tensor, got list",
        [],
        id="plan_entries.out_verify_expected_positions.type",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.required",
        {"out_verify_prev_slot_indices": None},
        "kv-canary: out_verify_prev_slot_indices is required",
        [],
        id="plan_entries.out_verify_prev_slot_indices.required",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.type",
        {"out_verify_prev_slot_indices": []},
        "kv-canary: out_verify_prev_slot_indices must be a torch.Tensor, got list",
        [],
        id="plan_entries.out_verify_prev_slot_indices.type",
    ),
    pytest.param(
        "plan_entries.kv_token_id_vs_position_offset.required",
        {"kv_token_id_vs_position_offset": None},
        "kv-canary: kv_token_id_vs_position_offset is required",
        [],
        id="plan_entries.kv_token_id_vs_position_offset.required",
    ),
    pytest.param(
        "plan_entries.kv_token_id_vs_position_offset.type",
        {"kv_token_id_vs_position_offset": []},
        "kv-canary: kv_token_id_vs_position_offset must be int, got list",
        [],
        id="plan_entries.kv_token_id_vs_position_offset.type",
    ),
    pytest.param(
        "plan_entries.swa_window_size.required",
        {"swa_window_size": None},
        "kv-canary: swa_window_size is required",
        [],
        id="plan_entries.swa_window_size.required",
    ),
    pytest.param(
        "plan_entries.swa_window_size.type",
        {"swa_window_size": []},
        "kv-canary: swa_window_size must be int, got list",
        [],
        id="plan_entries.swa_window_size.type",
    ),
    pytest.param(
        "plan_entries.bs.type",
        {"bs": "1"},
        "kv-canary: bs must be int, got str",
        [],
        id="plan_entries.bs.type",
    ),
    pytest.param(
        "plan_entries.max_reqs.type",
        {"max_reqs": "1"},
        "kv-canary: max_reqs must be int, got str",
        [],
        id="plan_entries.max_reqs.type",
    ),
    pytest.param(
        "plan_entries.max_seq_len.type",
        {"max_seq_len": "1"},
        "kv-canary: max_seq_len must be int, got str",
        [],
        id="plan_entries.max_seq_len.type",
    ),
    pytest.param(
        "plan_entries.lut_len.type",
        {"lut_len": "1"},
        "kv-canary: lut_len must be int, got str",
        [],
        id="plan_entries.lut_len.type",
    ),
    pytest.param(
        "plan_entries.token_rows.type",
        {"token_rows": "1"},
        "kv-canary: token_rows must be int, got str",
        [],
        id="plan_entries.token_rows.type",
    ),
    pytest.param(
        "plan_entries.token_columns.type",
        {"token_columns": "1"},
        "kv-canary: token_columns must be int, got str",
        [],
        id="plan_entries.token_columns.type",
    ),
    pytest.param(
        "plan_entries.verify_capacity.type",
        {"verify_capacity": "1"},
        "kv-canary: verify_capacity must be int, got str",
        [],
        id="plan_entries.verify_capacity.type",
    ),
    pytest.param(
        "plan_entries.kv_token_id_vs_position_offset.int64",
        {"kv_token_id_vs_position_offset": 9223372036854775808},
        "kv-canary: kv_token_id_vs_position_offset must fit in int64, got 9223372036854775808",
        [],
        id="plan_entries.kv_token_id_vs_position_offset.int64",
    ),
    pytest.param(
        "plan_entries.swa_window_size.int64",
        {"swa_window_size": 9223372036854775808},
        "kv-canary: swa_window_size must fit in int64, got 9223372036854775808",
        [],
        id="plan_entries.swa_window_size.int64",
    ),
    pytest.param(
        "plan_entries.req_pool_indices.contiguous",
        {
            "req_pool_indices": T((2,), "int64", strided=True),
            "prefix_lens": T((2,), "int64"),
            "verify_offsets_scratch": T((3,), "int64"),
        },
        "kv-canary: req_pool_indices must be contiguous",
        [],
        id="plan_entries.req_pool_indices.contiguous",
    ),
    pytest.param(
        "plan_entries.prefix_lens.contiguous",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64", strided=True),
            "verify_offsets_scratch": T((3,), "int64"),
        },
        "kv-canary: prefix_lens must be contiguous",
        [],
        id="plan_entries.prefix_lens.contiguous",
    ),
    pytest.param(
        "plan_entries.req_to_token.contiguous",
        {"req_to_token": T((2, 1), "int32", strided=True)},
        "kv-canary: req_to_token must be contiguous",
        [],
        id="plan_entries.req_to_token.contiguous",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.contiguous",
        {"full_to_swa_index_mapping": T((2,), "int64", strided=True)},
        "kv-canary: full_to_swa_index_mapping must be contiguous",
        [],
        id="plan_entries.full_to_swa_index_mapping.contiguous",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.contiguous",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "verify_offsets_scratch": T((3,), "int64", strided=True),
        },
        "kv-canary: verify_offsets_scratch must be contiguous",
        [],
        id="plan_entries.verify_offsets_scratch.contiguous",
    ),
    pytest.param(
        "plan_entries.verify_enable.contiguous",
        {"verify_enable": T((2,), "int32", strided=True)},
        "kv-canary: verify_enable must be contiguous",
        ["plan_entries.verify_enable.length"],
        id="plan_entries.verify_enable.contiguous-also-plan_entries.verify_enable.length",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.contiguous",
        {
            "req_to_verify_expected_tokens": T((2, 1), "int32", strided=True),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be contiguous",
        [],
        id="plan_entries.req_to_verify_expected_tokens.contiguous",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.contiguous",
        {
            "req_pool_indices": T((2,), "int64"),
            "prefix_lens": T((2,), "int64"),
            "verify_offsets_scratch": T((3,), "int64"),
            "req_to_verify_expected_tokens_valid_lens": T((2,), "int64", strided=True),
        },
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be contiguous",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.contiguous",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.contiguous",
        {
            "out_verify_slot_indices": T((2,), "int64", strided=True),
            "out_verify_expected_tokens": T((2,), "int64"),
            "out_verify_expected_positions": T((2,), "int64"),
            "out_verify_prev_slot_indices": T((2,), "int64"),
        },
        "kv-canary: out_verify_slot_indices must be contiguous",
        [],
        id="plan_entries.out_verify_slot_indices.contiguous",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.contiguous",
        {
            "out_verify_slot_indices": T((2,), "int64"),
            "out_verify_expected_tokens": T((2,), "int64", strided=True),
            "out_verify_expected_positions": T((2,), "int64"),
            "out_verify_prev_slot_indices": T((2,), "int64"),
        },
        "kv-canary: out_verify_expected_tokens must be contiguous",
        [],
        id="plan_entries.out_verify_expected_tokens.contiguous",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.contiguous",
        {
            "out_verify_slot_indices": T((2,), "int64"),
            "out_verify_expected_tokens": T((2,), "int64"),
            "out_verify_expected_positions": T((2,), "int64", strided=True),
            "out_verify_prev_slot_indices": T((2,), "int64"),
        },
        "kv-canary: out_verify_expected_positions must be contiguous",
        [],
        id="plan_entries.out_verify_expected_positions.contiguous",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.contiguous",
        {
            "out_verify_slot_indices": T((2,), "int64"),
            "out_verify_expected_tokens": T((2,), "int64"),
            "out_verify_expected_positions": T((2,), "int64"),
            "out_verify_prev_slot_indices": T((2,), "int64", strided=True),
        },
        "kv-canary: out_verify_prev_slot_indices must be contiguous",
        [],
        id="plan_entries.out_verify_prev_slot_indices.contiguous",
    ),
    pytest.param(
        "plan_entries.req_pool_indices.dtype",
        {"req_pool_indices": T((1,), "int32")},
        "kv-canary: req_pool_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.req_pool_indices.dtype",
    ),
    pytest.param(
        "plan_entries.prefix_lens.dtype",
        {"prefix_lens": T((1,), "int32")},
        "kv-canary: prefix_lens must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.prefix_lens.dtype",
    ),
    pytest.param(
        "plan_entries.req_to_token.dtype",
        {"req_to_token": T((1, 1), "int64")},
        "kv-canary: req_to_token must have dtype torch.int32, got torch.int64",
        [],
        id="plan_entries.req_to_token.dtype",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.dtype",
        {"full_to_swa_index_mapping": T((1,), "int32")},
        "kv-canary: full_to_swa_index_mapping must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.full_to_swa_index_mapping.dtype",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.dtype",
        {"verify_offsets_scratch": T((2,), "int32")},
        "kv-canary: verify_offsets_scratch must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.verify_offsets_scratch.dtype",
    ),
    pytest.param(
        "plan_entries.verify_enable.dtype",
        {"verify_enable": T((1,), "int64")},
        "kv-canary: verify_enable must have dtype torch.int32, got torch.int64",
        [],
        id="plan_entries.verify_enable.dtype",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.dtype",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int64"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must have dtype torch.int32, got torch.int64",
        [],
        id="plan_entries.req_to_verify_expected_tokens.dtype",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.dtype",
        {"req_to_verify_expected_tokens_valid_lens": T((1,), "int32")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must have dtype torch.int64, got "
        "torch.int32",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.dtype",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.dtype",
        {"out_verify_slot_indices": T((1,), "int32")},
        "kv-canary: out_verify_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.out_verify_slot_indices.dtype",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.dtype",
        {"out_verify_expected_tokens": T((1,), "int32")},
        "kv-canary: out_verify_expected_tokens must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.out_verify_expected_tokens.dtype",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.dtype",
        {"out_verify_expected_positions": T((1,), "int32")},
        "kv-canary: out_verify_expected_positions must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.out_verify_expected_positions.dtype",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.dtype",
        {"out_verify_prev_slot_indices": T((1,), "int32")},
        "kv-canary: out_verify_prev_slot_indices must have dtype torch.int64, got torch.int32",
        [],
        id="plan_entries.out_verify_prev_slot_indices.dtype",
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
        "plan_entries.req_pool_indices.rank",
        {"req_pool_indices": T((), "int64")},
        "kv-canary: req_pool_indices must be 1-D, got shape ()",
        [],
        id="plan_entries.req_pool_indices.rank",
    ),
    pytest.param(
        "plan_entries.req_pool_indices.length",
        {"req_pool_indices": T((0,), "int64"), "bs": 1},
        "kv-canary: req_pool_indices length must be 1, got 0",
        [],
        id="plan_entries.req_pool_indices.length",
    ),
    pytest.param(
        "plan_entries.prefix_lens.rank",
        {"prefix_lens": T((), "int64")},
        "kv-canary: prefix_lens must be 1-D, got shape ()",
        [],
        id="plan_entries.prefix_lens.rank",
    ),
    pytest.param(
        "plan_entries.prefix_lens.length",
        {"prefix_lens": T((0,), "int64")},
        "kv-canary: prefix_lens length must be 1, got 0",
        [],
        id="plan_entries.prefix_lens.length",
    ),
    pytest.param(
        "plan_entries.req_to_token.rank",
        {"req_to_token": T((), "int32")},
        "kv-canary: req_to_token must be 2-D, got shape ()",
        [],
        id="plan_entries.req_to_token.rank",
    ),
    pytest.param(
        "plan_entries.req_to_token.row_length",
        {"req_to_token": T((0, 1), "int32"), "max_reqs": 1},
        "kv-canary: req_to_token shape[0] must be 1, got 0",
        [],
        id="plan_entries.req_to_token.row_length",
    ),
    pytest.param(
        "plan_entries.req_to_token.position_length",
        {"req_to_token": T((1, 0), "int32"), "max_seq_len": 1},
        "kv-canary: req_to_token shape[1] must be 1, got 0",
        [],
        id="plan_entries.req_to_token.position_length",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.rank",
        {"full_to_swa_index_mapping": T((), "int64")},
        "kv-canary: full_to_swa_index_mapping must be 1-D, got shape ()",
        [],
        id="plan_entries.full_to_swa_index_mapping.rank",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.length",
        {"full_to_swa_index_mapping": T((1,), "int64"), "lut_len": 0},
        "kv-canary: full_to_swa_index_mapping length must be 0, got 1",
        [],
        id="plan_entries.full_to_swa_index_mapping.length",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.rank",
        {"verify_offsets_scratch": T((), "int64")},
        "kv-canary: verify_offsets_scratch must be 1-D, got shape ()",
        [],
        id="plan_entries.verify_offsets_scratch.rank",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.length",
        {"verify_offsets_scratch": T((1,), "int64")},
        "kv-canary: verify_offsets_scratch length must be >= 2, got 1",
        [],
        id="plan_entries.verify_offsets_scratch.length",
    ),
    pytest.param(
        "plan_entries.verify_enable.rank",
        {"verify_enable": T((), "int32")},
        "kv-canary: verify_enable must be 1-D, got shape ()",
        [],
        id="plan_entries.verify_enable.rank",
    ),
    pytest.param(
        "plan_entries.verify_enable.length",
        {"verify_enable": T((0,), "int32")},
        "kv-canary: verify_enable length must be 1, got 0",
        [],
        id="plan_entries.verify_enable.length",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.rank",
        {
            "req_to_verify_expected_tokens": T((), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be 2-D, got shape ()",
        [],
        id="plan_entries.req_to_verify_expected_tokens.rank",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.row_length",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
            "token_rows": 0,
        },
        "kv-canary: req_to_verify_expected_tokens shape[0] must be 0, got 1",
        [],
        id="plan_entries.req_to_verify_expected_tokens.row_length",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.column_length",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
            "token_columns": 0,
        },
        "kv-canary: req_to_verify_expected_tokens shape[1] must be 0, got 1",
        [],
        id="plan_entries.req_to_verify_expected_tokens.column_length",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.rank",
        {"req_to_verify_expected_tokens_valid_lens": T((), "int64")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be 1-D, got shape ()",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.rank",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.length",
        {"req_to_verify_expected_tokens_valid_lens": T((0,), "int64")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens length must be 1, got 0",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.length",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.rank",
        {"out_verify_slot_indices": T((), "int64")},
        "kv-canary: out_verify_slot_indices must be 1-D, got shape ()",
        [],
        id="plan_entries.out_verify_slot_indices.rank",
    ),
    pytest.param(
        "plan_entries.out_verify_slot_indices.length",
        {"out_verify_slot_indices": T((0,), "int64"), "verify_capacity": 1},
        "kv-canary: out_verify_slot_indices length must be 1, got 0",
        [],
        id="plan_entries.out_verify_slot_indices.length",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.rank",
        {"out_verify_expected_tokens": T((), "int64")},
        "kv-canary: out_verify_expected_tokens must be 1-D, got shape ()",
        [],
        id="plan_entries.out_verify_expected_tokens.rank",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.length",
        {"out_verify_expected_tokens": T((0,), "int64")},
        "kv-canary: out_verify_expected_tokens length must be 1, got 0",
        [],
        id="plan_entries.out_verify_expected_tokens.length",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.rank",
        {"out_verify_expected_positions": T((), "int64")},
        "kv-canary: out_verify_expected_positions must be 1-D, got shape ()",
        [],
        id="plan_entries.out_verify_expected_positions.rank",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.length",
        {"out_verify_expected_positions": T((0,), "int64")},
        "kv-canary: out_verify_expected_positions length must be 1, got 0",
        [],
        id="plan_entries.out_verify_expected_positions.length",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.rank",
        {"out_verify_prev_slot_indices": T((), "int64")},
        "kv-canary: out_verify_prev_slot_indices must be 1-D, got shape ()",
        [],
        id="plan_entries.out_verify_prev_slot_indices.rank",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.length",
        {"out_verify_prev_slot_indices": T((0,), "int64")},
        "kv-canary: out_verify_prev_slot_indices length must be 1, got 0",
        [],
        id="plan_entries.out_verify_prev_slot_indices.length",
    ),
    pytest.param(
        "plan_entries.req_pool_indices.device",
        {"req_pool_indices": T((1,), "int64", device="meta")},
        "kv-canary: req_pool_indices must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan_entries.req_pool_indices.device",
    ),
    pytest.param(
        "plan_entries.prefix_lens.device",
        {"prefix_lens": T((1,), "int64", device="meta")},
        "kv-canary: prefix_lens must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan_entries.prefix_lens.device",
    ),
    pytest.param(
        "plan_entries.req_to_token.device",
        {"req_to_token": T((1, 1), "int32", device="meta")},
        "kv-canary: req_to_token must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan_entries.req_to_token.device",
    ),
    pytest.param(
        "plan_entries.full_to_swa_index_mapping.device",
        {"full_to_swa_index_mapping": T((1,), "int64", device="meta")},
        "kv-canary: full_to_swa_index_mapping must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan_entries.full_to_swa_index_mapping.device",
    ),
    pytest.param(
        "plan_entries.verify_offsets_scratch.device",
        {"verify_offsets_scratch": T((2,), "int64", device="meta")},
        "kv-canary: verify_offsets_scratch must be on out_verify_slot_indices's device cpu, got "
        "meta",
        [],
        id="plan_entries.verify_offsets_scratch.device",
    ),
    pytest.param(
        "plan_entries.verify_enable.device",
        {"verify_enable": T((1,), "int32", device="meta")},
        "kv-canary: verify_enable must be on out_verify_slot_indices's device cpu, got meta",
        [],
        id="plan_entries.verify_enable.device",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens.device",
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32", device="meta"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        "kv-canary: req_to_verify_expected_tokens must be on out_verify_slot_indices's device "
        "cpu, got meta",
        [],
        id="plan_entries.req_to_verify_expected_tokens.device",
    ),
    pytest.param(
        "plan_entries.req_to_verify_expected_tokens_valid_lens.device",
        {"req_to_verify_expected_tokens_valid_lens": T((1,), "int64", device="meta")},
        "kv-canary: req_to_verify_expected_tokens_valid_lens must be on out_verify_slot_indices's "
        "device cpu, got meta",
        [],
        id="plan_entries.req_to_verify_expected_tokens_valid_lens.device",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_tokens.device",
        {"out_verify_expected_tokens": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_expected_tokens must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan_entries.out_verify_expected_tokens.device",
    ),
    pytest.param(
        "plan_entries.out_verify_expected_positions.device",
        {"out_verify_expected_positions": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_expected_positions must be on out_verify_slot_indices's device "
        "cpu, got meta",
        [],
        id="plan_entries.out_verify_expected_positions.device",
    ),
    pytest.param(
        "plan_entries.out_verify_prev_slot_indices.device",
        {"out_verify_prev_slot_indices": T((1,), "int64", device="meta")},
        "kv-canary: out_verify_prev_slot_indices must be on out_verify_slot_indices's device cpu, "
        "got meta",
        [],
        id="plan_entries.out_verify_prev_slot_indices.device",
    ),
]

# Rules that no call breaks without breaking an earlier one first.
NEVER_FIRST: list[str] = []

EXAMPLES: list[Any] = [
    pytest.param(
        "plan_entries.expected_tokens_need_valid_lens",
        {"req_to_verify_expected_tokens": T((1, 1), "int32")},
        {
            "req_to_verify_expected_tokens": T((1, 1), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((1,), "int64"),
        },
        id="plan_entries.expected_tokens_need_valid_lens",
    ),
]

SHAPES: list[Any] = [
    pytest.param(
        {
            "req_pool_indices": T((1,), "int64"),
            "prefix_lens": T((1,), "int64"),
            "req_to_token": T((1, 1), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((2,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((1,), "int64"),
            "out_verify_expected_tokens": T((1,), "int64"),
            "out_verify_expected_positions": T((1,), "int64"),
            "out_verify_prev_slot_indices": T((1,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        1,
        id="smallest",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((1,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((0,), "int64"),
            "out_verify_expected_tokens": T((0,), "int64"),
            "out_verify_expected_positions": T((0,), "int64"),
            "out_verify_prev_slot_indices": T((0,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        1,
        id="empty_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((1,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        1,
        id="empty_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((3,), "int64"),
            "out_verify_expected_tokens": T((3,), "int64"),
            "out_verify_expected_positions": T((3,), "int64"),
            "out_verify_prev_slot_indices": T((3,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="odd_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="odd_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((18,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((17,), "int64"),
            "out_verify_expected_tokens": T((17,), "int64"),
            "out_verify_expected_positions": T((17,), "int64"),
            "out_verify_prev_slot_indices": T((17,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        17,
        id="seventeen_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((18,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        17,
        id="seventeen_roomy_no_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((0,), "int64"),
            "verify_offsets_scratch": T((1,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((0, 0), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((0,), "int64"),
            "out_verify_slot_indices": T((0,), "int64"),
            "out_verify_expected_tokens": T((0,), "int64"),
            "out_verify_expected_positions": T((0,), "int64"),
            "out_verify_prev_slot_indices": T((0,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        1,
        id="empty_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((0,), "int64"),
            "prefix_lens": T((0,), "int64"),
            "req_to_token": T((0, 0), "int32"),
            "full_to_swa_index_mapping": T((0,), "int64"),
            "verify_offsets_scratch": T((1,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((0, 0), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((0,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        1,
        id="empty_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((3,), "int64"),
            "out_verify_expected_tokens": T((3,), "int64"),
            "out_verify_expected_positions": T((3,), "int64"),
            "out_verify_prev_slot_indices": T((3,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="odd_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="odd_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "verify_offsets_scratch": T((18,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((17, 17), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((17,), "int64"),
            "out_verify_slot_indices": T((17,), "int64"),
            "out_verify_expected_tokens": T((17,), "int64"),
            "out_verify_expected_positions": T((17,), "int64"),
            "out_verify_prev_slot_indices": T((17,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        17,
        id="seventeen_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((17,), "int64"),
            "prefix_lens": T((17,), "int64"),
            "req_to_token": T((17, 17), "int32"),
            "full_to_swa_index_mapping": T((17,), "int64"),
            "verify_offsets_scratch": T((18,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((17, 17), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((17,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        17,
        id="seventeen_roomy_all_optional",
    ),
    pytest.param(
        {
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": T((5,), "int64"),
            "verify_offsets_scratch": T((6,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": None,
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        5,
        id="only_full_to_swa_index_mapping",
    ),
    pytest.param(
        {
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((6,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((5, 5), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((5,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        5,
        id="only_req_to_verify_expected_tokens",
    ),
    pytest.param(
        {
            "req_pool_indices": T((5,), "int64"),
            "prefix_lens": T((5,), "int64"),
            "req_to_token": T((5, 5), "int32"),
            "full_to_swa_index_mapping": None,
            "verify_offsets_scratch": T((6,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": None,
            "req_to_verify_expected_tokens_valid_lens": T((5,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        5,
        id="only_req_to_verify_expected_tokens_valid_lens",
    ),
    pytest.param(
        {
            "req_pool_indices": T((256,), "int64"),
            "prefix_lens": T((256,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((257,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((256,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        256,
        id="bs_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "req_pool_indices": T((257,), "int64"),
            "prefix_lens": T((257,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((258,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((257,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        257,
        id="bs_of_TOKEN_BLOCK_and_1",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 256), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="max_seq_len_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 257), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((640,), "int64"),
            "out_verify_expected_tokens": T((640,), "int64"),
            "out_verify_expected_positions": T((640,), "int64"),
            "out_verify_prev_slot_indices": T((640,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="max_seq_len_of_TOKEN_BLOCK_and_1",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((256,), "int64"),
            "out_verify_expected_tokens": T((256,), "int64"),
            "out_verify_expected_positions": T((256,), "int64"),
            "out_verify_prev_slot_indices": T((256,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="verify_capacity_of_TOKEN_BLOCK",
    ),
    pytest.param(
        {
            "req_pool_indices": T((3,), "int64"),
            "prefix_lens": T((3,), "int64"),
            "req_to_token": T((3, 3), "int32"),
            "full_to_swa_index_mapping": T((3,), "int64"),
            "verify_offsets_scratch": T((4,), "int64"),
            "verify_enable": T((1,), "int32"),
            "req_to_verify_expected_tokens": T((3, 3), "int32"),
            "req_to_verify_expected_tokens_valid_lens": T((3,), "int64"),
            "out_verify_slot_indices": T((257,), "int64"),
            "out_verify_expected_tokens": T((257,), "int64"),
            "out_verify_expected_positions": T((257,), "int64"),
            "out_verify_prev_slot_indices": T((257,), "int64"),
            "kv_token_id_vs_position_offset": 0,
            "swa_window_size": 0,
        },
        3,
        id="verify_capacity_of_TOKEN_BLOCK_and_1",
    ),
]


def assembled(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the launcher from arguments by path."""
    return {path: make(value) for path, value in arguments.items()}


def test_smallest_valid_call_passes_fast_and_in_full() -> None:
    arguments = assembled(VALID)
    assert accepts_plan_entries(**arguments)
    assert inspect_plan_entries(**arguments) == ()
    assert validate_plan_entries(**arguments) is None  # type: ignore[func-returns-value]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_smallest_breaking_call_raises_exactly_its_message(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    arguments = assembled(changed(VALID, changes))
    with pytest.raises(ContractError) as caught:
        validate_plan_entries(**arguments)
    assert str(caught.value) == message
    assert [broken.rule_id for broken in caught.value.broken_rules] == [rule, *overlap]


@pytest.mark.parametrize(("rule", "changes", "message", "overlap"), BREAKING)
def test_launcher_raises_the_same(
    rule: str, changes: dict[str, Any], message: str, overlap: list[str]
) -> None:
    if set(changes) & set(SIZES):
        return  # A launcher takes no sizes.
    with pytest.raises(ContractError) as caught:
        launch_plan_entries_kernel(**assembled(changed(VALID, changes)))
    assert str(caught.value) == message


def test_every_rule_has_a_breaking_call_or_is_never_first() -> None:
    from kv_canary_kernels.rules import IMPLIED

    reached = {case.values[0] for case in BREAKING} | set(NEVER_FIRST)
    implied = {rule for rule in IMPLIED if rule.startswith("plan_entries.")}
    assert implied <= reached


@pytest.mark.parametrize(("rule", "wrong", "right"), EXAMPLES)
def test_example_of_the_spec_breaks_its_rule_and_is_mended(
    rule: str, wrong: dict[str, Any], right: dict[str, Any]
) -> None:
    with pytest.raises(ContractError) as caught:
        validate_plan_entries(**assembled(changed(VALID, wrong)))
    assert caught.value.broken_rules[0].rule_id == rule
    validate_plan_entries(**assembled(changed(VALID, right)))


def filled(arguments: dict[str, Any], device: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments with contents, and the poisoned buffer around each output."""

    def shape(path: str, axis: int) -> int:
        return arguments[path].shape[axis] if arguments[path] is not None else 0

    max_reqs = shape("req_to_token", 0)
    max_seq_len = shape("req_to_token", 1)
    verify_capacity = shape("out_verify_slot_indices", 0)
    bounds: dict[str, tuple[int, int]] = {
        "req_pool_indices": (0, max_reqs - 1),
        "prefix_lens": (0, max_seq_len),
        "verify_offsets_scratch": (0 - max_seq_len, verify_capacity),
    }
    samples: dict[str, Any] = {
        "verify_offsets_scratch": lambda i: i * max_seq_len,
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
    launch_plan_entries_kernel(**assembled(arguments))


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

    from kv_canary_kernels.kernels.plan_entries import _plan_entries_kernel

    signature = {
        "req_pool_indices_ptr": "*i64",
        "prefix_lens_ptr": "*i64",
        "req_to_token_ptr": "*i32",
        "verify_offsets_scratch_ptr": "*i64",
        "verify_enable_ptr": "*i32",
        "out_verify_slot_indices_ptr": "*i64",
        "out_verify_expected_tokens_ptr": "*i64",
        "out_verify_expected_positions_ptr": "*i64",
        "out_verify_prev_slot_indices_ptr": "*i64",
        "full_to_swa_index_mapping_ptr": "*i64",
        "req_to_verify_expected_tokens_ptr": "*i32",
        "req_to_verify_expected_tokens_valid_lens_ptr": "*i64",
        "bs": "i64",
        "max_reqs": "i64",
        "max_seq_len": "i64",
        "lut_len": "i64",
        "token_rows": "i64",
        "token_columns": "i64",
        "verify_capacity": "i64",
        "kv_token_id_vs_position_offset": "i64",
        "swa_window_size": "i64",
    }
    constants: dict[str, Any] = dict(zip(COMPILED_IN, values, strict=True))
    for name, is_given in zip(OPTIONAL, given, strict=True):
        if not is_given:
            signature[name] = "constexpr"
            constants[name] = None
    source = ASTSource(fn=_plan_entries_kernel, signature=signature, constexprs=constants)
    options = {"enable_fp_fusion": True}  # Said, because Triton 3.9 warns where nobody says.
    compiled = triton.compile(source, target=GPUTarget(*target), options=options)
    assert compiled.asm[{"cuda": "cubin", "hip": "hsaco"}[target[0]]]
