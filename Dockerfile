# The service in a container: docker build -t memstow .
# BASE can be any Debian or Ubuntu image with Python 3.11 or later, installed or as packages. EXTRAS are extras of
# pyproject.toml; docker build --build-arg EXTRAS=postgres,dask,cpsat,otel,milp adds CBC and HiGHS.
ARG BASE=python:3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8

# hadolint ignore=DL3006
FROM ${BASE} AS build
# hadolint ignore=DL3008
RUN apt-get update \
 && { python3 -c 'import ensurepip, os, sysconfig; os.stat(os.path.join(sysconfig.get_path("include"), "Python.h"))' \
      || apt-get install -y --no-install-recommends python3 python3-venv python3-dev; } \
 && apt-get install -y --no-install-recommends g++
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
# Everything from outside comes here, and is refused if it is not the file that was tested.
COPY docker/requirements.txt docker/
RUN python3 -m venv /opt/memstow \
 && /opt/memstow/bin/pip download --require-hashes --no-deps --only-binary :all: --dest /wheels -r docker/requirements.txt
ARG EXTRAS=postgres,dask,cpsat,otel
COPY . .
ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels
RUN /opt/memstow/bin/pip wheel --no-deps --wheel-dir /built . \
 && /opt/memstow/bin/pip install "$(ls /built/memstow-*.whl)[service,${EXTRAS}]" \
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
  CMD ["python3", "-c", "import os, ssl, urllib.request as u; e = os.environ; u.urlopen(('https' if e.get('MEMSTOW_TLS_CERT') else 'http') + '://127.0.0.1:' + e['MEMSTOW_PORT'] + '/livez', timeout=4, context=ssl._create_unverified_context())"]
ENTRYPOINT ["tini", "--", "memstow"]
CMD ["serve"]
