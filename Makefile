# `make demo`: from nothing to audits of real released models. `make test`: from nothing to a green test suite.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all quick lint docs bench bench-all bench-check mutants safety clean
demo: .venv/base
	@$(BIN)/python examples/demo.py

# In five minutes on two cores; `test-all` has the slow tests too (.ci/run, 25 minutes); `quick` is a tenth, in one.
test: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-all: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not long"

quick: .venv/dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --tenth tests

lint: .venv/dev
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check --no-cache .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The pages of docs/ as a site, in site/: open site/index.html. Nothing is fetched; a warning is an error.
docs: .venv/dev
	$(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html"

# What README and docs say of speed and memory, beside named baselines (docs/measured.md): `bench` what ends within 15
# minutes in all, `bench-all` everything; `bench-check` says what got worse than the committed results, writing nothing.
BENCHES := main_job start front_door captures forests readers optimal orders unknown_bags midpoints noise leaf_values curve scale_out report learner_rule gate published_tables balance census

bench: .venv/dev
	@status=0; for name in $(BENCHES); do $(BIN)/python tests/bench/$$name.py --quick || status=1; done; exit $$status

bench-all: .venv/dev
	@status=0; for name in $(BENCHES); do $(BIN)/python tests/bench/$$name.py || status=1; done; exit $$status

bench-check: .venv/dev
	@status=0; for name in $(BENCHES); do $(BIN)/python tests/bench/$$name.py --quick --check || status=1; done; exit $$status

# Random fits over the settings of five libraries, in an environment of their own, held against their training rows;
# resumable, the last summary is tests/fits/results.json.
FITS ?= 5000
fits: .venv/dev
	@test -x .venv/fits/bin/python || $(PYTHON) -m venv .venv/fits
	@.venv/fits/bin/python -m pip install --quiet --disable-pip-version-check -r tests/fits/requirements.txt
	@$(BIN)/python tests/fits/checking.py --number $(FITS)

# Changes the kernel and the guards in small ways, one at a time; some test must notice each (docs/measured.md).
mutants: .venv/dev
	$(BIN)/python tests/mutants.py

# Hides rows in 5,000 model files, too (tests/holders.py).
# Grows numbers in 5,000 model files and watches memory, time and exit codes (tests/grown.py).
# Draws 2,000 releases and policies and holds every verdict against worlds listed apart from it (docs/measured.md).
safety: .venv/dev
	$(BIN)/python tests/safety.py
	$(BIN)/python tests/safety.py --part positions --number 500
	$(BIN)/python tests/safety.py --part models --number 3000
	$(BIN)/python tests/safety.py --part areas --number 1000
	$(BIN)/python tests/safety.py --part composed --number 1000
	$(BIN)/python tests/random_tables.py
	$(BIN)/python tests/holders.py
	$(BIN)/python tests/grown.py

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
	rm -rf .venv build dist site *.egg-info
