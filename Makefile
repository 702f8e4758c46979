# The same words work on a fresh machine with Python 3.11+ (venv), make, git and bash.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types imports unit again soak bench bench-scale bench-children format clean

demo: $(VENV)/.installed
	$(BIN)/python examples/demo/demo.py

test: lint types imports unit

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

imports: $(VENV)/.tested
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.tested
	$(BIN)/python -m pytest -q

# Only what failed the last time; names it.
again: $(VENV)/.tested
	@echo "these failed, and are run once more:"
	$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures=none -v

# The long forms of proofs, beside all other tests; the better part of an hour.
soak: $(VENV)/.tested
	$(BIN)/python -m pytest -q --soak

bench: $(VENV)/.tested
	$(BIN)/python benchmarks/run.py

bench-scale: $(VENV)/.tested
	$(BIN)/python -m benchmarks.scale

# Beside the program that $$CODEX names, if it names one.
bench-children: $(VENV)/.tested
	$(BIN)/python -m benchmarks.children

format: $(VENV)/.tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@
