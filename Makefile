# All commands for a checkout. Needs python3 (3.11 or later) with venv, g++ and make; everything else is installed from
# wheels. Stamp files prevent a step from running again if its inputs have not changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Packages are installed in two parts: those for serving, and all others for development.
SERVING := $(VENV)/.serving-installed
TOOLS := $(VENV)/.tools-installed
# What the C++ tests need of them.
NATIVE_TOOLS := $(VENV)/.native-tools-installed
SERVED_EXTRAS := service cpsat milp
PIP := $(BIN)/python -m pip --disable-pip-version-check
# An editable install lists the source files, so it is repeated when a file is added or deleted.
SOURCES := $(shell find memstow/*.py planner solvers api -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
INSTALLED := $(VENV)/.memstow-installed-$(SOURCES)
# Includes the folders, so that added and deleted files are noticed.
NATIVE := $(shell find solvers/native planner/judge/native planner/plain/native planner/model/native planner/replay/native planner/recorded/native planner/library/native planner/proofs/native \( -type d -o -name '*.[ch]pp' -o -name '*.h' -o -name '*.map' \) 2>/dev/null)
NATIVE_TESTS := $(shell find tests/native \( -type d -o -name '*.[ch]pp' \) 2>/dev/null)
CXX_FILES := $(filter %.cpp %.hpp %.h,$(NATIVE) $(NATIVE_TESTS)) $(wildcard planner/library/mlir/*.[ch]pp) $(wildcard checker/*.cpp tests/checker/*.cpp)
SANITIZE ?= address,undefined
# Per cent of the random cases of the campaign.
NATIVE_ROUNDS ?= 15
# Most of what these find is found without them as well, and they take half of the time to compile: only the campaign has
# them.
NATIVE_FLAGS ?= -O1 -g1 -fno-sanitize-address-use-after-scope
NOT_SANITIZED ?= null,alignment,object-size,vptr,pointer-overflow
FUZZ_SECONDS ?= 120

# The tools of the environment come first on the PATH, so that the pinned cmake and ninja are used.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := test
.DELETE_ON_ERROR:
# Parallel steps would install into the same environment.
.NOTPARALLEL:
.PHONY: test campaign test-executorch test-torch bench-torch bench-torch-budgets serve install lint audit format types native-check page page-check bench bench-hard bench-order bench-work wheel-check fuzz contract documents proofs-verified clean

# Tests start thousands of processes, and each would compile our modules again where the environment forbids keeping them.
unexport PYTHONDONTWRITEBYTECODE

test: install
	$(BIN)/python -m pytest $(ARGS)

# What takes too long for each change: the tests that are marked so, all random cases of those that draw a share, data
# races in multi-threaded code (few tests, so that compiling is what takes time), what is in the wheel and that it works,
# and the whole contract. One of these tests: make test ARGS='-m campaign tests/api/test_faults.py'
campaign: install
	$(MAKE) proofs-verified
	$(MAKE) native-check SANITIZE=thread NATIVE_ARGS=workers NATIVE_FLAGS=-O0
	$(MAKE) native-check NOT_SANITIZED= NATIVE_FLAGS='-O1 -g1' NATIVE_ROUNDS=100
	$(MAKE) wheel-check WHEEL_BUILD_TYPE=Debug
	$(MAKE) contract ARGS=
	MEMSTOW_TEST_ROUNDS=100 $(BIN)/python -m pytest -m 'campaign or rounds' $(ARGS)

# The tests inside of ExecuTorch, in an environment of their own: PyTorch is large. To get its build for processors only,
# which is a tenth of the other, let pip look in the index that PyTorch has for it (PIP_EXTRA_INDEX_URL).
EXECUTORCH := .venv-executorch
TRIES := pip install --disable-pip-version-check
test-executorch: $(EXECUTORCH)/.installed
	$(EXECUTORCH)/bin/python -m pytest tests/executorch $(ARGS)

# ExecuTorch asks for packages that its planner and its runtime do not need.
$(EXECUTORCH)/.installed: pyproject.toml constraints.txt constraints-executorch.txt CMakeLists.txt $(NATIVE)
	$(PYTHON) -m venv $(EXECUTORCH)
	$(EXECUTORCH)/bin/python -m $(TRIES) -c constraints.txt -c constraints-executorch.txt torch numpy pandas pyyaml \
	  flatbuffers tabulate ruamel.yaml packaging expecttest parameterized pytest pytest-timeout hypothesis pydantic shtab \
	  scikit_build_core nanobind cmake ninja
	$(EXECUTORCH)/bin/python -m $(TRIES) -c constraints-executorch.txt --no-deps executorch torchao
	PATH="$(CURDIR)/$(EXECUTORCH)/bin:$$PATH" $(EXECUTORCH)/bin/python -m $(TRIES) --no-deps --no-build-isolation --editable .
	@touch $@

# The same for PyTorch, of another version than ExecuTorch may want one day.
TORCH := .venv-torch

test-torch: $(TORCH)/.installed
	$(TORCH)/bin/python -m pytest tests/torch $(ARGS)

# Networks compiled with our plans and without; an hour on two cores, ARGS="lstm --batches 1 --empty" for less.
bench-torch: $(TORCH)/.installed
	$(TORCH)/bin/python -m benchmarks.torch_models $(ARGS)

# Training steps in less memory, in each way that PyTorch has beside ours: ten minutes.
bench-torch-budgets: $(TORCH)/.installed
	$(TORCH)/bin/python -m benchmarks.torch_budgets

$(TORCH)/.installed: pyproject.toml constraints.txt constraints-torch.txt CMakeLists.txt $(NATIVE)
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/python -m $(TRIES) -c constraints.txt -c constraints-torch.txt torch torchvision numpy pytest pytest-timeout hypothesis \
	  pydantic shtab scikit_build_core nanobind cmake ninja
	PATH="$(CURDIR)/$(TORCH)/bin:$$PATH" $(TORCH)/bin/python -m $(TRIES) --no-deps --no-build-isolation --editable .
	@touch $@

serve: $(INSTALLED)
	$(BIN)/memstow serve $(ARGS)

install: $(TOOLS) $(INSTALLED)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "memstow needs Python 3.11 or later; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The packages that build and run the service and its solvers, in the versions of constraints.txt.
$(SERVING): pyproject.toml constraints.txt | $(BIN)/python
	@echo "memstow: installing the service and its solvers in $(VENV)"
	$(BIN)/python -c 'import sys, tomllib; \
	  read = tomllib.load(open("pyproject.toml", "rb")); it = read["project"]; \
	  print(*read["build-system"]["requires"], "cmake", "ninja", *it["dependencies"], \
	    *(line for name in sys.argv[1:] for line in it["optional-dependencies"][name]), sep="\n")' \
	  $(SERVED_EXTRAS) > $(VENV)/serving.txt
	$(PIP) install --constraint constraints.txt --requirement $(VENV)/serving.txt
	@touch $@

# constraints.txt lists exactly the packages that are used, so it is also the list to install. Most of their modules are
# never imported: each is compiled when it is, which takes half of the time.
$(TOOLS): constraints.txt | $(BIN)/python
	@echo "memstow: installing the development tools in $(VENV)"
	$(PIP) install --no-compile --requirement constraints.txt
	@touch $@ $(SERVING)

$(NATIVE_TOOLS): constraints.txt | $(BIN)/python
	$(PIP) install --constraint constraints.txt cmake ninja
	@touch $@

# Python files are used in place; only changes in C++ need a new build. Installed packages are an order-only prerequisite:
# if a build tool has a new version, constraints.txt has changed as well.
$(INSTALLED): pyproject.toml constraints.txt CMakeLists.txt $(NATIVE) $(wildcard checker/*.?pp) | $(SERVING)
	@echo "memstow: building memstow (about a minute if the C++ code has changed)"
	$(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.memstow-installed-*
	@touch $@

lint: $(TOOLS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run -Werror $(CXX_FILES)

# Known vulnerabilities of the dependencies, and problems in the Dockerfile, if these tools are available.
audit: $(TOOLS)
	@mkdir -p build
	@$(BIN)/pip-audit --requirement constraints.txt --no-deps --disable-pip --progress-spinner off --timeout 10 \
	  > build/audit.log 2>&1 || { ! grep -E "Found [0-9]+ known vulnerabilit" build/audit.log \
	  || { cat build/audit.log; exit 1; }; }
	@if grep -q "No known vulnerabilities" build/audit.log && ! grep -q "could not be audited" build/audit.log; then \
	   echo "audit: no known vulnerabilities in constraints.txt"; \
	 else echo "audit: skipped or incomplete, because pip-audit cannot reach its database (build/audit.log)"; fi
	@if command -v hadolint > /dev/null; then hadolint Dockerfile; \
	 else echo "audit: Dockerfile not checked, hadolint is not installed"; fi

format: $(TOOLS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CXX_FILES)

# Stubs of native modules are written when these are built.
types: install
	$(BIN)/mypy
	$(BIN)/mypy checker/check.py

# The C++ unit tests under sanitizers; SANITIZE=thread selects the thread sanitizer, and NATIVE_ARGS tests by a part of
# their name: only the files that have such a test are built. Compiled with little optimisation, because sanitizers need
# frames and line numbers, not speed.
comma := ,
empty :=
space := $(empty) $(empty)
NATIVE_WANTED = $(notdir $(shell grep -l '^TEST.*$(NATIVE_ARGS)' tests/native/test_*.cpp))
NATIVE_BUILD := build/native-$(subst $(comma),-,$(SANITIZE))
native-check: $(NATIVE_TOOLS)
	@[ -n "$(NATIVE_WANTED)" ] || { echo "no native test has $(NATIVE_ARGS) in its name" >&2; exit 1; }
	$(BIN)/cmake -S . -B $(NATIVE_BUILD) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$(NATIVE_FLAGS)" \
	  -DMEMSTOW_NATIVE_TESTS=ON -DMEMSTOW_SANITIZE=$(SANITIZE) -DMEMSTOW_NOT_SANITIZED=$(NOT_SANITIZED) -DMEMSTOW_TOGETHER=ON \
	  -DMEMSTOW_NATIVE_TEST_FILES="$(subst $(space),;,$(NATIVE_WANTED))" --log-level=WARNING
	$(BIN)/cmake --build $(NATIVE_BUILD)
	MEMSTOW_TEST_ROUNDS=$(NATIVE_ROUNDS) $(NATIVE_BUILD)/native_tests $(NATIVE_ARGS)

# The web page, from its TypeScript sources. Needs npm; only who changes the page needs this.
page: api/page/node_modules/.package-lock.json
	cd api/page && npm exec --offline -- tsc --noEmit && node build.mjs

api/page/node_modules/.package-lock.json: api/page/package-lock.json
	cd api/page && npm ci --no-audit --no-fund
	@touch $@

page-check:
	.ci/page-check

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

# Takes some minutes on two idle cores.
bench-hard: install
	$(BIN)/python -m benchmarks hard $(ARGS)

# Orders of operators, on the graphs of the shared data: the best, rules of thumb, and a model; ARGS='--seconds 1' for less.
bench-firmware: install
	$(BIN)/python -m benchmarks.firmware $(ARGS)

bench-order: install
	$(BIN)/python -m benchmarks orders $(ARGS)

# Compares the work counts of a small deterministic set with the committed ones, to detect a slower search on any machine.
# ARGS=--update accepts the current counts.
bench-work: install
	$(BIN)/python -m benchmarks.work $(ARGS)

# Builds and tests a source distribution and a wheel in an empty environment. Compiling takes a minute.
wheel-check: $(TOOLS)
	.ci/wheel-check

fuzz: install
	MEMSTOW_FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest tests -m "" -k fuzz --timeout 0 $(ARGS)

# Compares the running service with its OpenAPI document, with and without keys. Takes some minutes; see ARGS=--help.
contract: install
	$(BIN)/python -m tests.api.contract $(ARGS)

# The checker that is proven right (docs/proofs.md, "A verified kernel"), where the proof assistant is installed.
proofs-verified:
	@missing=; for tool in coqc ocamlopt; do command -v $$tool > /dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ]; then \
	  echo "proofs-verified: skipped, because these programs are not installed:$$missing (Debian has them in coq and ocaml-nox)"; \
	else \
	  $(MAKE) --no-print-directory -C checker/verified \
	    && echo "proofs-verified: proven and built, checker/verified/build/memstow-check-verified"; \
	fi

# What memstow can print about itself, as files: the JSON Schemas of documents, and the OpenAPI document of the service.
documents: $(INSTALLED)
	@mkdir -p build
	$(BIN)/python -m memstow.planner.model.schema build/schema
	$(BIN)/python -m memstow.api.http.app build/openapi.json

clean:
	rm -rf $(VENV) $(EXECUTORCH) $(TORCH) build checker/verified/build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
