# `make demo`: from nothing to audits of real released models. `make test`: from nothing to a green test suite.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench clean
demo: .venv/base
	@$(BIN)/python examples/demo.py

test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/dev
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check --no-cache .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/base
	$(BIN)/python tests/bench/captures.py
	$(BIN)/python tests/bench/main_job.py
	$(BIN)/python tests/bench/forests.py
	$(BIN)/python tests/bench/certificates.py
	$(BIN)/python tests/bench/noise.py
	$(BIN)/python tests/bench/denoise.py
	$(BIN)/python tests/bench/readers.py

.venv/base: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "recon needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[sklearn]'
	@touch $@

.venv/dev: .venv/base
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@# pyganak brings a pyapproxmc of its own, one that counts wrong: the right one is put back over it
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))' && $(BIN)/python -m pip install --quiet \
	  --disable-pip-version-check --force-reinstall --no-deps 'pyapproxmc==4.1.24' || true
	@touch $@

clean:
	rm -rf .venv build dist *.egg-info
