"""The plan's launchers equal the oracle on batches nobody chose, sound ones and damaged ones.

Hypothesis picks the sizes, the scalars, how much of the tables is damaged, and a seed that fills
them, so that a failure shrinks to a small batch.  The runs are the same each time.
"""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    # The fixtures choose a backend and hold no state that an example could leave behind.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=2_000)

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

POWERS = [2**31, 2**32, 2**62]
WILD_INT64 = [
    *(sign * power + step for power in POWERS for sign in (-1, 1) for step in (-1, 0, 1)),
    *(INT64_MIN, INT64_MIN + 1, -3, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX),
]
WILD_INT32 = [INT32_MIN, INT32_MIN + 1, -3, -2, -1, 0, 1, INT32_MAX - 1, INT32_MAX]

SIZES = st.sampled_from([3, 1, 2, 4, 5, 8, 9, 15, 16, 17, 31, 33, 0])
ROWS = st.sampled_from([3, 2, 4, 5, 7, 3, 2, 4, 5, 1, 0])
LENGTHS = st.sampled_from([4, 1, 2, 3, 5, 8, 9, 31, 33, 64, 127, 129, 257, 0])
DAMAGE = st.sampled_from([0.0, 0.0, 0.1, 0.3, 1.0])
WINDOWS = st.sampled_from([0, 0, 0, 0, 1, 3, 8, 64, -1, INT64_MIN, INT64_MAX])
TOKEN_OFFSETS = st.sampled_from(
    [0, 0, 0, 1, 1, -1, -1, 3, -3, INT32_MAX, 2**32, INT64_MIN, INT64_MAX]
)
SLACK = st.sampled_from([0, 0, 0, 1, 7, 300, -1, INT32_MIN])
"""How many entries more than the batch wants the plan holds; far below 0 means none at all."""


class Filler:
    """Fills tensors from one seed, a share of the values damaged."""

    def __init__(self, seed, damage):
        self.random = Random(seed)
        self.damage = damage

    def fill(self, length, low, high, wild):
        """`length` values from low to high, or one of the wild ones or of the edges instead."""
        edges = [*wild, low - 1, high, high + 1]
        return [
            self.random.choice(edges)
            if self.random.random() < self.damage
            else self.random.randint(low, max(low, high))
            for _ in range(length)
        ]

    def table(self, rows, columns, low, high):
        return [self.fill(columns, low, high, WILD_INT32) for _ in range(rows)]


@st.composite
def batches(draw):
    """Inputs of the plan launcher, without a capacity."""
    bs, max_reqs, max_seq_len = draw(SIZES), draw(ROWS), draw(LENGTHS)
    window = draw(WINDOWS)
    has_mapping = window > 0 or draw(st.booleans())
    has_tokens = draw(st.sampled_from([True, True, False]))
    lut_len = draw(st.sampled_from([1, 2, 50, 300]))
    filler = Filler(draw(st.integers(0, 2**32 - 1)), draw(DAMAGE))
    highest_slot = lut_len - 1 if has_mapping else 5_000
    token_rows = draw(st.sampled_from([max_reqs] * 4 + [max_reqs + 2, 1, 0]))
    token_columns = draw(
        st.sampled_from([max_seq_len] * 3 + [max_seq_len + 3, max_seq_len // 2, 0])
    )
    return {
        # A row is padding about once in max_reqs times.
        "req_pool_indices": filler.fill(bs, 0, max_reqs - 1, WILD_INT64),
        "prefix_lens": filler.fill(bs, 0, max_seq_len, WILD_INT64),
        "extend_seq_lens": filler.fill(bs, 0, 3 * max_seq_len, WILD_INT64),
        "req_to_token": filler.table(max_reqs, max_seq_len, -1, highest_slot),
        "swa_window_size": window,
        "full_to_swa_index_mapping": (
            filler.fill(lut_len, 0, 5_000, WILD_INT64) if has_mapping else None
        ),
        "write_req_capacity": bs + draw(st.sampled_from([0, 1, 5])),
        "req_to_verify_expected_tokens": (
            filler.table(token_rows, token_columns, 0, 50_000) if has_tokens else None
        ),
        "req_to_verify_expected_tokens_valid_lens": (
            filler.fill(bs, 0, max_seq_len, WILD_INT64) if has_tokens else None
        ),
        "kv_token_id_vs_position_offset": draw(TOKEN_OFFSETS),
    }


def large_batch(bs):
    """Many short requests, a tenth of their values damaged."""
    filler = Filler(bs, 0.1)
    return {
        "req_pool_indices": filler.fill(bs, 0, 5, WILD_INT64),
        "prefix_lens": filler.fill(bs, 0, 6, WILD_INT64),
        "extend_seq_lens": filler.fill(bs, 0, 9, WILD_INT64),
        "req_to_token": filler.table(6, 6, -1, 49),
        "swa_window_size": 4,
        "full_to_swa_index_mapping": filler.fill(50, 0, 40, WILD_INT64),
        "write_req_capacity": bs + 3,
        "req_to_verify_expected_tokens": filler.table(6, 7, 0, 50_000),
        "req_to_verify_expected_tokens_valid_lens": filler.fill(bs, 0, 6, WILD_INT64),
        "kv_token_id_vs_position_offset": 1,
    }


def offsets_inputs(inputs):
    """What the offsets half reads of a plan's inputs."""
    return {
        name: value
        for name, value in inputs.items()
        if not name.startswith(("req_to_verify_expected_tokens", "kv_token_id"))
    }


def entries_inputs(inputs, scratch, enable):
    """What the entries half reads of a plan's inputs, with a scratch."""
    return {
        name: value
        for name, value in inputs.items()
        if name not in ("extend_seq_lens", "write_req_capacity")
    } | {"verify_offsets_scratch": scratch, "verify_enable": enable}


class TestPlan:
    """The launcher, and its two halves one after the other."""

    @pytest.fixture
    def check(self, plan_calls, oracle, expected_outputs):
        def check(batch, slack):
            wanted = oracle.plan_offsets(**offsets_inputs(batch), verify_capacity=0)
            inputs = batch | {"verify_capacity": max(0, wanted.verify_offsets[-1] + slack)}
            plan = oracle.plan(**inputs)
            expect = {name: getattr(plan, name) for name in plan.__slots__}
            expected = expected_outputs(inputs, expect)
            assert plan_calls.plan(inputs) == expected
            outputs, verify_offsets = plan_calls.halves_and_offsets(inputs)
            assert outputs == expected
            assert verify_offsets == wanted.verify_offsets

        return check

    @QUICK
    @given(batch=batches(), slack=SLACK)
    def test_equals_oracle(self, check, batch, slack):
        check(batch, slack)

    @pytest.mark.soak
    @LONG
    @given(batch=batches(), slack=SLACK)
    def test_equals_oracle_many_times(self, check, batch, slack):
        check(batch, slack)

    @pytest.mark.parametrize("bs", [127, 128, 129, 257])
    def test_equals_oracle_on_a_large_batch(self, check, bs):
        check(large_batch(bs), 0)

    # One program a request, and the interpreter runs them one after the other.
    @pytest.mark.parametrize(
        "backend",
        [
            "torch",
            pytest.param("interpreter", marks=pytest.mark.soak),
            pytest.param("gpu", marks=pytest.mark.gpu),
            pytest.param("torch-on-gpu", marks=pytest.mark.gpu),
        ],
        indirect=True,
    )
    @pytest.mark.parametrize("bs", [4095, 4096])
    def test_equals_oracle_on_the_largest_batch(self, check, bs):
        check(large_batch(bs), 0)


ENTRY_FIELDS = {
    "verify_slot_indices": "slot",
    "verify_expected_tokens": "token",
    "verify_expected_positions": "position",
    "verify_prev_slot_indices": "previous_slot",
}
"""Each output of the entries half, and the field of the oracle's entry that it holds."""

SCRATCHES = st.sampled_from(["packed", "shifted", "gaps", "wild", "wild"])
SHIFTS = st.sampled_from([-300, -40, -3, -1, 1, 3, 40, 2**32, -(2**32), 2**62, -(2**62)])
ENABLES = st.sampled_from([1, 1, 1, 1, 2, -1, INT32_MAX, INT32_MIN, 0])


@st.composite
def scratches(draw):
    """How to make a scratch for a batch: a function of the counts of its requests."""
    kind, shift, seed = draw(SCRATCHES), draw(SHIFTS), draw(st.integers(0, 2**32 - 1))
    extra = draw(st.sampled_from([0, 0, 1, 9]))

    def scratch(counts, capacity):
        random = Random(seed)
        if kind == "wild":
            filler = Filler(seed, 0.5)
            return filler.fill(len(counts) + 1 + extra, -5, capacity + 5, WILD_INT64)
        starts = [0 if kind == "packed" else shift]
        for count in counts:
            gap = random.choice([0, 0, 1, 4]) if kind == "gaps" else 0
            starts.append(starts[-1] + count + gap)
        return starts + [random.choice(WILD_INT64) for _ in range(extra)]

    return kind, scratch


class TestEntriesAlone:
    """The entries half with a scratch that the offsets half never wrote."""

    @pytest.fixture
    def check(self, plan_calls, oracle, poison):
        def check(batch, how, enable, slack):
            kind, make_scratch = how
            offsets = oracle.plan_offsets(**offsets_inputs(batch), verify_capacity=0).verify_offsets
            capacity = max(0, offsets[-1] + slack)
            counts = [end - start for start, end in pairwise(offsets)]
            inputs = entries_inputs(batch, make_scratch(counts, capacity), enable)
            inputs["verify_capacity"] = capacity
            allowed = oracle.plan_entries(**inputs)
            outputs = plan_calls.entries(inputs)
            for name, field in ENTRY_FIELDS.items():
                buffer = outputs[name]
                guard = (len(buffer) - capacity) // 2
                outside = buffer[:guard] + buffer[guard + capacity :]
                assert set(outside) == {poison[name]}, f"{name}: written outside the plan"
                for index, value in enumerate(buffer[guard : guard + capacity]):
                    may_be = [getattr(entry, field) for entry in allowed[index]]
                    # Ranges that overlap leave open whose entry is written, or whether one is.
                    if kind == "wild" or not may_be:
                        may_be.append(poison[name])
                    assert value in may_be, f"{name}[{index}]"

        return check

    @QUICK
    @given(batch=batches(), how=scratches(), enable=ENABLES, slack=SLACK)
    def test_stays_inside_the_plan(self, check, batch, how, enable, slack):
        check(batch, how, enable, slack)

    @pytest.mark.soak
    @LONG
    @given(batch=batches(), how=scratches(), enable=ENABLES, slack=SLACK)
    def test_stays_inside_the_plan_many_times(self, check, batch, how, enable, slack):
        check(batch, how, enable, slack)
