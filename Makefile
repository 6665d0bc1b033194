# Every target works on a fresh machine: what it needs beyond Python 3.11 and make, it installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A company's proxy shows a certificate that only the system knows.
export UV_SYSTEM_CERTS ?= true

.PHONY: help setup demo test test-slow test-python test-editor check lint types lock bench wheel clean
.DEFAULT_GOAL := help

# What stands behind a double hash in this file.
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# $(call part,WHAT,COMMAND): says what begins, does it, and says how long that took and whether it went well.
define part
@echo "==> $(1)"; start=$$(date +%s); status=0; ( $(2) ) || status=$$?; \
echo "<== $(1): $$(( $$(date +%s) - start )) s$$([ $$status -eq 0 ] || echo ", failed")"; exit $$status
endef

setup: $(STAMP) ## Install everything that Python needs into .venv

PACKAGES := partstream partstream-agents partstream-devtools partstream-hub

$(STAMP): requirements.lock $(PACKAGES:%=packages/%/pyproject.toml)
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps $(PACKAGES:%=--editable packages/%)
	touch $(STAMP)

# All extras but `ray`, which is half a gigabyte: `make ray` installs it in an environment of its own.
LOCKED_EXTRAS := conformance fast keyring postgres serve socks telemetry tokens

lock: ## Renew requirements.lock, with hashes
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile --quiet --universal --generate-hashes $(LOCKED_EXTRAS:%=--extra %) \
		--group pyproject.toml:dev --no-header --upgrade $(PACKAGES:%=packages/%/pyproject.toml) \
		$(PACKAGES:%=--no-emit-package %) -o requirements.lock

demo: setup ## Show a whole conversation turn over real HTTP
	$(BIN)/partstream demo

# The tests of Python keep the processors busy while the extension and VS Code wait for each other.
test: ## Run the fast tests, in less than five minutes: Python, the extension, a dozen checks in a real VS Code
	@start=$$(date +%s); $(MAKE) --no-print-directory tests-installed && \
	$(MAKE) --no-print-directory --jobs=2 test-python test-editor LANE=fast IS_INSTALLED=1 && \
	echo "all parts: $$(( $$(date +%s) - start )) s"

test-slow: ## Run the tests that `test` leaves out: slow ones of Python, all checks in a real VS Code
	@start=$$(date +%s); $(MAKE) --no-print-directory tests-installed && \
	$(MAKE) --no-print-directory test-python LANE=slow IS_INSTALLED=1 && \
	$(MAKE) --no-print-directory e2e IS_INSTALLED=1 && \
	echo "all parts: $$(( $$(date +%s) - start )) s"

# The packed extension and the round trip with the AI SDK are tested too where npm can install what they need.
tests-installed:
	$(call part,installing what Python needs,$(MAKE) --no-print-directory setup)
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory vsix ai-sdk; fi
	@./e2e/setup-browser.sh || [ $$? -eq $(E2E_LEFT_OUT) -a -z "$(E2E_REQUIRED)" ]

# One worker a processor; `make test-python TESTS=packages/partstream/tests/cli` runs a part, `WORKERS=0` runs in one process, and LANE=fast or
# LANE=slow one lane of tests/lanes.py. The order is random: the head of a run names its seed, and
# TESTS=--randomly-seed=N repeats it.
WORKERS ?= auto
TESTS ?=
LANE ?=
IS_INSTALLED ?=

# Bytecode is kept, whatever the environment says: each of two hundred processes would compile all that it imports.
test-python: export PYTHONDONTWRITEBYTECODE :=
test-python: ## Run the tests of Python
	@[ -n "$(IS_INSTALLED)" ] || $(MAKE) --no-print-directory tests-installed
	$(call part,$(LANE) tests of Python,$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(LANE:%=--lane %) $(TESTS))

# Shown at the end: it runs beside the tests of Python. What a machine cannot run is named.
test-editor: ## Test the extension, and run a dozen checks in a real VS Code
	@if ! command -v npm >/dev/null; then \
		echo "left out: the extension's tests and the checks in a real VS Code, because npm is missing"; \
	else \
		said=$$(mktemp); status=0; \
		{ $(MAKE) --no-print-directory test-extension && $(MAKE) --no-print-directory smoke; } >$$said 2>&1 || status=$$?; \
		cat $$said; rm $$said; exit $$status; \
	fi

# Damaged streams, read in every way: SECONDS is how long; the last lines of a run say how to repeat a fault.
.PHONY: fuzz
SECONDS ?= 60
fuzz: setup ## Read damaged streams for SECONDS=60, and stop at the first fault
	cd tests && $(CURDIR)/$(BIN)/python -m fuzzing --seconds $(SECONDS)

lint: setup ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Check types
	$(BIN)/mypy

# Pyright needs Node; its pinned version goes into .environments.
PYRIGHT_FOLDER := .environments/pyright-1.1.414
PYRIGHT := $(PYRIGHT_FOLDER)/node_modules/.bin/pyright

.PHONY: types-examples

$(PYRIGHT):
	@command -v npm >/dev/null || { echo "npm is missing: pyright needs Node 20 or newer, which brings npm" >&2; exit 1; }
	npm install --silent --no-save --prefix $(PYRIGHT_FOLDER) pyright@$(PYRIGHT_FOLDER:.environments/pyright-%=%)

types-examples: setup $(PYRIGHT) ## Check the types of the examples and the public names with pyright, too
	$(PYRIGHT) --project pyproject.toml

check: ## Run lint, types and all tests, in less than 15 minutes: what a change must pass
	@$(MAKE) --no-print-directory lint types && $(MAKE) --no-print-directory test && $(MAKE) --no-print-directory test-slow

# Strict: a link that leads nowhere fails. The second, a part of the tests of Python, looks at the built pages too, and at
# every block of code.
.PHONY: docs docs-check

docs: setup ## Build the site of the docs into site/: open site/index.html
	$(call part,building the site of the docs,$(BIN)/python -m sphinx -q -W --keep-going -j auto -c tools/docs_site -d build/docs . site)

docs-check: setup ## Build the site of the docs and check its links, anchors, search and reference
	$(call part,checking the site of the docs,$(BIN)/python -m pytest -n 0 -q tests/docs)

clean: ## Remove everything that was built or installed here
	rm -rf $(VENV) .environments dist build artifacts site .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The VS Code extension: needs Node 20 or newer and npm beside Python.
EXTENSION := extension
NODE_STAMP := $(EXTENSION)/node_modules/.installed

.PHONY: extension extension-libraries test-extension vsix

$(NODE_STAMP): $(EXTENSION)/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: the extension needs Node 20 or newer, which brings npm" >&2; exit 1; }
	cd $(EXTENSION) && npm ci --silent
	touch $(NODE_STAMP)

extension-libraries: setup ## Put the Python package and what it needs into extension/
	$(BIN)/python tools/build_vsix.py --libraries-only

# Afterwards extension/ can be loaded as it is, without packing it.
extension: $(NODE_STAMP) extension-libraries ## Build the extension without packing it
	cd $(EXTENSION) && npm run --silent typecheck && npm run --silent build

.PHONY: extension-types extension-style extension-tests

extension-types: $(NODE_STAMP) ## Check the types of the extension
	cd $(EXTENSION) && npm run --silent typecheck

extension-style: $(NODE_STAMP) ## Check style, format and texts of the extension
	cd $(EXTENSION) && npm run --silent lint && npm run --silent format && npm run --silent l10n -- --check

extension-tests: $(NODE_STAMP) ## Run the tests of the extension alone
	cd $(EXTENSION) && npm test --silent

# Each of the three keeps one processor busy.
test-extension: $(NODE_STAMP) ## Check and test the extension
	$(call part,tests of the extension,$(MAKE) --no-print-directory --jobs=2 extension-tests extension-types extension-style)

vsix: $(NODE_STAMP) setup ## Pack the extension: dist/partstream-*.vsix
	$(call part,packing the extension,$(BIN)/python tools/build_vsix.py)

wheel: setup ## Build the wheel: dist/partstream-*.whl
	rm -f dist/*.whl
	VIRTUAL_ENV=$(VENV) $(BIN)/uv build --quiet --wheel --out-dir dist

# Builds each artifact twice and looks into it as a stranger would; leaves the artifacts and their hashes in dist/, and
# ends with an error if they must not be released.
.PHONY: release-check

release-check: $(NODE_STAMP) pythons ## Check the wheel, the source distribution and the extension, in some minutes
	$(BIN)/python -m tools.release

# The tests on each supported Python, with the newest packages and with the oldest that pyproject.toml allows, each in an
# environment of its own; what they showed goes into tools/pythons/results.json, and from there into docs/releasing.md.
# ONLY="3.11-oldest" runs one, TESTS="packages/partstream/tests/protocols" some of the tests.
.PHONY: pythons check-pythons

pythons: setup ## Install the supported Pythons that this machine does not have, for this project alone
	$(BIN)/python -m tools.pythons.missing

check-pythons: export PYTHONDONTWRITEBYTECODE :=
check-pythons: pythons ## Run the tests on every supported Python, with oldest and newest packages
	$(BIN)/python -m tools.pythons --workers $(WORKERS) $(if $(ONLY),--only "$(ONLY)") $(if $(TESTS),--tests "$(TESTS)")
	$(BIN)/python tools/generate.py

# The tables of our wires beside the types of the newest packages of the registries; ends with an error if something is
# new, gone or changed. ONLY="gemini" compares one wire; `make freshness-accept` keeps the fields of today as looked at.
.PHONY: freshness freshness-accept

freshness: setup ## Compare our tables of wires with the newest packages, in a minute
	$(BIN)/python -m interop.freshness $(if $(ONLY),--only "$(ONLY)")

freshness-accept: setup ## Keep the fields of the newest packages as looked at
	$(BIN)/python -m interop.freshness --accept $(if $(ONLY),--only "$(ONLY)")

# Measures, shows and writes artifacts/bench.json; takes about eight minutes. Node is needed for the JavaScript rows only.
.PHONY: bench bench-docs

bench: setup ## Measure beside others, in about eight minutes
	$(BIN)/python -m benchmarks

# The same, and the figures go into the page that explains them.
bench-docs: setup ## Measure, and put the figures into docs/performance.md
	$(BIN)/python -m benchmarks --docs docs/performance.md

# Serving beside LiteLLM's proxy, which is installed at a pinned version; the figures are kept in
# benchmarks/serving/results.json, and from there go into docs/serving-performance.md.
.PHONY: bench-serve

bench-serve: setup ## Measure `partstream serve` beside LiteLLM's proxy, in about ten minutes
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python tools/generate.py

# The inspector's page in Chromium: its first paint with 20,000 events, filter, selection, and memory while it follows
# live answers for ten minutes of a clock of its own. The figures are kept in benchmarks/pages/results.json, and from there
# go into docs/inspector.md. The second makes the pictures of that page and of docs/hub-page.md.
.PHONY: pages pages-pictures setup-browser

pages: setup ## Measure the inspector's page in a browser, in about a minute
	$(BIN)/python -m benchmarks.pages
	$(BIN)/python tools/generate.py

pages-pictures: setup ## Make the pictures of docs/inspector.md and docs/hub-page.md, and the icon, anew
	$(BIN)/python tools/inspector_pictures.py
	$(BIN)/python tools/hub_pictures.py
	$(BIN)/python tools/extension_icon.py

setup-browser: ## Install the browser that tests of pages drive
	./extension/e2e/setup-browser.sh

# What the recorder adds to a server; the figures are kept in benchmarks/recording/results.json, and from there go into
# docs/recording-performance.md.
.PHONY: bench-record

bench-record: setup ## Measure `partstream record` before a server, in about five minutes
	$(BIN)/python -m benchmarks.recording
	$(BIN)/python tools/generate.py

# A hub of 200 workers in virtual time; the figures are kept in benchmarks/hub_simulation/results.json, and from there go
# into docs/scaling.md.
.PHONY: simulate-hub

simulate-hub: setup ## Simulate a hub of 10,000 people on 200 workers, in about ten minutes
	$(BIN)/python -m benchmarks.hub_simulation
	$(BIN)/python tools/generate.py

# Each door of the README is gone through in an empty home, by the commands that the pages say; what it took goes into
# tools/doors/results.json, and from there into docs/install.md. ONLY="stream" goes through one.
.PHONY: newcomer

newcomer: setup ## Go through the doors of the README as a newcomer, in about five minutes
	$(BIN)/python -m tools.doors $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

# Every server that can be installed here is started on loopback and ended again; what each showed goes into
# interop/servers/results.json, and from there into docs/servers.md. ONLY="fakellm" tries one.
.PHONY: servers
ONLY ?=

servers: setup ## Try Partstream against model servers that nobody here wrote
	$(BIN)/python -m interop.servers $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

# Each client is installed at its pinned version, and asks on loopback; what it showed goes into
# interop/clients/served/results.json and interop/clients/results.json, and from there into docs/clients.md. ONLY="openai-node" asks with
# one, in one of the three parts.
.PHONY: clients served-clients replayed-clients

clients: served-clients agents-clients replayed-clients ## Ask with all clients: official packages, coding agents

served-clients: setup ## Ask partstream serve with official clients
	$(BIN)/python -m interop.clients.served $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

replayed-clients: setup ## Ask the replay upstream with official clients
	$(BIN)/python -m interop.clients $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

# The conformance kit tests packages and servers of others, each at its pinned version and on loopback; what each breaks
# goes into interop/conformance/results.json, and from there into docs/conformance.md. ONLY="aimock" tests one; make targets-lock
# renews what is installed, as interop/conformance/locks/*.in want.
.PHONY: conformance targets-lock

conformance: setup ## Test software of others with the conformance kit, in about three minutes
	$(BIN)/python -m interop.conformance $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

targets-lock: setup ## Renew the lock files of the packages that the kit tests, with hashes
	@cd interop/conformance/locks && for wanted in *.in; do \
		VIRTUAL_ENV=$(CURDIR)/$(VENV) $(CURDIR)/$(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
			--generate-hashes --no-header --upgrade ../../../pyproject.toml $$wanted -o $${wanted%.in}.lock || exit 1; \
	done

# Packages that read streams, each where it is installed, read all recorded streams over HTTP on loopback; what each got
# right goes into interop/parsers/results.json, and from there into docs/conformance.md. ONLY="openai" has one read.
.PHONY: parsers

parsers: setup ## Have parsers of others read the recorded streams, in about four minutes
	$(BIN)/python -m interop.parsers $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

# The tests of the adapters of agent frameworks, at the oldest version of each framework that is supported and at the
# newest, each in an environment of its own; what they showed goes into interop/frameworks/results.json, and from there into
# docs/agents.md. ONLY="pydantic-ai" tests one. The second makes the lock files anew from the versions that
# interop/frameworks/locks/*.in want.
.PHONY: frameworks frameworks-lock

frameworks: setup ## Test agents of all frameworks at their oldest and newest versions
	$(BIN)/python -m interop.frameworks $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

frameworks-lock: setup ## Renew the lock files of the agent frameworks, with hashes
	@cd interop/frameworks/locks && for edition in *-oldest.in *-newest.in; do \
		VIRTUAL_ENV=$(CURDIR)/$(VENV) $(CURDIR)/$(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
			--generate-hashes --no-header --upgrade ../../../pyproject.toml $$edition -o $${edition%.in}.lock || exit 1; \
	done

# `partstream serve --on ray` beside plain `partstream serve`: streams, cancellation, a replica that is killed, drain, the
# suite of OpenResponses and a hub, on two processors, and figures; what it showed goes into interop/ray_serve/results.json, and
# from there into docs/ray.md. Ray ends with it. ONLY="haproxy" tries one way of serving.
.PHONY: ray ray-lock

ray: setup ## Try Ray Serve as a host, beside plain serving, in about six minutes
	$(BIN)/python -m interop.ray_serve $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

ray-lock: setup ## Renew the lock file of the environment with Ray, with hashes
	@cd interop/ray_serve/locks && VIRTUAL_ENV=$(CURDIR)/$(VENV) $(CURDIR)/$(BIN)/uv pip compile --quiet --universal \
		--python-version 3.11 --generate-hashes --no-header --upgrade --extra ray --extra serve ../../../pyproject.toml ray.in \
		-o ray.lock

# What tools/deploy/Dockerfile installs beside the wheel.
.PHONY: deploy-lock

deploy-lock: setup ## Renew the lock file of the image, with hashes
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--upgrade --extra postgres --extra serve --extra telemetry pyproject.toml -o tools/deploy/worker.lock

# The whole matrix of our own providers: each protocol, agent and example in every scenario of the conformance kit. The
# suite runs all scenarios over one protocol, and the most telling ones over the others.
.PHONY: conformance-own

conformance-own: setup ## Run the whole conformance kit on our own providers, in half a minute
	WHOLE_RUNS=1 $(BIN)/python -m pytest -n $(WORKERS) packages/partstream-devtools/tests/conformance/test_own_providers.py packages/partstream-agents/tests/agents -k "contract"

# `partstream serve` under clients that behave badly: half of 256 leave, others read late, send slowly or take nothing;
# 20,000 short requests; SIGTERM under load. What it showed goes into benchmarks/soak/results.json, and from there into
# docs/serving.md.
.PHONY: soak

soak: setup ## Load the server with clients that behave badly, in about two minutes
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python tools/generate.py

# The budgets of the hub on four real workers and a real Postgres: a thousand answers at once while a worker is killed, a
# budget for a third of them, ten minutes without the database. What it showed goes into benchmarks/hub_proof/results.json, and
# from there into docs/hub-proof.md.
.PHONY: hub

hub: setup ## Prove the budgets of the hub on four workers and a real Postgres, in about a quarter of an hour
	$(BIN)/python -m benchmarks.hub_proof
	$(BIN)/python tools/generate.py

# The hub beside LiteLLM's proxy with its database, both installed at pinned versions; the figures are kept in
# benchmarks/hub/results.json, and from there go into docs/hub-performance.md.
.PHONY: bench-hub

bench-hub: setup ## Measure the hub beside LiteLLM's proxy with its database, in about half an hour
	$(BIN)/python -m benchmarks.hub
	$(BIN)/python tools/generate.py

# Each coding agent is installed at its pinned version and run against partstream serve, on loopback alone where the
# system lets it; what it showed goes into interop/clients/agents/results.json, and from there into docs/clients. ONLY="codex"
# runs one.
.PHONY: agents-clients

agents-clients: setup ## Run coding agents against partstream serve
	$(BIN)/python -m interop.clients.agents $(if $(ONLY),--only "$(ONLY)")
	$(BIN)/python tools/generate.py

# The public compliance suite of OpenResponses, from a checkout that you have fetched: in it, `bun install` first. BUN
# names the program, if it is not on the path.
.PHONY: openresponses-suite
SUITE ?=
BUN ?= bun

openresponses-suite: setup ## Run the compliance suite in SUITE=DIR against partstream serve
	$(BIN)/python tools/run_openresponses_suite.py "$(SUITE)" --bun "$(BUN)"

# How far token estimates are from the truth; the second puts the tables into the page that explains them.
.PHONY: tokens-accuracy tokens-accuracy-docs tokens-session

tokens-accuracy: setup ## Measure how far token estimates are from the truth
	$(BIN)/python -m benchmarks.token_accuracy

tokens-accuracy-docs: setup ## Measure it, and put the tables into docs/tokens.md
	$(BIN)/python -m benchmarks.token_accuracy --docs docs/tokens.md

tokens-session: setup ## Compare token totals with a server's through a session of 200 turns
	$(BIN)/python -m pytest -s packages/partstream/tests/tokens/test_session.py --turns 200

# What an agent's session costs with prompt caching; the second puts the figures into the page that explains them.
.PHONY: caching caching-docs

caching: setup ## Show what prompt caching saves in an agent's session
	$(BIN)/python -m benchmarks.caching

caching-docs: setup ## Measure it, and put the figures into docs/caching.md
	$(BIN)/python -m benchmarks.caching --docs docs/caching.md

# The packed extension in a real VS Code: needs npm; a browser, code-server and its Node are installed where they are
# missing. A machine that cannot have them is told what was left out; with E2E_REQUIRED=1 that is an error.
E2E_LEFT_OUT := 75
# How many VS Codes run beside each other.
LANES ?= 2

.PHONY: e2e smoke bench-vscode pictures

define in_vscode
@status=0; ./extension/e2e/setup.sh || status=$$?; \
if [ $$status -eq $(E2E_LEFT_OUT) ] && [ -z "$(E2E_REQUIRED)" ]; then exit 0; fi; \
[ $$status -eq 0 ] || exit $$status; \
[ -n "$(IS_INSTALLED)" ] || $(MAKE) --no-print-directory vsix || exit $$?; \
start=$$(date +%s); echo "==> $(2)"; node extension/e2e/$(1) || status=$$?; \
echo "<== $(2): $$(( $$(date +%s) - start )) s$$([ $$status -eq 0 ] || echo ", failed")"; exit $$status
endef

e2e: setup ## Run the packed extension in a real VS Code
	$(call in_vscode,run.js --lanes $(LANES),checks in a real VS Code)

smoke: setup ## Run a dozen checks of those in a real VS Code
	$(call in_vscode,run.js --smoke,a dozen checks in a real VS Code)

bench-vscode: setup ## Measure the packed extension in a real VS Code
	$(call in_vscode,bench.js,measuring in a real VS Code)

# In light and in dark. The models are a script, so the pictures differ only where VS Code or the extension does.
pictures: E2E_REQUIRED := 1
pictures: setup ## Take the pictures of VS Code in the README and the docs anew, in some minutes
	$(call in_vscode,pictures.js,taking pictures in a real VS Code)
	$(BIN)/python tools/vscode_pictures.py

# The published AI SDK at pinned versions: for its round trip in the tests, and to record tests/fixtures/ai_sdk anew.
# Its version 7 asks for Node 22; where the packages bring a Node of their own, that one runs.
AI_SDK := tools/record_ai_sdk
AI_SDK_STAMP := $(AI_SDK)/node_modules/.installed

.PHONY: ai-sdk record-ai-sdk

$(AI_SDK_STAMP): $(AI_SDK)/package-lock.json
	cd $(AI_SDK) && npm ci --silent --ignore-scripts
	touch $(AI_SDK_STAMP)

ai-sdk: ## Fetch the published AI SDK, which the tests talk to
	$(call part,fetching the AI SDK,$(MAKE) --no-print-directory $(AI_SDK_STAMP))

record-ai-sdk: $(AI_SDK_STAMP) ## Record the fixtures of the AI SDK anew
	PATH="$$(echo $(CURDIR)/$(AI_SDK)/node_modules/node-linux-*/bin):$$PATH" node $(AI_SDK)/record.js
