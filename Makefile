# make demo: train on Cora and show the result.   make test: the whole suite.   make check: ruff, mypy and the import contract.
# make bench: a training step beside PyTorch Geometric's, and its growth with the graph; writes docs/results/performance.md.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# make fuzz: odd and damaged inputs for ten minutes; ARGS="--inputs 30000 --seed 1" passes options.
# make test-lowest: a selection of the tests with the lowest versions that pyproject.toml allows.
# make test-cluster: trainings and products on Ray clusters that lose machines.
# make docs: the documentation as a site, in docs/_build/html.   make check-docs: its links, its search, in a browser.
# make dist: wheel and sdist, in dist/.
.PHONY: demo test test-cluster test-lowest fuzz check docs check-docs dist bench clean

demo: .venv/package
	$(BIN)/ngcn train cora

test: .venv/test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

test-cluster: .venv/test
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m cluster tests/engine $(ARGS)

# Warnings of old versions are no errors. Torch is that of constraints.txt: see tools/lowest.py
test-lowest: .venv-lowest/test
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest --override-ini addopts="-q -rs" --override-ini filterwarnings=default \
		tests/data tests/model tests/ops/test_operator.py tests/ops/test_towers.py tests/ops/test_features.py \
		tests/training/test_loop.py tests/runs/test_run.py tests/cli/test_predict.py

fuzz: .venv/test
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz $(or $(ARGS),--seconds 600)

check: .venv/check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: .venv/docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs docs/_build/html
	@echo "docs/_build/html/index.html"

check-docs: docs .venv/test
	$(BIN)/python -m tools.check_site

# The wheel must hold all that a training needs: it is tried by itself, with the installed dependencies.
dist: .venv/dist
	$(BIN)/python -m hatchling build --clean
	rm -rf build/wheel
	$(PIP) --no-deps --target build/wheel dist/ngcn-*.whl
	cd build/wheel && ../../$(BIN)/python -m ngcn train cora --steps 1 --out run

bench: .venv/test
	$(BIN)/python -m benchmarks.step
	$(BIN)/python -m benchmarks.scaling

clean:
	rm -rf .venv .venv-lowest docs/_build build dist .pytest_cache .mypy_cache .ruff_cache

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

.venv-lowest/test: pyproject.toml constraints.txt tools/lowest.py
	@echo "Installing the lowest versions into .venv-lowest ..."
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tools/lowest.py > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .venv-lowest/lowest.txt --editable . pytest hypothesis beartype
	@touch $@

.venv/docs: .venv/package
	$(PIP) --editable ".[docs]"
	@touch $@

.venv/dist: .venv/package
	$(PIP) --editable ".[dist]"
	@touch $@

.venv/check: .venv/package
	$(PIP) --editable ".[check]"
	@touch $@
