"""Write, verify and scatter equal the oracle on calls nobody chose, sound ones and damaged ones.

Hypothesis picks the sizes, the choices, how much of the tables is damaged, and a seed that fills
them, so that a failure shrinks to a small call.  The runs are the same each time.
"""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = settings(
    max_examples=150,
    derandomize=True,
    deadline=None,
    database=None,
    # The fixtures choose a backend and hold no state that an example could leave behind.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SHORT = settings(QUICK, max_examples=60)
"""For two launches an example."""
LONG = settings(QUICK, max_examples=2_000)

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

POWERS = [2**31, 2**32, 2**62]
WILD_INT64 = [
    *(sign * power + step for power in POWERS for sign in (-1, 1) for step in (-1, 0, 1)),
    *(INT64_MIN, INT64_MIN + 1, -3, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX),
]
WILD_INT32 = [INT32_MIN, INT32_MIN + 1, -3, -2, -1, 0, 1, INT32_MAX - 1, INT32_MAX]

# What is repeated here is drawn more often.
SLOTS = st.sampled_from([20, 33, 12, 40, 20, 33, 12, 40, 20, 33, 7, 7, 3, 2, 1, 0])
ROW_FIELDS = st.sampled_from([4, 6, 8])
FORMATS = st.sampled_from(["serial", "parallel"])
MODES = st.sampled_from([0, 1, 2, 2])
SOURCES = st.sampled_from([0, 1, 2, 3, 4])
REQUESTS = st.sampled_from([3, 2, 5, 8, 3, 2, 5, 8, 3, 2, 1, 0])
LONGEST = st.sampled_from([6, 12, 6, 3, 1])
RINGS = st.sampled_from([64, 64, 64, 64, 64, 8, 2, 1, 0])
WRITE_INDICES = st.sampled_from(
    [*[0, 1, 2] * 6, 64, -1, INT32_MIN, INT32_MAX, 2**30 - 2, 2**30 - 1, 2**30]
)
COUNTS = st.sampled_from([0, 0, 41, -1, INT64_MAX, INT64_MIN])
FLAGS = st.sampled_from([1, 1, 0, -1, INT32_MIN])
DAMAGE = st.sampled_from([0.05, 0.1, 0.2, 0.0, 0.05, 0.1, 0.2, 0.6])
SEEDS = st.integers(0, 2**32 - 1)


class Damage:
    """Values from one seed, of which a share is damaged."""

    def __init__(self, seed, share):
        self.random = Random(seed)
        self.share = share

    def less_often(self):
        """The same for what takes a whole request, or all of them, along with it."""
        less = Damage(0, self.share / 3)
        less.random = self.random
        return less

    def strikes(self):
        return self.random.random() < self.share

    def of(self, value, *edges):
        """The value, or now and then one of the edges or a wild one instead."""
        return self.random.choice([*edges, *edges, *WILD_INT64]) if self.strikes() else value

    def of_int32(self, value, *edges):
        return self.random.choice([*edges, *WILD_INT32]) if self.strikes() else value

    def of_each(self, values, *edges):
        return [self.of(value, *edges) for value in values]


def source(random, num_slots):
    """A source with pages, holes and gaps, whose rows cover every slot."""
    page_size = random.choice([1, 1, 2, 3, 4, 16])
    per_token = random.choice([16, 16, 32, 48, 64])
    view = page_size * per_token + random.choice([0, 0, 16, 48])
    stride = view + random.choice([0, 0, 16, 80])
    rows = -(-num_slots // page_size) + random.choice([0, 0, 1])
    return {
        "rows_hex": [random.randbytes(stride).hex() for _ in range(rows)],
        "row_stride_bytes": stride,
        "view_cols": view,
        "page_size": page_size,
        "num_bytes_per_token": per_token,
        "read_bytes": random.choice(range(16, per_token + 1, 16)),
        "dtype": random.choice(["uint8", "uint8", "bfloat16", "float32"]),
    }


@st.composite
def contexts(draw, num_slots=SLOTS, sources=SOURCES):
    """What write and verify share: the buffer, the sources, the ring and the counters."""
    random = Random(draw(SEEDS))
    slots, fields = draw(num_slots), draw(ROW_FIELDS)
    return {
        "canary_buf_i64": [
            [random.randrange(50_000), random.randrange(90)]
            + [random.randrange(INT64_MIN, INT64_MAX) for _ in range(fields - 2)]
            for _ in range(slots)
        ],
        "kernel_kind": random.randrange(12),
        "ring_capacity": draw(RINGS),
        "violation_write_index": draw(WRITE_INDICES),
        "real_kv_hash_mode": draw(MODES),
        "real_kv_sources": [source(random, slots) for _ in range(draw(sources))],
        "hash_format": draw(FORMATS),
        "slot_run_counter": draw(COUNTS),
        "kernel_run_counter": draw(COUNTS),
        "evidence_ring": draw(st.booleans()),
    }


# Write -------------------------------------------------------------------------------------------


def sound_requests(random, context, count, longest):
    """Seeds and entries of requests that write to slots of their own, and to slot 0 at times."""
    free = list(range(1, len(context["canary_buf_i64"])))
    random.shuffle(free)
    seeds = [free.pop() if free and random.random() < 0.6 else -1 for _ in range(count)]
    requests = []
    for seed in seeds:
        position = 0 if seed == -1 else context["canary_buf_i64"][seed][1] + 1
        entries = []
        for _ in range(random.choice([0, *range(1, longest + 1)])):
            skipped = not free or random.random() < 0.15
            slot = random.choice([-1, -1, -5]) if skipped else free.pop()
            entries.append((random.randrange(50_000), position, slot))
            position += not skipped
        requests.append((seed, entries))
    return requests


def write_inputs(context, requests, damage, *, slack, chain_flag, checks_input):
    """The inputs of a write call for requests, a share of them damaged."""
    random = damage.random
    slots = len(context["canary_buf_i64"])
    entries = [entry for _, of_request in requests for entry in of_request]
    entries += [(7, 7, 1)] * slack  # past the last offset
    offsets = [0]
    for _, of_request in requests:
        offsets.append(offsets[-1] + len(of_request))
    tokens = damage.of_each([token for token, _, _ in entries])
    positions = damage.of_each([position for _, position, _ in entries], 3, 4)
    expected = None
    if checks_input:
        expected = [
            (token, position)
            if random.random() < 0.8
            else (random.choice([token, token ^ 1]), random.choice([position, 3]))
            for token, position in zip(tokens, positions, strict=True)
        ]
    return context | {
        "enable_chain_position_assert": chain_flag,
        # What lies past the requests in use is not read.
        "write_offsets": (
            damage.less_often().of_each(offsets, *offsets, len(entries) + 1) + [5] * slack
        ),
        "write_seed_slot_indices": damage.of_each(
            [seed for seed, _ in requests], 0, slots - 1, slots, slots + 1
        )
        + [99] * slack,
        "write_num_valid_reqs": damage.less_often().of_int32(len(requests), len(requests) + slack),
        "input_ids": tokens,
        "positions": positions,
        "out_cache_loc": damage.of_each(
            [slot for _, _, slot in entries], 0, 1, slots - 1, slots, slots + 1
        ),
        "enable_write_input_assert": checks_input,
        "expected_input_tokens": None if expected is None else [token for token, _ in expected],
        "expected_input_positions": (
            None if expected is None else [position for _, position in expected]
        ),
    }


@st.composite
def write_calls(draw):
    """Inputs of a write call."""
    context = draw(contexts())
    damage = Damage(draw(SEEDS), draw(DAMAGE))
    return write_inputs(
        context,
        sound_requests(damage.random, context, draw(REQUESTS), draw(LONGEST)),
        damage,
        slack=draw(st.sampled_from([0, 0, 1, 3])),
        chain_flag=draw(FLAGS),
        checks_input=draw(st.booleans()),
    )


def for_the_oracle(inputs):
    """The oracle always knows the evidence."""
    return {name: value for name, value in inputs.items() if name != "evidence_ring"}


@pytest.fixture
def check_launch(stamp_calls, stamp_oracle, expected_launch):
    """Compare a launch with the oracle, and give the oracle's back."""

    def check(kernel, inputs):
        launch = getattr(stamp_oracle, kernel)(**for_the_oracle(inputs))
        expected = expected_launch.of_oracle(inputs, launch)
        assert expected.difference(getattr(stamp_calls, kernel)(inputs)) is None
        return launch

    return check


def fixed_context(num_slots, hash_format):
    """A context that holds whatever violations there may be."""
    random = Random(num_slots)
    return {
        "canary_buf_i64": [
            [random.randrange(50_000), random.randrange(90), random.randrange(INT64_MAX), 0]
            for _ in range(num_slots)
        ],
        "kernel_kind": 2,
        "ring_capacity": 5_000,
        "violation_write_index": 3,
        "real_kv_hash_mode": 2,
        "real_kv_sources": [source(random, num_slots), source(random, num_slots)],
        "hash_format": hash_format,
        "evidence_ring": True,
    }


def long_write(length, hash_format):
    """One long request and a short one, with a tenth of all entries damaged."""
    context = fixed_context(length + 10, hash_format)
    damage = Damage(length, 0.1)
    slots = list(range(6, length + 9))
    damage.random.shuffle(slots)
    seed = 5  # damage writes to no such slot
    start = context["canary_buf_i64"][seed][1] + 1
    long = [(damage.random.randrange(50_000), start + k, slots.pop()) for k in range(length)]
    short = [(damage.random.randrange(50_000), k, slots.pop()) for k in range(3)]
    inputs = write_inputs(
        context, [(seed, long), (-1, short)], damage, slack=1, chain_flag=1, checks_input=True
    )
    return inputs | {  # the damage is to the entries
        "write_offsets": [0, length, length + 3, 0],
        "write_seed_slot_indices": [seed, -1, 0],
        "write_num_valid_reqs": 2,
    }


class TestWrite:
    @QUICK
    @given(inputs=write_calls())
    def test_equals_oracle(self, check_launch, inputs):
        check_launch("write", inputs)

    @pytest.mark.soak
    @LONG
    @given(inputs=write_calls())
    def test_equals_oracle_many_times(self, check_launch, inputs):
        check_launch("write", inputs)

    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("length", [31, 32, 33, 127, 128, 129, 257])
    def test_equals_oracle_on_a_long_request(self, check_launch, length, hash_format):
        """Skipped entries in between, wrong positions, and another request after it."""
        launch = check_launch("write", long_write(length, hash_format))
        assert launch.violations
        assert not launch.unspecified_seeds

    @pytest.mark.soak
    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("length", [1023, 1024, 1025, 4097])
    def test_equals_oracle_on_a_longer_request(self, check_launch, length, hash_format):
        check_launch("write", long_write(length, hash_format))

    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    def test_equals_oracle_on_many_requests(self, check_launch, hash_format):
        """More than fit in one block of requests, and every kind among them."""
        context = fixed_context(400, hash_format)
        damage = Damage(5, 0.1)
        requests = sound_requests(damage.random, context, 150, 2)
        inputs = write_inputs(
            context, requests, damage, slack=2, chain_flag=1, checks_input=True
        ) | {"write_num_valid_reqs": 150}
        check_launch("write", inputs)


# Verify ------------------------------------------------------------------------------------------


def after_write(oracle, context, requests):
    """The context once the requests, which are sound, have been written."""
    sound = write_inputs(
        context, requests, Damage(0, 0.0), slack=0, chain_flag=1, checks_input=False
    )
    launch = oracle.write(**for_the_oracle(sound))
    assert launch.violations == []
    return context | {"canary_buf_i64": launch.canary_buf_i64}


def plan_entries_of(requests):
    """What a plan says of all that the requests store: slot, token, position, previous slot."""
    plan = []
    for seed, entries in requests:
        previous = seed
        for token, position, slot in entries:
            if slot >= 0:
                plan.append((slot, token, position, previous))
                previous = slot
    return plan


def with_flipped_bit(value, bit):
    """An int64 with one bit the other way."""
    flipped = (value ^ (1 << bit)) % 2**64
    return flipped - 2**64 if flipped >= 2**63 else flipped


def with_damaged_stamps(canary_buf_i64, damage):
    """Now and then a bit of a field flips, or a whole row is another's."""
    random = damage.random
    rows = [
        [
            with_flipped_bit(field, random.randrange(64)) if damage.strikes() else field
            for field in row
        ]
        for row in canary_buf_i64
    ]
    return [random.choice(rows) if damage.strikes() else row for row in rows]


def with_damaged_bytes(sources, damage):
    """Now and then a bit of a source's row flips, wherever in the row."""

    def damaged(row):
        data = bytearray.fromhex(row)
        if damage.strikes():
            data[damage.random.randrange(len(data))] ^= 1 << damage.random.randrange(8)
        return data.hex()

    return [one | {"rows_hex": [damaged(row) for row in one["rows_hex"]]} for one in sources]


def verify_inputs(context, plan, damage, *, slack, enable=1, report=False, checks_token=True):
    """The inputs of a verify call for a plan, a share of them damaged."""
    slots = len(context["canary_buf_i64"])
    tokens = [-1 if damage.random.random() < 0.1 else token for _, token, _, _ in plan]
    past = [99] * slack  # past the entries in use, if the count is not damaged
    edges = (0, 1, slots - 1, slots, slots + 1)
    return context | {
        "canary_buf_i64": with_damaged_stamps(context["canary_buf_i64"], damage),
        "real_kv_sources": with_damaged_bytes(context["real_kv_sources"], damage),
        "check_verify_expected_token": checks_token,
        "verify_slot_indices": damage.of_each([slot for slot, _, _, _ in plan], *edges) + past,
        "verify_expected_tokens": damage.of_each(tokens) + past,
        "verify_expected_positions": damage.of_each([at for _, _, at, _ in plan], 3) + past,
        "verify_prev_slot_indices": damage.of_each([prev for _, _, _, prev in plan], *edges) + past,
        "verify_num_valid": damage.less_often().of_int32(
            len(plan), len(plan) + slack, len(plan) - 1
        ),
        "enable": enable,
        "report_padding_slot": report,
    }


@st.composite
def verify_calls(draw):
    """A function that makes the inputs of a verify call, given an oracle that stamps."""
    context = draw(contexts())
    damage = Damage(draw(SEEDS), draw(DAMAGE))
    random = damage.random
    requests = sound_requests(random, context, draw(REQUESTS), draw(LONGEST))
    choices = {
        "slack": draw(st.sampled_from([0, 0, 1, 3])),
        "enable": draw(st.sampled_from([1, 1, 1, 1, 2, -1, INT32_MIN, 0])),
        "report": draw(st.booleans()),
        "checks_token": draw(st.booleans()),
    }

    def make(oracle):
        stamped = after_write(oracle, context, requests)
        plan = plan_entries_of(requests)
        # An entry in another's place, one twice, a padding slot, a predecessor that is evicted.
        plan = [
            entry if random.random() < 0.9 else random.choice([*plan, (0, 5, 5, 0)])
            for entry in plan
        ]
        plan = [entry if random.random() < 0.9 else (*entry[:3], 0) for entry in plan]
        random.shuffle(plan)
        return verify_inputs(stamped, plan, damage, **choices)

    return make


class TestVerify:
    @QUICK
    @given(make=verify_calls())
    def test_equals_oracle(self, check_launch, stamp_oracle, make):
        check_launch("verify", make(stamp_oracle))

    @pytest.mark.soak
    @LONG
    @given(make=verify_calls())
    def test_equals_oracle_many_times(self, check_launch, stamp_oracle, make):
        check_launch("verify", make(stamp_oracle))

    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("length", [31, 32, 33, 127, 128, 129, 257, 1025])
    def test_equals_oracle_on_a_long_plan(self, check_launch, stamp_oracle, length, hash_format):
        context = fixed_context(length + 10, hash_format)
        damage = Damage(length, 0.05)
        slots = list(range(1, length + 1))
        damage.random.shuffle(slots)
        requests = [(-1, [(k % 90, k, slot) for k, slot in enumerate(slots)])]
        stamped = after_write(stamp_oracle, context, requests)
        inputs = verify_inputs(stamped, plan_entries_of(requests), damage, slack=3)
        launch = check_launch("verify", inputs | {"verify_num_valid": length})
        assert launch.violations


# Write, then verify ------------------------------------------------------------------------------


@st.composite
def sound_calls(draw, sources=SOURCES):
    """A context with free room, and requests that store something, all of it sound."""
    context = draw(contexts(num_slots=st.sampled_from([12, 20, 33]), sources=sources)) | {
        "ring_capacity": 64,
        "violation_write_index": 0,
        "evidence_ring": True,
    }
    random = Random(draw(SEEDS))
    requests = sound_requests(random, context, draw(st.sampled_from([2, 1, 3])), 6)
    stored = plan_entries_of(requests)
    if not stored:
        free = next(k for k in range(1, 12) if k not in {seed for seed, _ in requests})
        requests = [(-1, [(31, 0, free)])]
    return context, requests, random


@pytest.fixture
def write_then_plan(stamp_calls):
    """Write sound requests on the backend; give the context after it, and what to verify."""

    def write_then_plan(context, requests):
        inputs = write_inputs(
            context, requests, Damage(0, 0.0), slack=0, chain_flag=1, checks_input=False
        )
        rows = stamp_calls.canary_rows(stamp_calls.write(inputs), inputs)
        return context | {"canary_buf_i64": rows}, plan_entries_of(requests)

    return write_then_plan


def sound_verify_inputs(context, plan):
    """The inputs of a verify call for a plan, as they are."""
    return verify_inputs(context, plan, Damage(0, 0.0), slack=0) | {
        "verify_expected_tokens": [token for _, token, _, _ in plan],
    }


def bytes_hashed(context, one):
    """How many bytes of each slot a hash covers in a source."""
    return {0: 0, 1: 16, 2: one["read_bytes"]}[context["real_kv_hash_mode"]]


def with_flipped_byte(context, number, row, place, bit):
    """The same context, with one bit of a source's row the other way."""
    sources = [dict(one) for one in context["real_kv_sources"]]
    rows = list(sources[number]["rows_hex"])
    data = bytearray.fromhex(rows[row])
    data[place] ^= 1 << bit
    rows[row] = data.hex()
    sources[number]["rows_hex"] = rows
    return context | {"real_kv_sources": sources}


def with_flipped_stamp(context, slot, bit):
    """The same context, with one of the 256 bits of a stamp the other way."""
    rows = [list(row) for row in context["canary_buf_i64"]]
    field, bit = divmod(bit, 64)
    rows[slot][field] = with_flipped_bit(rows[slot][field], bit)
    return context | {"canary_buf_i64": rows}


class TestWriteThenVerify:
    """What is written is found sound, and one bit that flips after it is found."""

    @pytest.fixture
    def check_stamp(self, check_launch, write_then_plan):
        """With a bit of a stamp flipped, its slot is reported, and what is chained to it."""

        def check(call, bit):
            context, requests, random = call
            after, plan = write_then_plan(context, requests)
            slot = random.choice(plan)[0]
            damaged = with_flipped_stamp(after, slot, bit)
            launch = check_launch("verify", sound_verify_inputs(damaged, plan))
            # The token, the position and the chain hash go into what the next slot stores.
            chained = [entry[0] for entry in plan if entry[3] == slot and bit < 3 * 64]
            assert [violation.slot for violation in launch.violations] == [slot, *chained]

        return check

    @pytest.fixture
    def check_byte(self, check_launch, write_then_plan):
        """With a bit of a source flipped, the slot whose hash covers it is reported, if any."""

        def check(call, bit):
            context, requests, random = call
            after, plan = write_then_plan(context, requests)
            number = random.randrange(len(context["real_kv_sources"]))
            one = context["real_kv_sources"][number]
            slot = random.choice(plan)[0]
            page, in_page = divmod(slot, one["page_size"])
            place = random.randrange(one["row_stride_bytes"])  # a hole, as often as not
            if random.random() < 0.5:
                place = in_page * one["num_bytes_per_token"] + random.randrange(one["read_bytes"])
            owner, byte = divmod(place, one["num_bytes_per_token"])
            owner_slot = page * one["page_size"] + owner
            is_covered = (
                owner < one["page_size"]
                and byte < bytes_hashed(context, one)
                and owner_slot in {entry[0] for entry in plan}
            )
            damaged = with_flipped_byte(after, number, page, place, bit)
            launch = check_launch("verify", sound_verify_inputs(damaged, plan))
            assert [violation.slot for violation in launch.violations] == [owner_slot] * is_covered
            assert {violation.reasons for violation in launch.violations} <= {1 << 2}

        return check

    @SHORT
    @given(call=sound_calls())
    def test_what_was_written_is_found_sound(self, check_launch, write_then_plan, call):
        context, requests, _ = call
        after, plan = write_then_plan(context, requests)
        assert check_launch("verify", sound_verify_inputs(after, plan)).violations == []

    @SHORT
    @given(call=sound_calls(), bit=st.integers(0, 255))
    def test_a_flipped_bit_of_a_stamp_is_found(self, check_stamp, call, bit):
        check_stamp(call, bit)

    @pytest.mark.soak
    @LONG
    @given(call=sound_calls(), bit=st.integers(0, 255))
    def test_a_flipped_bit_of_a_stamp_is_found_many_times(self, check_stamp, call, bit):
        check_stamp(call, bit)

    @SHORT
    @given(call=sound_calls(sources=st.sampled_from([1, 2, 4])), bit=st.integers(0, 7))
    def test_a_flipped_bit_of_a_byte_is_found_where_it_is_covered(self, check_byte, call, bit):
        check_byte(call, bit)

    @pytest.mark.soak
    @LONG
    @given(call=sound_calls(sources=st.sampled_from([1, 2, 3, 4])), bit=st.integers(0, 7))
    def test_a_flipped_bit_of_a_byte_is_found_many_times(self, check_byte, call, bit):
        check_byte(call, bit)

    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("mode", [1, 2])
    def test_every_bit_of_a_stamp_and_of_the_bytes_covered_is_found(
        self, check_launch, write_then_plan, hash_format, mode
    ):
        """One slot for each bit: all hold what was written, and each has its own bit flipped."""
        read_bytes, stamp_bits = 32, 256
        covered = {1: 16, 2: read_bytes}[mode] * 8
        slots = stamp_bits + covered
        one = {
            "rows_hex": [bytes(range(100, 100 + read_bytes + 16)).hex()] * (slots + 1),
            "row_stride_bytes": read_bytes + 16,
            "view_cols": read_bytes,
            "page_size": 1,
            "num_bytes_per_token": read_bytes,
            "read_bytes": read_bytes,
        }
        context = fixed_context(slots + 1, hash_format) | {
            "real_kv_hash_mode": mode,
            "real_kv_sources": [one],
        }
        after, _ = write_then_plan(context, [(-1, [(31, 7, 1)])])
        after |= {"canary_buf_i64": [after["canary_buf_i64"][1]] * (slots + 1)}
        for bit in range(stamp_bits):
            after = with_flipped_stamp(after, 1 + bit, bit)
        for bit in range(covered):
            after = with_flipped_byte(after, 0, 1 + stamp_bits + bit, *divmod(bit, 8))
        plan = [(slot, 31, 7, -1) for slot in range(1, slots + 1)]
        launch = check_launch("verify", sound_verify_inputs(after, plan))
        assert [violation.slot for violation in launch.violations] == list(range(1, slots + 1))


# Scatter -----------------------------------------------------------------------------------------


def scatter_inputs(random, damage, *, requests, rows, width, longest, has_starts):
    """The inputs of a scatter call, a share of them damaged; few rows are named twice."""
    lengths = [random.randint(0, longest) for _ in range(requests)]
    offsets = [random.randint(0, 2)]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    tokens = offsets[-1] + random.randint(0, 3)
    names = random.sample(range(rows), min(rows, requests))
    names += [random.randrange(rows) if rows else 0 for _ in range(requests - len(names))]
    starts = [random.choice([0, 0, 1, width // 2, width]) for _ in range(requests)]
    return {
        "flat_in": [random.choice([random.randrange(50_000), *WILD_INT64]) for _ in range(tokens)],
        "offsets": damage.less_often().of_each(offsets, *offsets, tokens, tokens + 1),
        "req_pool_indices": damage.of_each(names, rows - 1, rows, rows + 1),
        "pool_rows": rows,
        "pool_width": width,
        "pool_fill": random.choice([-5, 0, INT32_MIN]),
        "column_starts": damage.of_each(starts, width, width + 1) if has_starts else None,
    }


@st.composite
def scatter_calls_drawn(draw):
    """Inputs of a scatter call."""
    damage = Damage(draw(SEEDS), draw(DAMAGE))
    return scatter_inputs(
        damage.random,
        damage,
        requests=draw(st.sampled_from([3, 1, 2, 5, 9, 17, 0])),
        rows=draw(st.sampled_from([5, 9, 20, 3, 1, 0])),
        width=draw(st.sampled_from([4, 7, 9, 33, 129, 257, 1, 0])),
        longest=draw(st.sampled_from([3, 9, 40, 300, 0])),
        has_starts=draw(st.booleans()),
    )


@pytest.fixture
def check_scatter(scatter_calls, stamp_oracle, stamp_calls_module):
    """Compare a launch of scatter with the oracle."""

    def check(inputs):
        pool = stamp_calls_module.pool_of_oracle(stamp_oracle.scatter_req_token_ids(**inputs))
        expected = stamp_calls_module.expected_pool(pool)
        found = scatter_calls.scatter(inputs)
        assert stamp_calls_module.first_difference("pool_out", found, expected) is None

    return check


class TestScatter:
    @QUICK
    @given(inputs=scatter_calls_drawn())
    def test_equals_oracle(self, check_scatter, inputs):
        check_scatter(inputs)

    @pytest.mark.soak
    @LONG
    @given(inputs=scatter_calls_drawn())
    def test_equals_oracle_many_times(self, check_scatter, inputs):
        check_scatter(inputs)

    @pytest.mark.parametrize("length", [127, 128, 129, 1023, 1024, 1025, 4097])
    def test_equals_oracle_on_a_long_request(self, check_scatter, length):
        damage = Damage(length, 0.0)
        check_scatter(
            {
                "flat_in": damage.of_each(range(length + 5)),
                "offsets": [2, 2 + length, 4 + length],
                "req_pool_indices": [1, 0],
                "pool_rows": 3,
                "pool_width": length + 1,
                "pool_fill": -5,
            }
        )

    # One program or more a request, and the interpreter runs them one after the other.
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
    @pytest.mark.parametrize("bs", [4096, 4097, 9001])
    def test_equals_oracle_on_a_batch_larger_than_any_block(self, check_scatter, bs):
        """The batch has no upper bound."""
        damage = Damage(bs, 0.05)
        check_scatter(
            scatter_inputs(
                damage.random, damage, requests=bs, rows=bs, width=3, longest=4, has_starts=True
            )
        )
