"""`python -m kv_canary.bench [host|device]`: host rows anywhere, device rows on a GPU."""

from __future__ import annotations

import argparse

import torch

from kv_canary.bench import device, host


def main() -> int:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(prog="python -m kv_canary.bench")
    parser.add_argument(
        "rows", nargs="?", choices=("host", "device"), help="default: what runs here"
    )
    chosen = parser.parse_args().rows
    if chosen == "device" and not torch.cuda.is_available():
        parser.error("device rows need a CUDA or ROCm GPU, and torch sees none")
    if chosen != "device":
        for line in host.rows():
            print(line, flush=True)
    if chosen != "host" and torch.cuda.is_available():
        for line in device.rows():
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
