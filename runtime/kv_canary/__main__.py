"""`python -m kv_canary`: the whole command line, with a PYTHONPATH alone."""

from __future__ import annotations

from kv_canary.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
