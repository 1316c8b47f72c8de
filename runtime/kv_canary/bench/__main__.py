"""`python -m kv_canary.bench`: the same as `kv-canary bench`."""

from __future__ import annotations

import sys

from kv_canary.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["bench", *sys.argv[1:]]))
