"""The canary inside a region that torch.compile traces: one graph, compiled once, in which all is
found that is found without."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
import torch

from kv_canary import CanaryConfig, CanaryError, CanaryLaunchTag, ContractError


@pytest.fixture(scope="module")
def engine_type():
    """The small engine, `tests/canary_engine.py`."""
    path = Path(__file__).parent / "canary_engine.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.Engine


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Every test compiles for itself."""
    import torch._dynamo
    from torch.fx.experimental import _config

    torch._dynamo.reset()
    # Or two sizes that happen to be equal in the first batch would have to be in all.
    with _config.patch(use_duck_shape=False):
        yield
    torch._dynamo.reset()


def compiled_engine(engine_type, body, *, backend="eager", fullgraph=True, **settings):
    """An engine that runs its forward, and poll, as one compiled function; and its compilations."""
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend(backend)
    engine = engine_type(**settings)
    v, canary = engine.v, engine.canary

    def forward(batch, new_v):
        with canary.forward(**batch):
            result = body(canary, v, batch, new_v)
        canary.poll()
        return result

    forward = torch.compile(forward, backend=counter, fullgraph=fullgraph, dynamic=True)

    def step(work, *, padding=0):
        # At least two of each: for sizes of one, torch compiles anew.
        batch = engine.batch(work, padding=padding or 2)
        engine.write_kv(batch)
        new_v = torch.randn(len(batch["input_ids"]), v.shape[1]).half()
        forward(batch, new_v)
        engine.advance(work)

    engine.step = step
    return engine, counter


def store(canary, v, batch, new_v):
    """What a model does: it writes V."""
    v[batch["out_cache_loc"]] = new_v
    return new_v.sum()


def store_in_nested_scopes(canary, v, batch, new_v):
    with canary.forward(**batch), canary.forward(**batch):
        return store(canary, v, batch, new_v)


def store_in_the_scope_of_views(canary, v, batch, new_v):
    with canary.forward(**{name: tensor[:] for name, tensor in batch.items()}):
        return store(canary, v, batch, new_v)


def store_behind_a_break(canary, v, batch, new_v):
    torch._dynamo.graph_break()
    return store(canary, v, batch, new_v)


@pytest.mark.parametrize("body", [store, store_in_nested_scopes, store_in_the_scope_of_views])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("window", [0, 6])
def test_scope_and_poll_break_no_graph_and_are_compiled_once(engine_type, window, backend, body):
    """`aot_eager` keeps no mutation in place, and hands over the sources in memory of its own."""
    config = CanaryConfig(mode="collect", real_kv="all", bracket=True)
    engine, counter = compiled_engine(
        engine_type, body, backend=backend, config=config, window=window, seed=1
    )
    engine.run_randomly(30)
    assert engine.canary.findings == ()
    assert counter.frame_count == 1
    health = engine.canary.health()
    assert health.forwards == health.forwards_on_device > 20
    assert engine.canary.snapshot().expected_valid.sum() > 0

    request = next(request for request in engine.running if request.cached)
    engine.v[request.slots[0], 3] += 1
    engine.step([(request, 1)])
    assert [finding.launch_tags for finding in engine.canary.findings] == [("TAIL_V_FULL",)]
    assert counter.frame_count == 1


def store_in_the_scope_of_another_batch(canary, v, batch, new_v):
    with canary.forward(**{**batch, "positions": batch["positions"] + 1}):
        return store(canary, v, batch, new_v)


def operators_of(engine, body):
    """Names of the canary's operators in the graph of one step."""
    names = []

    def backend(graph, example_inputs):
        names.extend(
            str(node.target).split(".")[1]
            for node in graph.graph.nodes
            if str(node.target).startswith("kv_canary.")
        )
        return graph.forward

    canary, v = engine.canary, engine.v

    def forward(batch, new_v):
        with canary.forward(**batch):
            return body(canary, v, batch, new_v)

    request = engine.start(engine.draw(8))
    batch = engine.batch([(request, 4)])
    torch.compile(forward, backend=backend, fullgraph=True)(batch, torch.randn(4, 16).half())
    return names


@pytest.mark.parametrize(
    ("body", "between"),
    [(store_in_nested_scopes, []), (store_in_the_scope_of_views, ["check_nested"])],
)
def test_scope_inside_a_scope_leaves_a_check_of_other_tensors_alone(engine_type, body, between):
    engine = engine_type()
    assert operators_of(engine, body) == [
        "enter_forward",
        *between,
        "leave_forward",
    ]
    health = engine.canary.health()
    assert (health.forwards, health.forwards_on_device) == (1, 1)


@pytest.mark.parametrize("is_outside", [True, False])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_scope_of_another_batch_inside_a_scope_is_refused(engine_type, backend, is_outside):
    body = store if is_outside else store_in_the_scope_of_another_batch
    engine, _ = compiled_engine(engine_type, body, backend=backend)
    request = engine.start(engine.draw(16))
    if is_outside:
        batch = engine.batch([(request, 4)], padding=2)
        with pytest.raises(ContractError) as caught, engine.canary.forward(**batch):
            engine.step([(request, 8)])
    else:
        with pytest.raises(ContractError) as caught:
            engine.step([(request, 8)])
    assert caught.value.broken_rules[0].rule_id == "canary.other_batch"
    plain = engine_type.step
    plain(engine, [(request, 8)])
    plain(engine, [(request, 1)])
    assert engine.canary.poll(wait=True) == ()
    health = engine.canary.health()
    assert (health.forwards, health.forwards_failed) == (2, 1)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
# Torch's compiler uses what torch has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_to_machine_code_the_same_is_found(engine_type):
    config = CanaryConfig(mode="collect", real_kv="all", bracket=True)
    engine, counter = compiled_engine(
        engine_type, store, backend="inductor", config=config, window=6, seed=1
    )
    engine.run_randomly(30)
    assert engine.canary.findings == ()
    assert counter.frame_count == 1
    request = next(request for request in engine.running if request.cached)
    engine.v[request.slots[0], 3] += 1
    engine.step([(request, 1)])
    assert [finding.launch_tags for finding in engine.canary.findings] == [("TAIL_V_FULL",)]


def test_scope_around_a_graph_break_goes_on_without_compiling_in_every_step(engine_type):
    engine, counter = compiled_engine(engine_type, store_behind_a_break, fullgraph=False, seed=1)
    engine.run_randomly(15)
    so_far = counter.frame_count
    engine.run_randomly(15)
    assert counter.frame_count == so_far
    health = engine.canary.health()
    assert health.forwards == health.forwards_on_device > 20
    assert engine.canary.findings == ()


def test_poll_in_a_compiled_region_raises_what_it_finds(engine_type):
    engine, _ = compiled_engine(engine_type, store, config=CanaryConfig(mode="raise"))
    request = engine.start(engine.draw(12))
    engine.step([(request, 8)])
    engine.canary._state.groups[0].halves[0].tail.view(torch.int64)[request.slots[5], 1] = 99
    with pytest.raises(CanaryError):
        engine.step([(request, 1)])


@pytest.mark.parametrize("next_one", ["compiled", "plain"])
def test_graph_that_raises_costs_its_own_forward_alone(engine_type, next_one):
    engine, _ = compiled_engine(engine_type, store)
    plain = engine_type.step
    request = engine.start(engine.draw(16))
    engine.step([(request, 8)])
    engine.allocate(request, 2)
    slots, request.slots[9] = list(request.slots), 1 << 20  # past V, which the model indexes
    engine.write_kv = lambda batch: None
    with pytest.raises(IndexError):
        engine.step([(request, 2)])
    request.slots = slots
    del engine.write_kv
    if next_one == "plain":
        plain(engine, [(request, 2)])
    else:
        engine.step([(request, 2)])
    engine.step([(request, 1)])
    health = engine.canary.health()
    assert (health.forwards, health.forwards_failed, health.forwards_on_device) == (3, 1, 4)
    # The slot that was out of range is told, and nothing else.
    rows = engine.canary.snapshot().violations.tolist()
    assert {(CanaryLaunchTag(row[0]).name, row[1]) for row in rows} == {
        ("HEAD_K_FULL", 1 << 20),
        ("HEAD_V_FULL", 1 << 20),
    }


def test_canary_in_off_mode_leaves_nothing_in_a_graph(engine_type):
    engine, counter = compiled_engine(engine_type, store, config=CanaryConfig(mode="off"), seed=1)
    engine.run_randomly(20)
    assert counter.frame_count == 1
    assert counter.op_count == 2, "more than V's store and a sum"


def test_compiled_model_inside_a_plain_scope_is_checked(engine_type):
    engine = engine_type(seed=1)
    write = torch.compile(lambda v, slots, new_v: v.index_put_((slots,), new_v), backend="eager")

    def write_kv(batch):
        engine_type.write_kv(engine, batch)
        slots = batch["out_cache_loc"]
        write(engine.v, slots, torch.randn(len(slots), engine.v.shape[1]).half())

    engine.write_kv = write_kv
    engine.run_randomly(20)
    assert engine.canary.poll() == ()
    assert engine.canary.health().forwards > 10


def test_launcher_inside_a_compiled_region_is_no_part_of_it():
    """It runs as it is, and no size or content of its arguments makes another compilation."""
    from torch._dynamo.testing import CompileCounter

    from kv_canary import VerifyPlan, WritePlan, launch_canary_plan_kernels

    plan = VerifyPlan.allocate(verify_capacity=8, device="cpu")
    write_plan = WritePlan.allocate(write_req_capacity=2, device="cpu")
    table = torch.arange(32, dtype=torch.int32).view(2, 16)

    def step(x, prefix_lens):
        doubled = x * 2
        launch_canary_plan_kernels(
            verify_plan_out=plan,
            write_plan_out=write_plan,
            verify_capacity=8,
            req_pool_indices=torch.ones_like(prefix_lens),
            req_to_token=table,
            prefix_lens=prefix_lens,
            swa_window_size=0,
            extend_seq_lens=torch.ones_like(prefix_lens),
            full_to_swa_index_mapping=None,
            req_to_verify_expected_tokens=None,
            req_to_verify_expected_tokens_valid_lens=None,
            kv_token_id_vs_position_offset=0,
        )
        return doubled + 1

    counter = CompileCounter()
    compiled = torch.compile(step, backend=counter)
    counts = []
    for length in (3, 5, 7):
        result = compiled(torch.ones(3), torch.tensor([length]))
        assert result.tolist() == [3.0, 3.0, 3.0]
        assert plan.verify_num_valid.item() == length
        counts.append(counter.frame_count)
    assert counts == [counts[0]] * 3
