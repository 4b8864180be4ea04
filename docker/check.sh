#!/usr/bin/env bash
# Builds the image and runs it as it should be run: read-only, without capabilities, as its numeric user. Posts a
# problem, restarts the container, and finds its jobs again. Then the same image as compose.cluster.yaml has it: a
# scheduler, a worker, and a server that sends them a job. Says what is missing where it cannot.
#
#   docker/check.sh             with the engine that is there
#   START_ENGINE=1 docker/check.sh   starts one of its own for the time (needs root and Debian's docker.io)
#   BASE=image docker/check.sh  on another base; where none can be pulled, one is made with debootstrap
#   IMAGE=image docker/check.sh an image that is built already
set -Eeuo pipefail
trap 'echo "failed at line $LINENO: $BASH_COMMAND" >&2' ERR
cd "$(dirname "$0")/.."

port=${PORT:-18080}
scheduler=${SCHEDULER_PORT:-18786}
name=memstow-check-$$
work=$(mktemp -d)
engine=
finish() {
  docker rm -f "$name" "$name-scheduler" "$name-worker" > /dev/null 2>&1 || true
  docker volume rm "$name" > /dev/null 2>&1 || true
  if [ -n "$engine" ]; then kill "$engine" && wait "$engine" 2> /dev/null || true; fi
  # An engine leaves its name space mounted, and the folder cannot be removed under it.
  umount "$work/exec/netns/default" 2> /dev/null || true
  rm -rf "$work" 2> /dev/null || true
}
trap finish EXIT
missing() { echo "not checked: $1" >&2; exit 77; }

command -v docker > /dev/null || missing "docker is not installed (Debian: apt-get install docker.io)"
if [ -n "${START_ENGINE:-}" ]; then
  command -v dockerd > /dev/null || missing "dockerd is not installed (Debian: apt-get install docker.io)"
  export DOCKER_HOST=unix://$work/docker.sock
  dockerd --bridge=none --iptables=false --data-root "$work/data" --exec-root "$work/exec" \
    --pidfile "$work/pid" --host "$DOCKER_HOST" > "$work/log" 2>&1 &
  engine=$!
  for _ in $(seq 60); do docker info > /dev/null 2>&1 && break; sleep 1; done
fi
docker info > /dev/null 2>&1 || missing "no engine answers (START_ENGINE=1 starts one)"

image=${IMAGE:-}
if [ -z "$image" ]; then
  image=memstow:check
  base=${BASE:-$(sed -n 's/^ARG BASE=//p' Dockerfile)}
  if ! docker image inspect "$base" > /dev/null 2>&1 && ! docker pull -q "$base" > /dev/null 2>&1; then
    command -v debootstrap > /dev/null || missing "$base cannot be pulled and debootstrap is not installed"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv bookworm "$work/root" > "$work/debootstrap" 2>&1 \
      || missing "$base cannot be pulled and debootstrap failed"
    # What reaches packages here reaches them in the container too.
    for file in /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/pip.conf; do
      [ -e "$file" ] && mkdir -p "$work/root$(dirname "$file")" && cp -a "$file" "$work/root$(dirname "$file")/"
    done
    # So do the certificates that are believed here: a proxy may have one of its own.
    certificates=/etc/ssl/certs/ca-certificates.crt
    cat "${PIP_CERT:-$certificates}" > "$work/root$certificates"
    base=memstow-base
    tar -C "$work/root" -c . | docker import --change "ENV PIP_CERT=$certificates" - "$base" > /dev/null
  fi

  DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} docker build --network host --build-arg BASE="$base" -t "$image" .
fi
confined() {
  docker run -d --network host --read-only --cap-drop ALL --security-opt no-new-privileges --user 10001:10001 \
    --tmpfs /tmp "$@" > /dev/null
}
server() {
  confined --name "$name" -e MEMSTOW_PORT="$port" -e MEMSTOW_HOST=127.0.0.1 "$@" "$image"
  for _ in $(seq 120); do curl -fs "localhost:$port/readyz" > /dev/null && return; sleep 0.5; done
  for one in "$name" "$name-scheduler" "$name-worker"; do docker logs "$one" >&2 || true; done
  echo "the container did not become ready" >&2
  exit 1
}
# The answer of the server to a body from a file; the job of an answer; a job that must end with such a plan.
send() { curl -fs -H 'Content-Type: application/json' --data-binary @"$2" "localhost:$port$1"; }
job_of() { sed 's/.*"id": "\([0-9a-f]*\)".*/\1/'; }
require() {
  for _ in $(seq 120); do curl -fs "localhost:$port/v1/jobs/$1" | grep -q '"state": "done"' && break; sleep 0.5; done
  curl -fs "localhost:$port/v1/jobs/$1/plan" | grep -q "\"status\": \"$2\""
}

server -v "$name:/data"
curl -fs "localhost:$port/v1/examples/first" > "$work/first.json"
send /v1/plan "$work/first.json" | grep -q '"status": "optimal"'
job=$(send /v1/jobs "$work/first.json" | job_of)
docker restart "$name" > /dev/null
for _ in $(seq 60); do curl -fs "localhost:$port/readyz" > /dev/null && break; sleep 0.5; done
require "$job" optimal
docker exec "$name" python3 -c 'import os, psycopg; assert os.getuid() == 10001'
docker exec "$name" python3 -c 'from ortools.sat.python.cp_model import CpModel, CpSolver, OPTIMAL
assert CpSolver().solve(CpModel()) == OPTIMAL'
if docker exec "$name" touch /opt/memstow/written 2> /dev/null; then echo "the image can be written to" >&2; exit 1; fi
health() { docker inspect -f '{{.State.Health.Status}}' "$name"; }
for _ in $(seq 60); do [ "$(health)" = healthy ] && break; sleep 0.5; done
[ "$(health)" = healthy ] || { docker inspect -f '{{json .State.Health}}' "$name" >&2; exit 1; }
docker stop "$name" > /dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$name")" = 0 ]
docker rm "$name" > /dev/null

# Of several pools and bounded in work: nothing that the server would try by itself. Deterministic runs ask no model, so
# nobody proves it the best.
cat > "$work/cluster.json" <<'END'
{"problem": {"version": 1, "pools": [{"id": "fast", "capacity": 64, "cost": 0}, {"id": "slow", "cost": 1}],
             "buffers": [{"id": "a", "size": 64, "lifetime": [0, 2]}, {"id": "b", "size": 64, "lifetime": [1, 3]}]},
 "options": {"deterministic": true}}
END
dask() {
  local title=$1
  shift
  confined --name "$title" --tmpfs /data:uid=10001,gid=10001 --no-healthcheck -e HOME=/tmp --entrypoint tini \
    "$image" -- dask "$@"
}
dask "$name-scheduler" scheduler --host 127.0.0.1 --port "$scheduler" --no-dashboard
dask "$name-worker" worker "tcp://127.0.0.1:$scheduler" --nthreads 2 --no-nanny --memory-limit 0 \
  --local-directory /tmp --no-dashboard
server --tmpfs /data:uid=10001,gid=10001 -e MEMSTOW_EXECUTOR=dask -e MEMSTOW_SCHEDULER="tcp://127.0.0.1:$scheduler"
require "$(send /v1/jobs "$work/cluster.json" | job_of)" feasible
# Without its worker the next job must wait: it was the worker that solved.
docker rm -f "$name-worker" > /dev/null
sed -i 's/"size": 64/"size": 32/' "$work/cluster.json"
job=$(send /v1/jobs "$work/cluster.json" | job_of)
sleep 3
if curl -fs "localhost:$port/v1/jobs/$job" | grep -q '"state": "done"'; then
  echo "a job was solved though there is no worker" >&2
  exit 1
fi
docker stop "$name" > /dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$name")" = 0 ]
echo "the image builds, runs read-only as 10001, says that it is healthy, keeps its jobs, and solves on a cluster"
