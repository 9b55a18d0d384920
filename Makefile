# Sortkey: `make` alone lists the targets.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
RUNS   := $(VENV)/.runs
DOCS   := $(VENV)/.docs
UNIT   := not slow and not oracle and not faults and not kafka and not postgres and not browser
EACH   := every_python or ($(UNIT))
STORES ?= memory disk endpoint local alternator dynoxide
OTHER  := $(addprefix --ignore=tests/,browser faults oracle)

# The tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test again quick fuzz simulate flips crash soak takeover beside stores lint format docs bench lock console oracle engines kafka postgres ministack browser deployment clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUNS) ## Serve everything on ./data, with demonstration data
	$(BIN)/sortkey up

# Three workers for two cores: a third of the time is waiting for other processes (25 minutes with two, 17 with three).
# Each begins with a third of the tests in their order, so that few workers start the servers of a folder.
test: $(READY) oracle kafka postgres ministack browser deployment ## Run every test, the unit tests on every Python there is
	$(BIN)/python -m pytest -n 3 --dist worksteal -rs || $(MAKE) --no-print-directory again
	@set -e; tools/pythons.sh $(BIN)/python | while read -r python; do \
	    echo "unit tests on $$("$$python" --version)"; \
	    PATH="$(abspath $(BIN)):$$PATH" $(MAKE) --no-print-directory PYTHON="$$python" \
	        VENV="$(VENV)-$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" UNIT="$(EACH)" quick < /dev/null; \
	done

# A machine that stands still for a minute makes one test of 16,000 fail; a defect makes it fail again. Both are printed.
again: $(READY) ## Run the tests that failed once more, one after the other
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -rs

# With LANGUAGE=C, argparse does not look for translations on the disk.
quick: $(READY) ## Run the unit tests, on stores in memory; T=model runs those of one package
	HYPOTHESIS_PROFILE=quick LANGUAGE=C $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "$(UNIT)" $(if $(T),tests/$(T),$(OTHER))

fuzz: $(READY) ## Send N mutated requests (20000), the same ones for each SEED (1)
	$(BIN)/python -m tests.faults.fuzz --count $(or $(N),20000) --seed $(or $(SEED),1)

simulate: $(READY) ## Simulate the store under faults, with N seeds (2000) from SEED (0) on
	$(BIN)/python -m tests.faults.simulation --count $(or $(N),2000) --seed $(or $(SEED),0)

flips: $(READY) ## Flip N bits of a folder (1000), one at a time, the same ones for each SEED (1)
	$(BIN)/python -m tests.faults.flips --count $(or $(N),1000) --seed $(or $(SEED),1)

crash: $(READY) ## Kill writing processes N times (1000), then make 2000 histories; nothing may be lost, stale, or hang
	$(BIN)/python -m tests.faults.crash --count $(or $(N),1000) --seed $(or $(SEED),1)
	$(BIN)/python -m tests.faults.linearizability --count 2000 --seed $(or $(SEED),1)

soak: $(READY) ## Load real servers for SECONDS (600), with faults; memory, files and latency must not drift
	$(BIN)/python -m tests.faults.soak --seconds $(or $(SECONDS),600)

takeover: $(READY) ## Take over a table of ROWS rows (200000) that another program writes; count, repair, lose nothing
	$(BIN)/python -m tests.takeover --rows $(or $(ROWS),200000) --seed $(or $(SEED),1)

beside: $(READY) ## Write tables by turns with PynamoDB and with ElectroDB, N operations (10000); nothing else may change
	$(BIN)/python -m tests.takeover.beside --library pynamodb --count $(or $(N),10000) --seed $(or $(SEED),1)
	$(BIN)/python -m tests.takeover.beside --library electrodb --count $(or $(N),10000) --seed $(or $(SEED),1)

stores: $(READY) oracle engines ## Run all tests of stores on each of STORES, and write the table of docs/stores.md
	@set -e; for store in $(STORES); do $(BIN)/python -m pytest -n 2 --dist worksteal -q --store $$store \
	    --store-run tests/store_runs.json; done
	$(BIN)/python -m tests.docs.test_stores

lint: $(READY) ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY) ## Rewrite the code in the house format, and the sync session from the async one
	$(BIN)/python -m tests.derived_session
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS) ## Build the documentation site, with its reference, into site/
	rm -rf site
	$(BIN)/zensical build --clean --strict

bench: $(READY) ## Measure every number that the README quotes
	$(BIN)/python -m benchmarks

LOCK := uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11

lock: ## Resolve the locked requirements again, to the newest versions
	$(LOCK) --upgrade --extra dev --output-file requirements.txt pyproject.toml
	echo "setuptools" | $(LOCK) --constraint requirements.txt --extra server --extra batch --extra graphql \
	    --output-file requirements-run.txt pyproject.toml -
	echo "setuptools" | $(LOCK) --constraint requirements.txt --extra docs --output-file requirements-docs.txt pyproject.toml -
	echo "setuptools" | $(LOCK) --constraint requirements.txt --extra all --output-file requirements-image.txt pyproject.toml -
	printf 'check-jsonschema\nhadolint-bin\nkubernetes-validate\n' | $(LOCK) --upgrade \
	    --output-file requirements-deployment.txt -
	echo "ministack" | $(LOCK) --upgrade --output-file requirements-ministack.txt -

# Its output is in the repository and in the package, so that nobody else needs npm. A test compares the two.
console: ## Build the console's page from console/ (needs npm)
	@tools/console.sh

# The tests that need what cannot be fetched are skipped, and say why.
oracle: $(READY) ## Fetch DynamoDB Local, which the oracle tests compare with
	@tools/java.sh || true
	@$(BIN)/python -m tests.oracle.local || true

engines: $(READY) ## Build Dynoxide, on which some tests of stores run (needs cargo, and minutes)
	@$(BIN)/python -m tests.dynoxide || true

kafka: $(READY) ## Fetch Kafka, which the tests of the worker use
	@tools/java.sh || true
	@$(BIN)/python -m tests.kafka.broker || true

postgres: ## Install PostgreSQL, which the tests of rules in a database use
	@tools/postgres.sh || true

ministack: $(READY) ## Install MiniStack, which the test of a schedule that fires uses
	@$(BIN)/python -m tests.ministack.server || true

browser: ## Fetch Chromium and axe-core, which the tests of pages use
	@tools/chromium.sh || true
	@tools/console.sh packages || true

deployment: $(READY) ## Fetch what checks the files of deploy/: hadolint, promtool and others
	@$(BIN)/python -m tests.deployment.checkers || true

clean: ## Remove what the other targets made, except ./data
	rm -rf $(VENV) $(VENV)-3.* .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): requirements.txt pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" tools/venv.sh "$(VENV)" requirements.txt
	@touch $@ $(RUNS) $(DOCS)

# What `make run` runs, without the tools and the tests.
$(RUNS): requirements-run.txt pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" tools/venv.sh "$(VENV)" requirements-run.txt
	@touch $@

# What `make docs` runs.
$(DOCS): requirements-docs.txt pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" tools/venv.sh "$(VENV)" requirements-docs.txt
	@touch $@
