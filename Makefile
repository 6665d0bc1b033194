# Every target works on a fresh machine: what it needs beyond Python 3.11 and make, it installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test check lint types lock bench wheel clean
.DEFAULT_GOAL := check

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --editable .
	touch $(STAMP)

lock:
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile --quiet --universal --generate-hashes --all-extras --group dev \
		--no-header --upgrade pyproject.toml -o requirements.lock

demo: setup
	$(BIN)/partstream demo

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf $(VENV) dist build artifacts .mypy_cache .pytest_cache .ruff_cache .hypothesis
