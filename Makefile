# Everything a user or a developer of a checkout runs. Needs python3 (3.11 or later) with venv, g++ and make; the rest
# comes as wheels. Stamp files keep each step from running again when nothing it reads has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is installed comes in two parts: what serving takes, and all else that developing does.
SERVING := $(VENV)/.serving-installed
TOOLS := $(VENV)/.tools-installed
SERVED_EXTRAS := service cpsat milp
PIP := $(BIN)/python -m pip --disable-pip-version-check
# An editable install knows the sources by name: where one has come or gone, it is made again.
SOURCES := $(shell find memstow/__init__.py planner solvers api -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
INSTALLED := $(VENV)/.memstow-installed-$(SOURCES)
# Folders count too, so that a source added or deleted is noticed.
NATIVE := $(shell find solvers/native \( -type d -o -name '*.[ch]pp' \) 2>/dev/null)
NATIVE_TESTS := $(shell find tests/native \( -type d -o -name '*.[ch]pp' \) 2>/dev/null)
CXX_FILES := $(filter %.cpp %.hpp,$(NATIVE) $(NATIVE_TESTS))
SANITIZE ?= address,undefined
FUZZ_SECONDS ?= 120

# The tools of the environment come first, so that the pinned cmake and ninja are the ones used.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := test
.DELETE_ON_ERROR:
# Two steps at a time would install into one environment.
.NOTPARALLEL:
.PHONY: test serve install lint audit format types native-check bench bench-hard bench-work wheel-check fuzz clean

test: install
	$(BIN)/python -m pytest $(ARGS)

serve: $(INSTALLED)
	$(BIN)/memstow serve $(ARGS)

install: $(TOOLS) $(INSTALLED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "memstow needs Python 3.11 or later; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What builds and runs the service and its solvers, at the versions of constraints.txt.
$(SERVING): pyproject.toml constraints.txt | $(BIN)/python
	@echo "memstow: installing the service and its solvers in $(VENV)"
	$(BIN)/python -c 'import sys, tomllib; \
	  read = tomllib.load(open("pyproject.toml", "rb")); it = read["project"]; \
	  print(*read["build-system"]["requires"], "cmake", "ninja", *it["dependencies"], \
	    *(line for name in sys.argv[1:] for line in it["optional-dependencies"][name]), sep="\n")' \
	  $(SERVED_EXTRAS) > $(VENV)/serving.txt
	$(PIP) install --constraint constraints.txt --requirement $(VENV)/serving.txt
	@touch $@

# Constraints name exactly what is used and nothing else, so they serve as the list to install as well.
$(TOOLS): constraints.txt | $(BIN)/python
	@echo "memstow: installing what developing needs in $(VENV)"
	$(PIP) install --requirement constraints.txt
	@touch $@ $(SERVING)

# Python sources are read where they are, only a change in C++ builds again. Packages come first but are no reason to
# build again: with the versions of the tools that build, constraints.txt changes.
$(INSTALLED): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE) | $(SERVING)
	@echo "memstow: building memstow itself (where the native core changed: about a minute)"
	$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.memstow-installed-*
	@touch $@

lint: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

# Known defects of what we depend on, and of the Dockerfile; each where it can be had.
audit: $(TOOLS)
	@mkdir -p build
	@$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip --progress-spinner off --timeout 10 \
	  > build/audit.log 2>&1 || { ! grep -E "Found [0-9]+ known vulnerabilit" build/audit.log \
	  || { cat build/audit.log; exit 1; }; }
	@if grep -q "No known vulnerabilities" build/audit.log && ! grep -q "could not be audited" build/audit.log; then \
	   echo "audit: no known defects in what constraints.txt names"; \
	 else echo "audit: skipped or in part, pip-audit cannot reach its data (build/audit.log)"; fi
	@if command -v hadolint > /dev/null; then hadolint Dockerfile; \
	 else echo "audit: Dockerfile not checked, hadolint is not installed"; fi

format: $(TOOLS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CXX_FILES)

types: $(TOOLS)
	$(BIN)/mypy

# The unit tests of the native core under sanitizers; SANITIZE=thread for the other kind. NATIVE_ARGS: a part of a
# test's name, to run those alone. Compiled for short compile times: sanitizers need frames and lines, not speed.
comma := ,
NATIVE_BUILD := build/native-$(subst $(comma),-,$(SANITIZE))
native-check: $(TOOLS)
	$(BIN)/cmake -S . -B $(NATIVE_BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
	  -DMEMSTOW_NATIVE_TESTS=ON -DMEMSTOW_SANITIZE=$(SANITIZE) --log-level=WARNING
	$(BIN)/cmake --build $(NATIVE_BUILD)
	$(NATIVE_BUILD)/native_tests $(NATIVE_ARGS)

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

# Some minutes on two cores that do nothing else.
bench-hard: install
	$(BIN)/python -m benchmarks hard $(ARGS)

# Work counts of a small deterministic set against those that are committed: a slower search is seen on any machine.
# ARGS=--update commits to what the counts are now.
bench-work: install
	$(BIN)/python -m benchmarks.work $(ARGS)

# What a release would bring to people, built and tried in an environment of its own. Compiling takes a minute.
wheel-check: $(TOOLS)
	.ci/wheel-check

fuzz: install
	MEMSTOW_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest tests -k fuzz --timeout 0 $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
