# Every target works on a fresh machine: what it needs beyond Python 3.11 and make, it installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup demo test test-python check lint types lock bench wheel clean
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

# Everything: Python, the extension, and the packed extension in a real VS Code. What a machine cannot run is named.
test: test-python
	@if command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory test-extension e2e; \
	else \
		echo "left out: the extension's tests and the end-to-end run, because npm is missing"; \
	fi

# The packed extension and the round trip with the AI SDK are tested too where npm can install what they need.
test-python: setup
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory vsix ai-sdk; fi
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

check: lint types test

clean:
	rm -rf $(VENV) dist build artifacts .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The VS Code extension: needs Node 20 or newer and npm beside Python.
EXTENSION := extension
NODE_STAMP := $(EXTENSION)/node_modules/.installed

.PHONY: extension extension-libraries test-extension vsix

$(NODE_STAMP): $(EXTENSION)/package-lock.json
	cd $(EXTENSION) && npm ci --silent
	touch $(NODE_STAMP)

extension-libraries: setup
	$(BIN)/python scripts/build_vsix.py --libraries-only

# Afterwards extension/ can be loaded as it is, without packing it.
extension: $(NODE_STAMP) extension-libraries
	cd $(EXTENSION) && npm run --silent typecheck && npm run --silent build

test-extension: $(NODE_STAMP)
	cd $(EXTENSION) && npm run --silent typecheck && npm run --silent lint && npm run --silent format && npm test --silent

vsix: $(NODE_STAMP) setup
	$(BIN)/python scripts/build_vsix.py

# What a user installs: dist/partstream-*.whl
wheel: setup
	rm -f dist/*.whl
	VIRTUAL_ENV=$(VENV) $(BIN)/uv build --quiet --wheel --out-dir dist

# Measures, shows and writes artifacts/bench.json; takes two to four minutes. Node is needed for the JavaScript floor only.
.PHONY: bench bench-docs

bench: setup
	$(BIN)/python -m benchmarks

# The same, and the figures go into the page that explains them.
bench-docs: setup
	$(BIN)/python -m benchmarks --docs docs/performance.md

# How far token estimates are from the truth; the second puts the tables into the page that explains them.
.PHONY: tokens-accuracy tokens-accuracy-docs

tokens-accuracy: setup
	$(BIN)/python -m benchmarks.token_accuracy

tokens-accuracy-docs: setup
	$(BIN)/python -m benchmarks.token_accuracy --docs docs/tokens.md

# The packed extension in a real VS Code: needs npm; a browser, code-server and its Node are installed where they are
# missing. A machine that cannot have them is told what was left out; with E2E_REQUIRED=1 that is an error.
E2E_LEFT_OUT := 75

.PHONY: e2e bench-vscode

define in_vscode
@status=0; ./e2e/setup.sh || status=$$?; \
if [ $$status -eq $(E2E_LEFT_OUT) ] && [ -z "$(E2E_REQUIRED)" ]; then exit 0; fi; \
[ $$status -eq 0 ] || exit $$status; \
$(MAKE) --no-print-directory vsix && node e2e/$(1)
endef

e2e: setup
	$(call in_vscode,run.js)

bench-vscode: setup
	$(call in_vscode,bench.js)

# The published AI SDK at pinned versions: for its round trip in the tests, and to record tests/fixtures/ai_sdk anew.
# Its version 7 asks for Node 22; where the packages bring a Node of their own, that one runs.
AI_SDK := scripts/record_ai_sdk
AI_SDK_STAMP := $(AI_SDK)/node_modules/.installed

.PHONY: ai-sdk record-ai-sdk

$(AI_SDK_STAMP): $(AI_SDK)/package-lock.json
	cd $(AI_SDK) && npm ci --silent --ignore-scripts
	touch $(AI_SDK_STAMP)

ai-sdk: $(AI_SDK_STAMP)

record-ai-sdk: $(AI_SDK_STAMP)
	PATH="$$(echo $(CURDIR)/$(AI_SDK)/node_modules/node-linux-*/bin):$$PATH" node $(AI_SDK)/record.js
