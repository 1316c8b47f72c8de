# `make test` and `make demo` need Python 3.11 or later, make, and nothing else: they make .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test soak generate prove check lint install clean

help:
	@echo "make demo      replay a real trace, then show two contract errors and the explanation of one"
	@echo "make test      format, lint, types, drift check, tests (what CI runs)"
	@echo "make soak      the long counts, and the mutants of some kernel bodies"
	@echo "make generate  write generated/ from spec/"
	@echo "make prove     prove what changed, record it in spec/proofs, and generate the pages"
	@echo "make check     say whether generated/ is what spec/ gives (exit 1 on drift)"

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

install: $(STAMP)

generate: $(STAMP)
	$(BIN)/python -m kv_canary_codegen generate

prove: generate
	$(BIN)/python -m kv_canary_codegen prove --record
	$(BIN)/python -m kv_canary_codegen generate

check: $(STAMP)
	$(BIN)/python -m kv_canary_codegen check

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Triton's interpreter is chosen before triton is imported, and its compiler fails under it: so these
# are two runs. Each is spread over the cores; torch's own threads would only be in the way.
test: lint check interpreted compiled

.PHONY: interpreted compiled
interpreted: $(STAMP)
	OMP_NUM_THREADS=1 TRITON_INTERPRET=1 $(BIN)/pytest -q -n auto --dist worksteal -m "not gpu and not compiles and not soak"

compiled: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist worksteal -m "compiles and not soak"

soak: $(STAMP)
	TRITON_INTERPRET=1 $(BIN)/pytest -q -m "soak and not gpu and not compiles"
	$(BIN)/pytest -q -m "soak and compiles"

demo: $(STAMP)
	$(BIN)/python -m kv_canary demo

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
