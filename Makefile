# make demo: train N-GCN on Cora and show the result.   make test: the whole suite.   make check: ruff, mypy and the import contract.
# make bench: a training step beside PyTorch Geometric's, and its growth with the graph; writes docs/performance.md.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check bench clean

demo: .venv/package
	$(BIN)/ngcn train cora --model ngcn --classifier attention --powers 6 --replicas 4

test: .venv/test
	$(BIN)/python -m pytest $(ARGS)

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: .venv/test
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.scaling

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Each stamp stands for an installation that is up to date with the two files it came from.
.venv/package: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing ngcn into .venv (some minutes the first time) ..."
	$(PIP) --editable .
	@touch $@

.venv/test: .venv/package
	$(PIP) --editable ".[test]"
	@touch $@

.venv/check: .venv/package
	$(PIP) --editable ".[check]"
	@touch $@
