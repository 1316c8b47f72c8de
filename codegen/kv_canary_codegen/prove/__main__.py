"""`python -m kv_canary_codegen.prove`."""

from kv_canary_codegen.prove.command import main

if __name__ == "__main__":
    raise SystemExit(main())
