# Every target sets up what it needs in .venv, once, and again only when pyproject.toml has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TESTS ?=
JOBS ?= 2
BENCH ?=
.DEFAULT_GOAL := help

.PHONY: help demo test check bench java browser clean

help:
	@echo 'make demo     run the supply-chain example on Spark and show what it finds'
	@echo 'make test     run the tests            (make test TESTS="tests/test_bench.py -k agree")'
	@echo 'make check    formatting, lint, types'
	@echo 'make bench    time Whence beside DuckDB (make bench BENCH="dense sparse --runs 1")'
	@echo 'make clean    remove .venv and everything generated'
	@echo 'PYTHON=...    the Python, 3.11 or later, that .venv is made from; now $(PYTHON)'

demo: $(VENV)/installed-test java
	@PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh

test: $(VENV)/installed-test java browser
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(TESTS)

check: $(VENV)/installed-check
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: $(VENV)/installed-bench java
	@$(BIN)/python -m bench.run $(BENCH)

clean:
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache bench/results
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

# Spark needs a Java runtime, 17 or later: Debian's package where there is none and it can be installed.
java:
	@$(BIN)/python -c 'from whence.engines.spark.cluster import check_java; check_java()' 2>/dev/null || \
	  { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo 'Installing Java 17 ...' && \
	    { apt-get install -y -qq openjdk-17-jre-headless >/dev/null 2>&1 || \
	      { apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless >/dev/null; }; }; } || { \
	  echo 'Spark needs Java 17 or later; install it (Debian: apt-get install openjdk-17-jre-headless).' >&2; exit 1; }

# A test drives the page of an explanation in Chromium, and is left out where there is none and it cannot be installed.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	  { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && echo 'Installing Chromium ...' && \
	    { apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1 || \
	      { apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null 2>&1; }; }; } || true

# One stamp an extra: newer than pyproject.toml means installed as it asks.
$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo 'Installing whence[$*] into $(VENV) ...'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo 'Whence needs Python 3.11 or later; "$(PYTHON)" is not that. Name one: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
