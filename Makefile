# Every target sets itself up from a fresh clone: a virtual environment, the pinned packages, then the job.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run run-spark run-embedded test lint docs bench experiments soak mutants formats browser clean
.DELETE_ON_ERROR:

# What Headwater does, on a small network: routes from Lisbon, what changes as cables fail, why one route is there.
ROUTES := examples/routes.dl --input link=examples/network/links.csv
EVENTS := --changes link=examples/network/events.jsonl --batch 1

# On Spark by default, the events as files that stream in; `make run ENGINE=embedded` needs no Java.
ENGINE ?= spark
LISBON := --query 'fastest(lisbon, To, Path, Ms)'
STATE  := build/run

run: run-$(ENGINE)

run-spark: $(VENV)/.spark
	rm -rf $(STATE) && mkdir -p $(STATE)/events
	n=0; while IFS= read -r event; do \
	  n=$$((n + 1)); printf '%s\n' "$$event" > $(STATE)/events/$$n.jsonl; \
	  touch -d "2026-01-01 00:00:0$$n" $(STATE)/events/$$n.jsonl; \
	done < examples/network/events.jsonl
	$(BIN)/headwater run $(ROUTES) $(LISBON) --engine spark --stream link=$(STATE)/events \
	  --checkpoint $(STATE)/checkpoint --once

run-embedded: $(VENV)/.run
	$(BIN)/headwater run $(ROUTES) $(LISBON)
	$(BIN)/headwater run $(ROUTES) $(LISBON) $(EVENTS) --show changes
	$(BIN)/headwater why $(ROUTES) $(EVENTS) 'fastest(lisbon, vienna, Path, Ms)'

test: lint browser
	$(BIN)/pytest -n auto

# Tests of the page need a browser. Where there is none and Debian can install one at once, it does; else they are skipped.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && export DEBIAN_FRONTEND=noninteractive && \
	  timeout 60 apt-get -qq update && timeout 150 apt-get -qq install -y --no-install-recommends chromium; \
	} >/dev/null 2>&1 </dev/null || true

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation site, in build/site. Broken links fail.
docs: $(VENV)/.docs
	$(BIN)/python docs/site.py build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo open build/site/index.html

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/engine.py --plots benchmarks

# The figures of three papers, those of the first over ten networks where a point takes seconds (SEEDS=1: over one). Its program begins no point
# after 40 minutes; with FULL=--full, it has 4,000 links too.
SEEDS ?= 10

experiments: $(VENV)/.bench
	$(BIN)/python benchmarks/regions.py --seeds $(SEEDS) --minutes 40 $(FULL)
	$(BIN)/python benchmarks/declarative_networking.py
	$(BIN)/python benchmarks/pier.py

# Long tests, and random tests with new examples and many more of them, for so many minutes, in another order each time.
MINUTES ?= 60
SEED    ?= $(shell date +%s)

soak: $(VENV)/.test
	$(BIN)/pytest -n auto -m "" --hypothesis-profile=soak --soak-seed=$(SEED) --soak-until=$$(($$(date +%s) + 60 * $(MINUTES)))

# Plants 200 mistakes in a copy of the tree, one at a time, and reports those that no test notices: about an hour.
mutants: $(VENV)/.test
	PYTHONPATH=src:. $(BIN)/python -m tests.mutants $(MUTANTS)

# Delta and Iceberg, each on the last Spark that it has a build for: two Sparks are downloaded, 450 MB each.
formats: $(VENV)-spark-4.2/.test $(VENV)-spark-4.1/.test
	$(VENV)-spark-4.2/bin/pytest -rs tests/spark/test_formats.py
	$(VENV)-spark-4.1/bin/pytest -rs tests/spark/test_formats.py

clean:
	rm -rf $(VENV) $(VENV)-spark-* build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e . -c constraints.txt
	touch $@

$(VENV)/.spark: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[spark]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[test]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[docs]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[bench]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)-spark-%/.test: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-spark-$*
	sed '/^pyspark==/d' constraints.txt > $(VENV)-spark-$*/constraints.txt
	$(VENV)-spark-$*/bin/python -m pip --disable-pip-version-check --quiet install -e . 'pyspark==$*.*' \
	  'pandas>=2.2,<3' pytest pytest-xdist hypothesis -c $(VENV)-spark-$*/constraints.txt
	touch $@
