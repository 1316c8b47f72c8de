"""The benchmark: its results, tables and picture, its oracle, its command; times are for people."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kv_canary.bench import command, host
from kv_canary.bench.cases import plan_arguments
from kv_canary.bench.results import (
    HostResult,
    KernelResult,
    LeftOut,
    Machine,
    Report,
    StepResult,
    SweepResult,
    Yardsticks,
    to_json,
)
from kv_canary.bench.tables import line_of, to_markdown
from kv_canary.cli import main
from kv_canary.errors import BenchmarkMismatchError, UsageError
from kv_canary_kernels.validators.plan import accepts_plan

MACHINE = Machine(card="A Card", torch="2.0", triton="3.6", python="3.12")
YARDSTICKS = Yardsticks(
    copy_bytes_per_us=4e6,
    gather_rows=1 << 20,
    gather_us=16.0,
    gather_swept_us=32.0,
    empty_us=1.0,
    empty_host_us=20.0,
)
KERNEL = KernelResult(
    case="decode 2 x 8",
    kernel="verify",
    hash_format="parallel",
    variant="verify ----- READ_BLOCK=16 warps=4",
    warm_us=8.0,
    swept_us=10.0,
    host_us=30.0,
    bytes_moved=20_000_000,
    checked=True,
)
STEP = StepResult(
    case="256 x 4,096",
    groups="full",
    page=64,
    real_kv="partial",
    plain_us=10.0,
    us=110.0,
    plain_host_us=40.0,
    host_us=240.0,
    step_ms=20,
    checked=True,
)
SWEEP = SweepResult(
    kernel="plan", bs=256, prefix=4096, spare=8, tight_us=10.0, spare_us=10.5, checked=True
)
BARE = HostResult(figure="plan: all checks", value=6.5, unit="us", over_bare=1.25)
LEFT_OUT = LeftOut(case="decode 256 x 4,096", why="the card's memory is full")
REPORT = Report(machine=MACHINE, results=(BARE, YARDSTICKS, KERNEL, LEFT_OUT, SWEEP, STEP))


# Results and how they are shown ------------------------------------------------------------------


def test_share_is_of_the_copying_kernel_from_the_swept_time():
    assert KERNEL.share_of_copy(YARDSTICKS) == 0.5


def test_gather_counts_what_its_launches_fetched():
    assert YARDSTICKS.gather_bytes_per_us == 80 * (1 << 20) / 32


def test_step_tells_its_share_of_a_decode_step_of_the_given_length():
    assert (STEP.added_us, STEP.added_host_us, STEP.share_of_step) == (100.0, 200.0, 0.005)
    assert replace(STEP, step_ms=10).share_of_step == 0.01


def test_json_holds_fields_and_what_follows_from_them():
    assert json.loads(to_json(REPORT)) == {
        "schema": 1,
        "card": "A Card",
        "torch": "2.0",
        "triton": "3.6",
        "python": "3.12",
        "yardsticks": {
            "copy_bytes_per_us": 4e6,
            "gather_rows": 1 << 20,
            "gather_us": 16.0,
            "gather_swept_us": 32.0,
            "empty_us": 1.0,
            "empty_host_us": 20.0,
        },
        "kernels": [
            {
                "case": "decode 2 x 8",
                "kernel": "verify",
                "hash_format": "parallel",
                "variant": "verify ----- READ_BLOCK=16 warps=4",
                "warm_us": 8.0,
                "swept_us": 10.0,
                "host_us": 30.0,
                "bytes_moved": 20_000_000,
                "checked": True,
                "share_of_copy": 0.5,
            }
        ],
        "steps": [
            {
                "case": "256 x 4,096",
                "groups": "full",
                "page": 64,
                "real_kv": "partial",
                "plain_us": 10.0,
                "us": 110.0,
                "plain_host_us": 40.0,
                "host_us": 240.0,
                "step_ms": 20,
                "checked": True,
                "added_us": 100.0,
                "added_host_us": 200.0,
                "share_of_step": 0.005,
            }
        ],
        "sweep": [
            {
                "kernel": "plan",
                "bs": 256,
                "prefix": 4096,
                "spare": 8,
                "tight_us": 10.0,
                "spare_us": 10.5,
                "checked": True,
                "growth": 1.05,
            }
        ],
        "host": [{"figure": "plan: all checks", "value": 6.5, "unit": "us", "over_bare": 1.25}],
        "left_out": [{"case": "decode 256 x 4,096", "why": "the card's memory is full"}],
    }


def test_json_without_a_gpu_has_no_yardsticks_and_no_shares():
    found = json.loads(to_json(Report(machine=MACHINE, results=(BARE, KERNEL))))
    assert found["yardsticks"] is None
    assert found["kernels"][0]["share_of_copy"] is None


MARKDOWN = """\
# What kv-canary costs

A Card, torch 2.0, Triton 3.6, Python 3.12.

## The card

| yardstick | measured |
| --- | ---: |
| copying kernel | 4.00 TB/s |
| gather of 1,048,576 rows of 32 B | 16.0 us |
| the same, L2 swept | 32.0 us |
| empty kernel in a graph | 1.00 us |
| empty kernel, host | 20.0 us |

## Kernels

Medians in microseconds, graph replay; host is an eager call with all of its checks. \
The share is of the copying kernel's bandwidth, from the swept time.

| case | format | kernel | warm | swept | host | MB | of copy |  | variant |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| decode 2 x 8 | parallel | verify | 8.00 | 10.00 | 30 | 20.00 | 50% | checked \
| `verify ----- READ_BLOCK=16 warps=4` |

## Whole steps

A captured forward that writes K and V of the new tokens and nothing else, with a canary and \
without; microseconds, the L2 swept before each.

| step | pools | pages | bytes | without | with | adds | of a step | host adds |  |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
| 256 x 4,096 | full | pages of 64 | partial | 10.0 | 110.0 | 100.0 | 0.50% of 20 ms | 200 \
| checked |

## Batch, prefix, capacity

Decode steps at two capacities, microseconds in a graph: what grows with the batch and with what \
it has cached, and does not with the room around it.

| kernel | batch x prefix | tight | with room | growth |  |
| --- | --- | ---: | ---: | ---: | ---: |
| plan | 256 x 4,096 | 10.00 | 10.50 (8 x) | 1.05 | checked |

## Host

| figure | measured | over bare reads |
| --- | ---: | ---: |
| plan: all checks | 6.50 us | 1.25 |

## Left out

- decode 256 x 4,096: the card's memory is full
"""


def test_markdown_has_a_table_for_each_kind_of_result():
    assert to_markdown(REPORT) == MARKDOWN


def test_markdown_has_no_table_for_what_was_not_measured():
    page = to_markdown(Report(machine=MACHINE, results=(BARE,)))
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# What kv-canary costs",
        "## Host",
    ]


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (
            YARDSTICKS,
            (
                "copying kernel                      4.00 TB/s\n"
                "gather of 1,048,576 rows of 32 B    16.0 us\n"
                "the same, L2 swept                  32.0 us\n"
                "empty kernel in a graph             1.00 us\n"
                "empty kernel, host                  20.0 us"
            ),
        ),
        (
            KERNEL,
            (
                "parallel decode 2 x 8                          verify      8.00 us, swept     "
                "10.00 us,  50% of copy, host    30 us, checked  "
                "[verify ----- READ_BLOCK=16 warps=4]"
            ),
        ),
        (
            STEP,
            (
                "step 256 x 4,096, full, pages of 64, real_kv=partial: 110.0 us, without 10.0; "
                "adds 100.0 us, 0.50% of a step of 20 ms; host, eager: adds 200 us, checked"
            ),
        ),
        (
            SWEEP,
            (
                "sweep      256 x 4,096  plan       10.00 us, with 8 times the capacity     "
                "10.50 us,  1.05 x, checked"
            ),
        ),
        (BARE, "plan: all checks                          6.50 us    1.25 x"),
        (LEFT_OUT, "left out: decode 256 x 4,096: the card's memory is full"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_line_says_all_of_a_result(result, line):
    assert line_of(result, YARDSTICKS) == line


def test_result_that_was_not_compared_says_so():
    assert "NOT CHECKED" in line_of(replace(KERNEL, checked=False))
    assert "NOT CHECKED" in to_markdown(
        replace(REPORT, results=(YARDSTICKS, replace(KERNEL, checked=False)))
    )


def test_roof_is_the_empty_kernel_for_few_bytes_and_the_copy_for_many():
    from kv_canary.bench.roofline import attainable

    assert attainable(1e6, empty_us=2.0, bytes_per_us=4e6) == 5e5
    assert attainable(1e9, empty_us=2.0, bytes_per_us=4e6) == 4e6


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_picture_is_drawn_from_a_report_alone(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="the picture needs the extra [bench]")
    from kv_canary.bench.roofline import draw_roofline

    path = tmp_path / f"roofline.{ending}"
    draw_roofline(REPORT, path)
    beginning = {"png": b"\x89PNG", "svg": b"<?xml"}[ending]
    assert path.read_bytes().startswith(beginning)


def test_picture_of_an_unknown_format_is_told(tmp_path):
    pytest.importorskip("matplotlib", reason="the picture needs the extra [bench]")
    from kv_canary.bench.roofline import draw_roofline

    with pytest.raises(UsageError, match=r"\A--roofline: the picture must be a file that can be"):
        draw_roofline(REPORT, tmp_path / "roofline.abacus")


@pytest.mark.parametrize(
    ("results", "found"),
    [((BARE,), "neither in this run"), ((YARDSTICKS,), "no kernel in this run")],
)
def test_picture_without_kernels_or_yardsticks_is_refused(results, found):
    from kv_canary.bench.roofline import draw_roofline

    with pytest.raises(UsageError) as caught:
        draw_roofline(Report(machine=MACHINE, results=results), Path("x.png"))
    assert str(caught.value) == (
        "--roofline: a picture needs kernels and yardsticks\n"
        f"  found:  {found}\n"
        "  wanted: device rows\n"
        "  fix:    kv-canary bench device --roofline x.png"
    )


# Host --------------------------------------------------------------------------------------------


def test_validator_results_tell_the_ratio_to_bare_reads(monkeypatch):
    monkeypatch.setattr(host, "ROUNDS", 1)
    monkeypatch.setattr(host, "CALLS", 2)
    bare, checks, direct = host.validator_results()
    assert bare.figure == "plan: bare attribute reads"
    assert bare.over_bare is None
    for found in (checks, direct):
        assert found.unit == "us"
        assert found.over_bare == pytest.approx(found.value / bare.value)


def test_bare_reads_touch_every_tensor_that_is_given():
    arguments = plan_arguments("cpu")
    reads = host.bare_reads(accepts_plan, arguments)
    reads(*arguments.values())
    broken = {**arguments, "prefix_lens": None}
    with pytest.raises((AttributeError, TypeError)):
        reads(*broken.values())


def test_generator_is_not_timed_outside_of_a_checkout(monkeypatch, tmp_path):
    monkeypatch.setattr(host, "CHECKOUT", tmp_path)
    assert host.generator_results() == []


# Steps and their oracle --------------------------------------------------------------------------


def shape(**changes):
    from kv_canary.bench.steps import Shape

    return Shape(**{"name": "a step", "bs": 2, "prefix": 9, **changes})


@pytest.mark.parametrize(
    ("changes", "plan", "verify", "write"),
    [
        ({}, 18 * 36 + 80, 18 * 88, 2 * 88),
        ({"page": 4}, 18 * 36 + 80, 18 * 56, 2 * 56),
        ({"tokens": True}, 18 * 40 + 80, 18 * 96, 2 * 88),
        ({"window": 4}, 8 * 100 + 80, 8 * 88, 2 * 88),
        ({"sources": ((32, 16),)}, 18 * 36 + 80, 18 * 152, 2 * 152),
        ({"sources": ((32, 16),), "page": 4}, 18 * 36 + 80, 18 * 72, 2 * 72),
        ({"sources": ((1024, 1024),)}, 18 * 36 + 80, 18 * 1112, 2 * 1112),
        ({"spare": 8}, 18 * 36 + 80, 18 * 88, 2 * 88),
        ({"prefix": 0, "extend": 5}, 80, 0, 10 * 88),
    ],
    ids=str,
)
def test_bytes_count_what_is_active_and_64_for_a_piece_that_lies_alone(
    changes, plan, verify, write
):
    made = shape(**changes)
    assert [made.bytes_moved(kernel) for kernel in ("plan", "verify", "write")] == [
        plan,
        verify,
        write,
    ]


SHAPES = [
    {"spare": 4},
    {"page": 4, "tokens": True, "sources": ((32, 16),)},
    {"window": 4, "prefix": 12},
    {"bs": 1, "prefix": 0, "extend": 40},
]


@pytest.mark.parametrize("hash_format", ["parallel", "serial"])
@pytest.mark.parametrize("changes", SHAPES, ids=str)
def test_step_passes_its_oracle_on_whatever_backend_runs_it(changes, hash_format):
    from kv_canary.bench.device import calls_of, kernels_of
    from kv_canary.bench.judging import Judge
    from kv_canary.bench.steps import Step

    step = Step(shape(**changes), hash_format, "cpu")
    judge = Judge(step)
    for kernel in kernels_of(step.shape):
        judge.begin(kernel)
        for _ in range(2):
            calls_of(kernel, [step])[0]()
        judge.judge(kernel)


def damaged(step, kernel):
    """Damage what a kernel left behind, or was to look at."""
    if kernel == "plan":
        step.verify_plan.verify_prev_slot_indices[3] += 1
    elif kernel == "write":
        step.context.canary_buf[step.written_slots()[1], 0] ^= 1
    else:
        step.context.violation_write_index.add_(1)


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        ("plan", "1 elements of verify_plan_out.verify_prev_slot_indices differ"),
        ("verify", "1 violations in a clean cache"),
        ("write", "1 of 2 stamps differ"),
    ],
)
def test_wrong_result_is_no_time(kernel, what):
    from kv_canary.bench.device import calls_of
    from kv_canary.bench.judging import Judge
    from kv_canary.bench.steps import Step

    step = Step(shape(), "parallel", "cpu")
    judge = Judge(step)
    for before in ("plan", "verify", "write"):
        judge.begin(before)
        calls_of(before, [step])[0]()
        if before == kernel:
            break
    damaged(step, kernel)
    with pytest.raises(BenchmarkMismatchError) as caught:
        judge.judge(kernel)
    assert str(caught.value) == (
        "bench: a timed result must be right\n"
        f"  found:  a step, {kernel}: {what}\n"
        "  wanted: what the torch reference gives for the same inputs\n"
        "  fix:    do not trust this kernel on this card; report it with this message"
    )


@pytest.mark.parametrize("kernel", ["plan", "verify", "write"])
def test_launch_that_did_nothing_is_told(kernel):
    """Outputs are poisoned, and entries counted: nothing passes by standing still."""
    from kv_canary.bench.device import calls_of
    from kv_canary.bench.judging import Judge
    from kv_canary.bench.steps import Step

    step = Step(shape(), "parallel", "cpu")
    judge = Judge(step)
    if kernel != "plan":
        calls_of("plan", [step])[0]()
    judge.begin(kernel)
    with pytest.raises(BenchmarkMismatchError, match=rf"\Abench: .*\n  found:  a step, {kernel}: "):
        judge.judge(kernel)


def test_verify_that_looks_at_nothing_is_told(monkeypatch):
    """It counts its entries and reports none: a stamp that is changed under it gives it away."""
    from kv_canary.bench.device import calls_of
    from kv_canary.bench.judging import Judge
    from kv_canary.bench.steps import Step

    step = Step(shape(), "parallel", "cpu")
    judge = Judge(step)
    calls_of("plan", [step])[0]()

    def blind(**arguments):
        step.context.slot_run_counter.add_(step.entries)

    monkeypatch.setattr("kv_canary.launch_canary_verify_kernel", blind, raising=False)
    judge.begin("verify")
    blind()
    with pytest.raises(BenchmarkMismatchError) as caught:
        judge.judge("verify")
    assert caught.value.what == "a changed stamp was reported 0 times, not twice"


def test_room_changes_capacities_and_nothing_that_is_active():
    from kv_canary.bench.steps import Step

    tight, roomy = (Step(shape(spare=spare), "parallel", "cpu") for spare in (1, 8))
    assert roomy.shape.entries == tight.shape.entries == 18
    assert roomy.verify_plan.verify_slot_indices.shape[0] == 8 * 18
    assert roomy.write_plan.write_seed_slot_indices.shape[0] == 8 * 2
    assert roomy.written["input_ids"].shape[0] == 8 * 2
    assert roomy.req_to_token.shape == (8 * 3, 8 * 10)
    assert torch.equal(roomy.req_to_token[:3, :10], tight.req_to_token)
    assert torch.equal(roomy.context.canary_buf, tight.context.canary_buf)


@pytest.mark.parametrize("real_kv", ["none", "partial", "all"])
@pytest.mark.parametrize(("page", "window"), [(1, 0), (4, 0), (4, 3)])
def test_whole_step_checks_every_cached_token_and_finds_nothing(page, window, real_kv):
    from kv_canary.bench.step import WholeStep

    step = WholeStep("cpu", requests=3, cached=10, page=page, window=window)
    canary = step.canary(real_kv)
    for _ in range(2):
        step.forward(canary)
    step.check(canary)
    canary.close()


def test_whole_step_that_found_something_is_no_time():
    from kv_canary.bench.step import WholeStep

    step = WholeStep("cpu", requests=3, cached=10, page=1, window=0)
    canary = step.canary("all")
    step.caches[0][step.slots[0, 4]] += 1
    step.forward(canary)
    with pytest.raises(BenchmarkMismatchError):
        step.check(canary)
    canary.close()


def test_variant_names_what_was_given_and_what_was_compiled_in():
    from kv_canary.bench.variants import described
    from kv_canary_kernels.backends import LaunchSequence, TritonLaunch, reference_launch

    launch = TritonLaunch(
        kernel=None,
        stem="verify",
        variant=(1, 0, 16),
        grid=(1,),
        arguments=(),
        constants={"READ_BLOCK": 16},
        num_warps=4,
        device=torch.device("cpu"),
    )
    assert described(launch) == "verify +- READ_BLOCK=16 warps=4"
    both = LaunchSequence(launches=(launch, reference_launch("a:b")))
    assert described(both) == "verify +- READ_BLOCK=16 warps=4; torch reference"


@pytest.fixture
def timed_on_cpu(monkeypatch):
    """Whatever is timed runs on the CPU, once or twice, and takes a microsecond."""
    from kv_canary.bench import device, step, sweep

    def run(calls):
        for call in calls:
            call()
        return 1.0

    for module in (device, step, sweep):
        monkeypatch.setattr(module, "DEVICE", "cpu")
    for module in (device, sweep):
        monkeypatch.setattr(module, "warm_us", run)
    for module in (device, step):
        monkeypatch.setattr(module, "host_us", lambda call: run([call, call]))
    monkeypatch.setattr(device, "swept_us", run)
    monkeypatch.setattr(step, "_step_us", lambda call: run([call]))


@pytest.mark.usefixtures("timed_on_cpu")
def test_device_results_are_one_a_kernel_case_and_format():
    from kv_canary.bench import device

    shapes = [shape(name="small"), shape(name="prefill", bs=1, prefix=0, extend=40)]
    found = list(device.results(shapes, ["parallel", "serial"]))
    assert [(each.hash_format, each.case, each.kernel, each.checked) for each in found] == [
        (hash_format, case, kernel, True)
        for hash_format in ("parallel", "serial")
        for case, kernel in (
            ("small", "plan"),
            ("small", "verify"),
            ("small", "write"),
            ("prefill", "plan"),
            ("prefill", "write"),
        )
    ]


def test_step_that_the_card_cannot_hold_is_left_out(monkeypatch):
    from kv_canary.bench import device

    def full(shape, hash_format):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr(device, "_timed", full)
    assert list(device.results([shape()], ["serial"])) == [
        LeftOut(case="a step, serial", why="the card's memory is full")
    ]


@pytest.mark.usefixtures("timed_on_cpu")
def test_sweep_has_both_capacities_of_every_batch_and_kernel(monkeypatch):
    from kv_canary.bench import sweep

    monkeypatch.setattr(sweep, "BATCHES", (1, 3))
    monkeypatch.setattr(sweep, "PREFIXES", (4, 6))
    found = list(sweep.results())
    assert [(each.bs, each.prefix, each.kernel) for each in found] == [
        (bs, prefix, kernel)
        for bs in (1, 3)
        for prefix in (4, 6)
        for kernel in ("plan", "verify", "write")
    ]
    assert {(each.spare, each.growth, each.checked) for each in found} == {(8, 1.0, True)}


@pytest.mark.usefixtures("timed_on_cpu")
def test_whole_steps_cover_layouts_and_bytes(monkeypatch):
    from kv_canary.bench import step

    for name, value in (("REQUESTS", 2), ("CACHED", 8), ("WINDOW", 3), ("WIDTH", 16)):
        monkeypatch.setattr(step, name, value)
    monkeypatch.setattr(step, "LAYOUTS", ((1, 0), (4, 3)))
    found = list(step.results(5))
    assert [(each.groups, each.page, each.real_kv, each.step_ms) for each in found] == [
        (groups, page, real_kv, 5)
        for groups, page in (("full", 1), ("full and window 3", 4))
        for real_kv in ("none", "partial", "all")
    ]
    assert [each.real_kv for each in step.results(5, quick=True)] == ["partial"]


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("name", "pointers"), [("empty", 0), ("copy", 2), ("gather", 3), ("sweep", 2)]
)
@pytest.mark.parametrize("target", [("cuda", 90, 32), ("hip", "gfx942", 64)], ids=str)
def test_yardstick_compiles(name, pointers, target):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kv_canary.bench import kernels

    kernel = getattr(kernels, f"{name}_kernel")
    constants = {"BLOCK": 512} if pointers else {}
    signature = dict.fromkeys(kernel.arg_names[:pointers], "*i64")
    signature |= dict.fromkeys(constants, "constexpr")
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    assert triton.compile(source, target=GPUTarget(*target), options={"enable_fp_fusion": True}).asm


def test_long_graphs_are_replayed_less_often_but_more_than_once():
    from kv_canary.bench.timing import rounds_of

    assert [rounds_of(us) for us in (20.0, 33_000.0, 50_000.0, 280_000.0)] == [30, 30, 20, 5]


# The command -------------------------------------------------------------------------------------


def error_of(capsys, *arguments):
    assert main(["bench", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


NO_MODULE = (
    "kv-canary: --roofline: matplotlib must be installed\n"
    "  found:  no module `matplotlib`\n"
    "  wanted: kv-canary with its bench extra\n"
    "  fix:    pip install 'kv-canary[bench]'\n"
)


@pytest.mark.parametrize(
    ("arguments", "place_and_rule", "found", "wanted", "fix"),
    [
        (
            ["devise"],
            "bench: the rows must be one of host, device, step, all",
            "devise",
            "`device`, perhaps",
            "kv-canary bench --help",
        ),
        (
            ["host", "--sweep"],
            "--sweep: this flag is about kernels, and they are not measured",
            "bench host",
            "bench device, or bench all",
            "kv-canary bench device --sweep",
        ),
        (
            ["step", "--hash-format", "serial"],
            "--hash-format: this flag is about kernels, and they are not measured",
            "bench step",
            "bench device, or bench all",
            "kv-canary bench device --hash-format serial",
        ),
        (
            ["--step-ms", "0"],
            "--step-ms: the value must be 1 to 60000",
            "0",
            "a whole number, 1 to 60000",
            "--step-ms 1",
        ),
        (
            ["--step-ms", "7.5"],
            "--step-ms: the value must be a whole number",
            "7.5",
            "a whole number, 1 to 60000",
            "--step-ms 1",
        ),
        (
            ["--hash-format", "serail"],
            "--hash-format: the value must be one of parallel, serial",
            "serail",
            "`serial`, perhaps",
            "--hash-format serial",
        ),
        (
            ["host", "--json", "no such folder/bench.json"],
            "--json: the file must have a name, in a folder that is there",
            "no such folder/bench.json",
            "the path of a file that can be written",
            "--json bench.json",
        ),
        (
            ["host", "--markdown", ""],
            "--markdown: the file must have a name, in a folder that is there",
            "nothing",
            "the path of a file that can be written",
            "--markdown bench.md",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistake_is_told_before_anything_is_measured(
    capsys, arguments, place_and_rule, found, wanted, fix
):
    assert error_of(capsys, *arguments) == (
        f"kv-canary: {place_and_rule}\n  found:  {found}\n  wanted: {wanted}\n  fix:    {fix}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "place"),
    [(["device"], "device"), (["step"], "step"), (["all"], "all"), (["--sweep"], "all")],
    ids=str,
)
def test_kernels_without_a_gpu_are_refused(capsys, monkeypatch, arguments, place):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert error_of(capsys, *arguments) == (
        f"kv-canary: bench {place}: kernels and steps are measured on a CUDA or ROCm GPU\n"
        f"  found:  torch {torch.__version__}, which sees none\n"
        "  wanted: a GPU that torch can use\n"
        "  fix:    kv-canary bench host\n"
    )


@pytest.mark.parametrize(
    ("name", "value"), [("TRITON_INTERPRET", "1"), ("KV_CANARY_BACKEND", "torch")]
)
def test_interpreter_and_reference_are_not_measured_as_kernels(capsys, monkeypatch, name, value):
    for each in ("TRITON_INTERPRET", "KV_CANARY_BACKEND"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert error_of(capsys, "device") == (
        f"kv-canary: {name}: compiled kernels are measured, and nothing else\n"
        f"  found:  {name}={value}\n"
        f"  wanted: {name} unset\n"
        f"  fix:    env -u {name} kv-canary bench device\n"
    )


def test_picture_without_matplotlib_names_the_extra(capsys, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert error_of(capsys, "device", "--roofline", "roofline.png") == NO_MODULE


def test_results_are_printed_as_they_come_and_written_at_the_end(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "_measured", lambda rows, options: iter(REPORT.results))
    monkeypatch.setattr(command, "_machine", lambda on_gpu: MACHINE)
    names = tmp_path / "bench.json", tmp_path / "bench.md"
    assert main(["bench", "host", "--json", str(names[0]), "--markdown", str(names[1])]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "A Card, torch 2.0, Triton 3.6, Python 3.12",
        *(line for each in REPORT.results for line in line_of(each, YARDSTICKS).splitlines()),
    ]
    assert names[0].read_text(encoding="utf-8") == to_json(REPORT) + "\n"
    assert names[1].read_text(encoding="utf-8") == MARKDOWN


def test_wrong_result_ends_the_command_with_1_and_writes_nothing(capsys, monkeypatch, tmp_path):
    def measured(rows, options):
        yield BARE
        raise BenchmarkMismatchError(case="a step", kernel="plan", what="2 elements differ")

    monkeypatch.setattr(command, "_measured", measured)
    path = tmp_path / "bench.json"
    assert main(["bench", "host", "--json", str(path)]) == 1
    assert capsys.readouterr().err.startswith(
        "kv-canary: bench: a timed result must be right\n"
        "  found:  a step, plan: 2 elements differ\n"
    )
    assert not path.exists()


def test_host_rows_can_be_had_anywhere(capsys):
    assert main(["bench", "host", "--quick"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^plan: all checks, as a launch pays +\d+\.\d\d us +\d+\.\d\d x$", out, re.M)
