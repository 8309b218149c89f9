# Two commands do everything: `make quickstart` and `make test`.
# Each builds .venv by itself, from the package registry alone; a second run starts at once.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: quickstart test check format conformance bench clean

quickstart: .venv/core
	@$(BIN)/provegym quickstart

test: check

check: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src
	$(BIN)/pytest

format: .venv/dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

conformance: .venv/dev
	$(BIN)/python tests/conformance/run.py

bench: .venv/core
	@$(BIN)/provegym bench

.venv/core: pyproject.toml constraints.txt
	@echo "installing into .venv (once) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

.venv/dev: .venv/core
	@echo "installing the checks into .venv (once) …"
	@$(PIP) --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv .conformance .mypy_cache .ruff_cache .pytest_cache
