#!/usr/bin/env bash
# Builds the image and runs it as it should be run: read-only, without capabilities, as its numeric user. Posts a
# problem, restarts the container, and finds its jobs again. Says what is missing where it cannot.
#
#   docker/check.sh             with the engine that is there
#   START_ENGINE=1 docker/check.sh   starts one of its own for the time (needs root and Debian's docker.io)
#   BASE=image docker/check.sh  on another base; where none can be pulled, one is made with debootstrap
set -euo pipefail
cd "$(dirname "$0")/.."

port=${PORT:-18080}
name=memstow-check-$$
work=$(mktemp -d)
engine=
finish() {
  docker rm -f "$name" > /dev/null 2>&1 || true
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

base=${BASE:-python:3.13-slim-bookworm}
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

DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} docker build --network host --build-arg BASE="$base" -t memstow:check .
run() {
  docker run -d --name "$name" --network host --read-only --cap-drop ALL --security-opt no-new-privileges \
    --user 10001:10001 --tmpfs /tmp -v "$name:/data" \
    -e MEMSTOW_PORT="$port" -e MEMSTOW_HOST=127.0.0.1 memstow:check > /dev/null
  for _ in $(seq 60); do curl -fs "localhost:$port/readyz" > /dev/null && return; sleep 0.5; done
  docker logs "$name" >&2
  echo "the container did not become ready" >&2
  exit 1
}
run
curl -fs "localhost:$port/v1/examples/first" > "$work/first.json"
send() { curl -fs -H 'Content-Type: application/json' --data-binary @"$work/first.json" "localhost:$port$1"; }
send /v1/plan | grep -q '"status": "optimal"'
job=$(send /v1/jobs | sed 's/.*"id": "\([0-9a-f]*\)".*/\1/')
docker restart "$name" > /dev/null
for _ in $(seq 60); do curl -fs "localhost:$port/readyz" > /dev/null && break; sleep 0.5; done
for _ in $(seq 60); do curl -fs "localhost:$port/v1/jobs/$job" | grep -q '"state": "done"' && break; sleep 0.5; done
curl -fs "localhost:$port/v1/jobs/$job/plan" | grep -q '"status": "optimal"'
docker exec "$name" python3 -c 'import os; assert os.getuid() == 10001'
if docker exec "$name" touch /opt/memstow/written 2> /dev/null; then echo "the image can be written to" >&2; exit 1; fi
health() { docker inspect -f '{{.State.Health.Status}}' "$name"; }
for _ in $(seq 60); do [ "$(health)" = healthy ] && break; sleep 0.5; done
[ "$(health)" = healthy ] || { docker inspect -f '{{json .State.Health}}' "$name" >&2; exit 1; }
docker stop "$name" > /dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$name")" = 0 ]
echo "the image builds, runs read-only as 10001, says that it is healthy, and keeps its jobs"
