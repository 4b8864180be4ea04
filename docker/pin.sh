#!/usr/bin/env bash
# Writes docker/requirements.txt: what an image may install, at the versions of constraints.txt, with the hash of every
# file. To be run after a change of constraints.txt or of the dependencies; tests/test_container.py compares them.
#
#   pipx install uv && docker/pin.sh
set -euo pipefail
cd "$(dirname "$0")/.."
{
  echo "# What the image is built from and runs, each file by its hash. Written by docker/pin.sh."
  python3 -c 'import tomllib
read = tomllib.load(open("pyproject.toml", "rb"))
extras = read["project"]["optional-dependencies"]
names = ("service", "postgres", "dask", "cpsat", "milp", "otel")
lines = [*read["build-system"]["requires"], "cmake", "ninja", *read["project"]["dependencies"]]
lines += [line for name in names for line in extras[name] if not line.startswith("memstow")]
print("\n".join(lines))' \
    | uv pip compile - --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --only-binary :all: \
      --constraint constraints.txt --generate-hashes --no-header --no-annotate
} > docker/requirements.new
mv docker/requirements.new docker/requirements.txt
