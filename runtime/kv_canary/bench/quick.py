import sys, time, json
import torch
from kv_canary.bench.steps import Shape, Step
from kv_canary.bench.device import _graph_us, _host_us
from kv_canary import *
import kv_canary
SHAPES = [
    Shape(name="decode 1 x 5,120", bs=1, prefix=5120),
    Shape(name="decode 256 x 4,096 scattered", bs=256, prefix=4096),
    Shape(name="decode 256 x 4,096 paged", bs=256, prefix=4096, page=64),
    Shape(name="decode 256 x 4,096 tokens", bs=256, prefix=4096, tokens=True),
    Shape(name="decode 1,024 x 1,024", bs=1024, prefix=1024),
    Shape(name="decode 4,096 x 512", bs=4096, prefix=512),
    Shape(name="window 128, 128 x 10,240", bs=128, prefix=10240, window=128),
    Shape(name="prefill 4,096", bs=1, prefix=0, extend=4096),
    Shape(name="prefill 16,384", bs=1, prefix=0, extend=16384),
    Shape(name="prefill 131,072", bs=1, prefix=0, extend=131072),
    Shape(name="prefill 4,096 after 12,288, 2x32/16", bs=1, prefix=12288, extend=4096, sources=((32,16),(32,16))),
    Shape(name="decode 256 x 4,096, 1,024 B", bs=256, prefix=4096, sources=((1024,1024),)),
    Shape(name="decode 256 x 4,096, 4x64/32", bs=256, prefix=4096, sources=((64,32),)*4),
]
formats = sys.argv[1].split(",") if len(sys.argv) > 1 else ["parallel"]
only = sys.argv[2] if len(sys.argv) > 2 else ""
for fmt in formats:
    for shape in SHAPES:
        if only and only not in shape.name: continue
        try:
            step = Step(shape, fmt, "cuda")
            launch_canary_plan_kernels(**step.plan_arguments())
            torch.cuda.synchronize()
            n = int(step.verify_plan.verify_num_valid)
            before = int(step.context.violation_write_index)
            launch_canary_verify_kernel(**step.verify_arguments())
            launch_canary_write_kernel(**step.write_arguments())
            torch.cuda.synchronize()
            bad = int(step.context.violation_write_index) - before
            plan = _graph_us(lambda: launch_canary_plan_kernels(**step.plan_arguments()))
            verify = _graph_us(lambda: launch_canary_verify_kernel(**step.verify_arguments()))
            write = _graph_us(lambda: launch_canary_write_kernel(**step.write_arguments()))
            print(f"{fmt:9s}{shape.name:38s} entries {n:8d} bad {bad} plan {plan:8.2f} verify {verify:8.2f} write {write:8.2f}", flush=True)
            del step
            torch.cuda.empty_cache()
        except Exception as e:
            print(fmt, shape.name, "FAILED", type(e).__name__, str(e)[:300], flush=True)
