# Set-up and gates. Needs python3 >= 3.11 with pip and venv: no root, no Docker, no uv.
#   make demo     a sample book, its summary and glossary, then a second run that costs nothing
#   make demo-mlx the same way with a small real language model on this machine (fetches 93 MB)
#   make test     the tests of every commit        make check    lint, types, import rules, tests
#   make nightly  the full numbers too             make bench    measurements, side by side with others

VENV := .venv
BIN := $(VENV)/bin
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo demo-mlx test nightly check lint types imports bench docs clean

help:  ## show the targets
	@sed -n '2,5s/^# //p' Makefile

demo: $(VENV)/.ready-demo
	@$(BIN)/python samples/demo.py

demo-mlx: $(VENV)/.ready-mlx
	@$(BIN)/python samples/demo_mlx.py

# Several at a time: much of them is waiting for processes. Each brings servers and folders of its own. A thousand
# processes begin; where the environment forbids bytecode files, each would compile all of its modules again.
test nightly: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.ready-test
	$(BIN)/pytest -m "not nightly" -n 3 --dist worksteal

nightly: $(VENV)/.ready-test
	$(BIN)/pytest

check: lint types imports test

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.ready-dev
	$(BIN)/mypy

imports: $(VENV)/.ready-dev
	$(BIN)/lint-imports

# Long books where there are some, the samples (repeated) elsewhere.
CORPUS := $(or $(OCTAVO_CORPUS),../shared/corpus)
ENGLISH := $(firstword $(wildcard $(CORPUS)/en/moby-dick_pg2701*) samples/the-lamp-at-grey-skerry.txt)
CHINESE := $(firstword $(wildcard $(CORPUS)/zh/西游记.txt) samples/青石渡.txt)
# The splitter's are many books, for a text that repeats itself flatters who remembers.
MANY_ENGLISH := $(or $(wildcard $(CORPUS)/en/bible-kjv.txt $(CORPUS)/en/moby-dick_pg2701*),$(ENGLISH))
MANY_CHINESE := $(or $(wildcard $(CORPUS)/zh/西游记.txt $(CORPUS)/zh/三国演义.txt),$(CHINESE))

bench: $(VENV)/.ready-bench
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.distributed
	$(BIN)/python benchmarks/split.py --size 3.7 --english $(MANY_ENGLISH) --chinese $(MANY_CHINESE)
	$(BIN)/python benchmarks/split_locality.py $(ENGLISH)
	$(BIN)/python -m benchmarks.read
	$(BIN)/python -m benchmarks.read_bulk
	$(BIN)/python -m benchmarks.read_formats
	$(BIN)/python -m benchmarks.extractive $(ENGLISH) $(CHINESE)
	$(BIN)/python -m benchmarks.llm
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.incremental
	$(BIN)/python -m benchmarks.faces

docs: $(VENV)/.ready-demo
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV)

# One stamp for each set of dependencies, renewed when pyproject.toml changes. The project itself is installed in place,
# so that its code is never stale.
$(VENV)/.ready-demo: extras :=
$(VENV)/.ready-mlx: extras := [mlx,openai]
$(VENV)/.ready-test: extras := [test]
$(VENV)/.ready-dev: extras := [dev]
$(VENV)/.ready-bench: extras := [test,bench]
$(VENV)/.ready-%: pyproject.toml | $(BIN)/python
	@echo "installing octavo$(extras) into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.$(extras)'
	@touch $@

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
		echo "Octavo needs Python 3.11 or newer; python3 here is: $$(python3 --version 2>&1 || true)" >&2; exit 1; fi
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) could not make $(VENV): install its venv module (Debian, Ubuntu: the package python3-venv)" >&2; exit 1; }
