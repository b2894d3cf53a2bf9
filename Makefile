# Every target sets itself up from a fresh clone: a virtual environment, the pinned packages, then the job.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test lint bench experiments soak clean
.DELETE_ON_ERROR:

# What Headwater does, on a small network: routes from Lisbon, what changes as cables fail, why one route is there.
ROUTES := examples/routes.dl --input link=examples/network/links.csv
EVENTS := --changes link=examples/network/events.jsonl --batch 1

run: $(VENV)/.run
	$(BIN)/headwater run $(ROUTES) --query 'fastest(lisbon, To, Path, Ms)'
	$(BIN)/headwater run $(ROUTES) --query 'fastest(lisbon, To, Path, Ms)' $(EVENTS) --show changes
	$(BIN)/headwater why $(ROUTES) $(EVENTS) 'fastest(lisbon, vienna, Path, Ms)'

test: lint
	$(BIN)/pytest -n auto

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/engine.py --plots benchmarks

experiments: $(VENV)/.bench
	$(BIN)/python benchmarks/regions.py

soak: $(VENV)/.test
	$(BIN)/pytest -n auto -m "" --hypothesis-profile=soak

clean:
	rm -rf $(VENV) .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e . -c constraints.txt
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[test]' -c constraints.txt
	touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install -e '.[bench]' -c constraints.txt
	touch $@ $(VENV)/.run
