"""The benchmark's host rows can be had; what they say is for people, not for tests."""

import re

from kv_canary.bench import host
from kv_canary.bench.cases import plan_arguments
from kv_canary_kernels.validators.plan import accepts_plan


def test_validator_rows_name_the_ratio_to_bare_reads(monkeypatch):
    monkeypatch.setattr(host, "ROUNDS", 1)
    monkeypatch.setattr(host, "CALLS", 2)
    bare, checks, direct = host.validator_rows()
    assert bare.startswith("plan: bare attribute reads")
    assert re.search(r"\d us +\d+\.\d\d x$", checks)
    assert re.search(r"\d us +\d+\.\d\d x$", direct)


def test_bare_reads_touch_every_tensor_that_is_given():
    arguments = plan_arguments("cpu")
    reads = host.bare_reads(accepts_plan, arguments)
    reads(*arguments.values())
    broken = {**arguments, "prefix_lens": None}
    try:
        reads(*broken.values())
    except (AttributeError, TypeError):
        return
    raise AssertionError("a tensor that is missing was not noticed, so it was not read")
