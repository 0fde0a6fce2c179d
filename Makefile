# make reproduce: everything at scale smoke, from nothing to the report.   make test: all tests.
# make published: what was accepted at scale cpu, made again from kept records.
# Each sets up .venv first; later calls skip what is already there.

PYTHON ?= python3
SCALE ?= smoke
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
# One thread per job, one job per core: two busy threads per core are slower than one.
export OMP_NUM_THREADS ?= 1

.PHONY: reproduce published test lint check clean

reproduce: .venv/ready
	snakemake all --config scale=$(SCALE)
	@echo "open $(CURDIR)/results/$(SCALE)/report/index.html"

published: .venv/ready
	python -m harness published

# A file's tests stay together, as they share what was made for them. Files in their order: by their number of tests
# the longest, which kill campaigns, would be the last ones.
test: .venv/ready
	pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: .venv/ready
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile reproduce/rules
	snakemake --lint

check: .venv/ready
	snakemake check --config scale=$(SCALE)

# torch first and alone: pip then takes exactly this build and the rest fits itself to it.
.venv/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	touch $@

clean:
	rm -rf results .snakemake
