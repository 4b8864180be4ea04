# The service in a container: docker build -t memstow .
# BASE can be any Debian or Ubuntu image with Python 3.11 or later, installed or as packages. EXTRAS are extras of
# pyproject.toml; docker build --build-arg EXTRAS=postgres,dask,cpsat,milp adds CBC and HiGHS.
ARG BASE=python:3.13-slim-bookworm

# hadolint ignore=DL3006
FROM ${BASE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && { python3 -c 'import ensurepip, os, sysconfig; os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))' \
      || apt-get install -y --no-install-recommends python3 python3-venv python3-dev; } \
 && apt-get install -y --no-install-recommends g++
ARG EXTRAS=postgres,dask,cpsat
WORKDIR /src
COPY . .
ENV PIP_CONSTRAINT=/src/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python3 -m venv /opt/memstow \
 && /opt/memstow/bin/pip wheel --no-deps --wheel-dir /wheels . \
 && /opt/memstow/bin/pip install "$(ls /wheels/memstow-*.whl)[service,${EXTRAS}]" \
 && /opt/memstow/bin/python -m compileall -q /opt/memstow/lib

# hadolint ignore=DL3006
FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
 && { command -v python3 > /dev/null || apt-get install -y --no-install-recommends python3; } \
 && apt-get install -y --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o 10001 -g 10001 /data
COPY --from=build /opt/memstow /opt/memstow
ENV PATH=/opt/memstow/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MEMSTOW_HOST=0.0.0.0 \
    MEMSTOW_PORT=8080 \
    MEMSTOW_DATA=/data
LABEL org.opencontainers.image.title="memstow" \
      org.opencontainers.image.description="Static memory planner: chooses a pool and an offset for every buffer of a program" \
      org.opencontainers.image.licenses="Apache-2.0"
# With a read-only file system, temporary folders are created here.
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["python3", "-c", "import os, urllib.request as u; u.urlopen('http://127.0.0.1:' + os.environ['MEMSTOW_PORT'] + '/livez', timeout=4)"]
ENTRYPOINT ["tini", "--", "memstow"]
CMD ["serve"]
