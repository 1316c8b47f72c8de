"""`python -m kv_canary.bench [host|device|step]`: host rows anywhere, the others on a GPU."""

from __future__ import annotations

import argparse

import torch

from kv_canary.bench import device, host, step


def main() -> int:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(prog="python -m kv_canary.bench")
    parser.add_argument(
        "rows", nargs="?", choices=("host", "device", "step"), help="default: what runs here"
    )
    chosen = parser.parse_args().rows
    if chosen in ("device", "step") and not torch.cuda.is_available():
        parser.error(f"{chosen} rows need a CUDA or ROCm GPU, and torch sees none")
    if chosen in ("host", None):
        for line in host.rows():
            print(line, flush=True)
    for name, module in (("device", device), ("step", step)):
        if chosen in (name, None) and torch.cuda.is_available():
            for line in module.rows():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
