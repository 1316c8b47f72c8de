"""What kv-canary costs, each figure beside the floor it stands on: `python -m kv_canary.bench`."""
