"""The settings of the service, from the environment, a TOML file and the caller; checked at start.

The last part has what must hold between settings, and what some of them need installed.
"""

import os
import re
import ssl
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memstow.api.operations.request_types import Limits
from memstow.api.store.database import FILE, url_of
from memstow.api.store.keys import Quotas
from memstow.api.webhooks import Allowed, place_of, read_secrets
from memstow.api.workers.job_run import JobLimits
from memstow.api.workers.runner import RunnerSettings
from memstow.planner.cluster.roster import check_scheduler
from memstow.planner.model.errors import InputError, Issue, closest_match
from memstow.planner.model.printable import printable, shown
from memstow.planner.processes import machine
from memstow.planner.reading.json_text import read_bytes
from memstow.planner.reading.sections import of_one_value

PREFIX: Final = "MEMSTOW_"
# Variables of memstow that are not settings of the service.
_OTHERS: Final = frozenset(
    {
        *("CONFIG", "DEBUG", "SERVER", "KEY", "FOLDER", "SETS", "MAX_RECORDING"),
        *("FUZZ_SECONDS", "FUZZ_SEED", "TEST_ROUNDS", "AGREEMENT", "GAPS", "CMSIS_NN"),
    }
)
_LISTS: Final = frozenset(
    {"callback_allow", "callback_networks", "cors_origins", "plugins", "trusted_proxies"}
)
_OPTIONAL: Final = frozenset({"callback_secret", "database", "scheduler", "tls_cert", "tls_key", "trace_url"})
EVERYONE: Final = "everyone"
# The code of an issue about a name that is no setting.
UNKNOWN: Final = "unknown_setting"

Seconds = Annotated[float, Field(ge=0, le=366 * 86_400, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=1, le=1 << 50)]
Number = Annotated[int, Field(ge=1, le=1_000_000_000)]


class Settings(BaseModel):
    """Every setting, with its default and a description."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    data: Path = Field(
        Path("memstow-data"),
        description="Folder of the store, made if need be; unused with `database`.",
    )
    database: str | None = Field(
        None, description="URL of a PostgreSQL database, for several servers: postgresql://user@host/name."
    )
    anonymous: Literal["loopback", "never", "everyone"] = Field(
        "loopback",
        description="Who may use the server without a key while there was never one, or after "
        "`memstow keys reset`: whoever is on this machine, nobody, or everyone who can reach it.",
    )
    tls_cert: Path | None = Field(
        None, description="File of the certificate, with its chain, to serve HTTPS by; needs `tls_key`."
    )
    tls_key: Path | None = Field(None, description="File of the key of that certificate.")
    trusted_proxies: tuple[str, ...] = Field(
        (),
        description="Addresses and networks of proxies: their `X-Forwarded-For` and `X-Forwarded-Proto` are "
        "believed, and they may open more connections than `max_connections_per_address`.",
    )
    database_seconds: Seconds = Field(
        60.0, description="Seconds for which the start waits for a `database` that does not answer."
    )
    cors_origins: tuple[str, ...] = Field(
        (), description="Origins whose pages may call the server from a browser."
    )
    plugins: tuple[str, ...] = Field(
        (),
        description="Names of plug-ins, solvers and formats, that requests may name. Their "
        "code runs with the rights of the server.",
    )
    callback_allow: tuple[str, ...] = Field(
        (),
        description="How the URLs begin to which callbacks may be sent, such as "
        "https://builds.example.com/memstow.",
    )
    callback_secret: Path | None = Field(
        None, description="File of the secret that callbacks are signed with; needed with `callback_allow`."
    )
    callback_networks: tuple[str, ...] = Field(
        (),
        description="Addresses and networks to which callbacks may go though they are not public, such as "
        "10.1.0.0/16.",
    )
    callback_seconds: Seconds = Field(
        86_400.0, description="Seconds after the end of a job for which its callback is tried."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least level that is logged."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="The log as text for people or as JSON; auto: text in a terminal, JSON elsewhere."
    )
    trace_url: str | None = Field(
        None,
        description="Where traces are sent, by OTLP over HTTP, such as http://collector:4318/v1/traces.",
    )
    trace_share: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, description="Share of requests that are traced; where a `traceparent` comes in, it decides."
    )

    max_body: Size = Field(32 << 20, description="Bytes of a request body, also after unpacking.")
    max_values: Number = Field(4_000_000, description="JSON values in a request body.")
    max_buffers: Number = Field(200_000, description="Buffers in a problem.")
    max_batch: Number = Field(1_000, description="Jobs in a batch.")
    max_time_limit: Seconds = Field(3600.0, description="Seconds that one solve may take.")
    max_workers: int = Field(8, ge=1, le=256, description="Threads that one solve may use.")
    solve_memory: Size = Field(
        4 << 30, description="Bytes of memory that one solve may use, in a process of its own."
    )
    max_proof: Size = Field(64 << 20, description="Bytes of a proof of a plan that is kept.")
    body_seconds: Seconds = Field(30.0, description="Seconds within which a request body must be here.")

    min_rate: Number = Field(
        1024,
        description="Bytes a second at which a request body must arrive and a response must be read.",
    )
    stall_seconds: Seconds = Field(
        20.0, description="Seconds for which a client may be slower than `min_rate`."
    )
    body_memory: Size = Field(
        512 << 20, description="Bytes that all request and response bodies over 64 KiB may take in memory."
    )
    max_head: Size = Field(
        64 << 10, description="Bytes of a request line, and of a request line with its headers."
    )
    head_seconds: Seconds = Field(
        10.0, description="Seconds within which the head of a request must be complete."
    )
    idle_seconds: Seconds = Field(15.0, description="Seconds a connection is kept open between two requests.")
    linger_seconds: Seconds = Field(
        5.0,
        description="Seconds for which the rest of a refused request is read and dropped, so that its client "
        "receives the response.",
    )
    max_connections: Number = Field(
        1000,
        description="Open connections, besides 16 that wait or ask for health; fewer where the process may "
        "open only few files.",
    )
    max_connections_per_address: Number = Field(
        256, description="Open connections from one address, or from one IPv6 network of 64 bits."
    )
    max_concurrent_requests: Number = Field(
        512,
        description="Requests handled at once, event streams included; `/livez` and `/readyz` are exempt.",
    )

    fast_seconds: Seconds = Field(
        0.1, description="Seconds a problem is tried inside the server before it becomes a job."
    )
    fast_body: Size = Field(64 << 10, description="Largest body, in bytes, that is read inside the server.")
    fast_choices: Number = Field(
        50_000,
        description="Allowed pools, summed over all buffers, of the largest problem tried inside the server.",
    )
    fast_threads: int = Field(2, ge=1, le=64, description="Problems tried inside the server at once.")
    fast_waiting: Number = Field(
        256,
        description="Requests that may wait for these threads, and as many for child processes of each kind.",
    )
    sync_seconds: Seconds = Field(
        30.0, description="Seconds `POST /v1/plan` waits before it answers with a job."
    )

    slots: int = Field(
        default_factory=machine.processors,
        ge=0,
        le=256,
        description="Jobs that run at once; 0: none on this server.",
    )
    short_seconds: Seconds = Field(
        2.0,
        description="Longest time limit of a short job; one slot for each 8, besides them, takes only short "
        "jobs. 0: none.",
    )
    executor: Literal["local", "dask"] = Field(
        "local", description="Where jobs run: on this machine, or on a cluster of Dask."
    )
    scheduler: str | None = Field(
        None, description="Where the scheduler of that cluster is: tcp://host:8786, or tls://host:8786."
    )
    max_queued: Number = Field(10_000, description="Jobs that may wait.")
    max_stored_bytes: Size = Field(
        50 << 30, description="Bytes of the problems, hints, plans and events of all jobs, as stored."
    )
    max_attempts: int = Field(
        3,
        ge=1,
        le=100,
        description="Times a job is begun whose process is lost; ends of servers and shortages do not count.",
    )
    lease_seconds: Annotated[float, Field(gt=0, le=3600)] = Field(
        10.0, description="Seconds without a sign of life after which a server's jobs are taken over."
    )
    grace_seconds: Seconds = Field(
        10.0, description="Seconds from SIGTERM to the end; running jobs go on meanwhile, then are put back."
    )
    keep_seconds: Seconds = Field(7 * 86_400.0, description="Seconds a finished job is kept.")
    max_plans: Number = Field(10_000, description="Plans the cache keeps in the store.")
    cache_memory: int = Field(32 << 20, ge=0, le=1 << 40, description="Bytes of answers kept in memory.")
    share_cache: bool = Field(
        False, description="Whether keys may be answered with plans that other keys have asked for."
    )

    key_rate: Annotated[float, Field(gt=0, le=1e6)] = Field(
        1_000.0, description="Requests a second of one key, or of all without a key."
    )
    key_burst: Number = Field(2_000, description="Requests one key may send at once.")
    key_cache_bytes: Size = Field(
        256 << 20, description="Bytes of plans the cache keeps in the store for one key."
    )
    failed_keys: Number = Field(
        30, description="Keys that open nothing, from one address in a minute, before it gets 429."
    )
    key_running: Number = Field(64, description="Jobs of one key that run at once.")
    key_queued: Number = Field(5_000, description="Jobs of one key that may wait.")
    key_stored_bytes: Size = Field(
        10 << 30, description="Bytes of the documents of all jobs of one key, as stored."
    )
    key_time_limit: Seconds = Field(
        3600.0, description="Seconds that one solve of a key without the role `admin` may take."
    )

    @property
    def store_url(self) -> str:
        """The URL of the store."""
        return self.database if self.database is not None else url_of(self.data)

    @property
    def store_exists(self) -> bool:
        """Whether the store can hold anything: without its file a folder holds nothing."""
        return self.database is not None or (self.data / FILE).is_file()

    def limits(self) -> Limits:
        """The limits of one request."""
        return Limits(
            max_buffers=self.max_buffers,
            max_values=self.max_values,
            max_time_limit=self.max_time_limit,
            max_workers=self.max_workers,
            solve_memory=self.solve_memory,
            max_batch=self.max_batch,
            plugins=self.plugins,
        )

    def allowed_callbacks(self) -> Allowed:
        """Where callbacks may go."""
        return Allowed.of(self.callback_allow, self.callback_networks)

    def quotas(self) -> Quotas:
        """What the store takes."""
        return Quotas(
            max_queued=self.max_queued,
            max_stored_bytes=self.max_stored_bytes,
            key_queued=self.key_queued,
            key_stored_bytes=self.key_stored_bytes,
        )

    def runner_settings(self) -> RunnerSettings:
        """How the queue is processed."""
        return RunnerSettings(
            slots=self.slots,
            short_seconds=self.short_seconds,
            key_running=self.key_running,
            lease_seconds=self.lease_seconds,
            keep_seconds=self.keep_seconds,
            max_plans=self.max_plans,
            key_cache_bytes=self.key_cache_bytes,
            limits=JobLimits(
                solve_memory=self.solve_memory,
                max_time_limit=self.max_time_limit,
                max_attempts=self.max_attempts,
                fast_seconds=self.fast_seconds,
                fast_body=self.fast_body,
                fast_choices=self.fast_choices,
                share_cache=self.share_cache,
                max_proof=self.max_proof,
            ),
        )


@dataclass(frozen=True, slots=True)
class Override:
    """A setting given by the caller, and the name of its source for messages."""

    name: str
    value: object
    source: str


def load(
    environment: Mapping[str, str] | None = None,
    config: Path | None = None,
    overrides: Iterable[Override] = (),
) -> Settings:
    """The settings in force: overrides, then the environment, then the file, then the defaults."""
    environment = os.environ if environment is None else environment
    path = config or (Path(named) if (named := environment.get(f"{PREFIX}CONFIG")) else None)
    values: dict[str, tuple[object, str]] = {}
    if path is not None:
        values |= {name: (value, f"{path}: {name}") for name, value in _file(path).items()}
    issues: list[Issue] = []
    for name, text in environment.items():
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in _OTHERS:
            field = name.removeprefix(PREFIX).lower()
            values[field] = (_from_text(field, text), name)
    values |= {override.name: (override.value, override.source) for override in overrides}
    for name, (_, source) in values.items():
        if name not in Settings.model_fields:
            close = closest_match(name, Settings.model_fields)
            meant = f"; did you mean {close}?" if close is not None else ""
            issues.append(Issue(UNKNOWN, source, f"there is no setting {shown(name)}{meant}"))
    if issues:
        raise InputError(issues)
    try:
        settings = Settings.model_validate({name: value for name, (value, _) in values.items()})
    except ValidationError as error:
        raise InputError(
            Issue(
                "bad_setting",
                values[str(entry["loc"][0])][1],
                of_one_value(entry),
            )
            for entry in error.errors(include_url=False)
        ) from None
    require_consistent(settings)
    return settings


def printed(settings: Settings) -> str:
    """The settings as a TOML file with descriptions; a password in the URL of the database is left out."""
    lines = []
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        lines.append(f"# {field.description}")
        if value is None:
            lines.append(f"# {name} =")
        elif name == "database":
            from sqlalchemy.engine import make_url

            lines.append(f"{name} = {_toml(make_url(value).render_as_string())}")
        else:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    import json

    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value))


def _file(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(read_bytes(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError.single("malformed_toml", str(path), str(error)) from None


def _from_text(field: str, text: str) -> object:
    """The value in a variable: a list is written with commas; an empty text may mean none."""
    if field in _LISTS:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return None if field in _OPTIONAL and not text else text


def require_consistent(settings: "Settings") -> None:
    """Refuse settings that cannot work; InputError names one."""
    _require_cluster(settings)
    _require_tls(settings)
    _require_networks("trusted_proxies", settings.trusted_proxies)
    _require_callbacks(settings)
    _require_tracing(settings)
    _require_room_for_a_body(settings)


def _require_cluster(settings: "Settings") -> None:
    """Refuse a cluster without an address, or without what it needs installed."""
    if settings.executor == "local":
        return
    if settings.scheduler is None:
        message = "with the executor `dask` it takes the address of a scheduler, such as tcp://host:8786"
        raise InputError.single("no_scheduler", "scheduler", message)
    check_scheduler(settings.scheduler, "scheduler")
    if find_spec("distributed") is None:
        message = "the executor `dask` needs more than is installed: pip install 'memstow[dask]'"
        raise InputError.single("missing_extra", "distributed", message)


def _require_tls(settings: "Settings") -> None:
    """Refuse half of what HTTPS needs."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        missing = "tls_key" if settings.tls_key is None else "tls_cert"
        raise InputError.single("bad_setting", missing, "HTTPS needs both `tls_cert` and `tls_key`")


def require_certificate(settings: "Settings") -> None:
    """Refuse files that are no certificate and its key: for the server alone, others may not read them."""
    if settings.tls_cert is None or settings.tls_key is None:
        return
    # Of a file that is not there OpenSSL says that there is none, but not which.
    for path in (settings.tls_cert, settings.tls_key):
        read_bytes(path)
    try:
        # Without the password, OpenSSL would ask the terminal for one.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password="")
    except (OSError, ValueError) as error:
        message = f"not a certificate and its key, without a password: {printable(str(error), 200)}"
        raise InputError.single("bad_setting", "tls_cert", message) from None


def require_callback_secret(settings: "Settings") -> None:
    """Refuse a file that holds no secret: for the server alone, others may not read it."""
    if settings.callback_allow and settings.callback_secret is not None:
        read_secrets(settings.callback_secret)


def _require_networks(setting: str, networks: Iterable[str]) -> None:
    """Refuse what is neither an address nor a network: a name would never match."""
    for network in networks:
        try:
            ip_network(network)
        except ValueError:
            message = f"expected addresses and networks such as 10.0.0.0/8, given {shown(network)}"
            raise InputError.single("bad_setting", setting, message) from None


def _require_callbacks(settings: "Settings") -> None:
    """Refuse callbacks to what is no URL, and unsigned ones."""
    _require_networks("callback_networks", settings.callback_networks)
    for entry in settings.callback_allow:
        try:
            place = place_of(entry)
        except ValueError as error:
            raise InputError.single("bad_setting", "callback_allow", f"{shown(entry)}: {error}") from None
        if place.query:
            message = f"{shown(entry)}: expected how URLs begin, without a query"
            raise InputError.single("bad_setting", "callback_allow", message)
    if settings.callback_allow and settings.callback_secret is None:
        raise InputError.single("bad_setting", "callback_secret", "callbacks are signed: they need a secret")


def _require_tracing(settings: "Settings") -> None:
    """Refuse traces without what they need installed, and to what is no URL."""
    if settings.trace_url is None:
        return
    if re.match(r"https?://[^/\s]", settings.trace_url) is None:
        message = "expected a URL such as http://collector:4318/v1/traces"
        raise InputError.single("bad_setting", "trace_url", f"{message}, given {shown(settings.trace_url)}")
    for module in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        if not _installed(module):
            message = "traces need more than is installed: pip install 'memstow[otel]'"
            raise InputError.single("missing_extra", module, message)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # One of the packages around it is not there either.
        return False


def _require_room_for_a_body(settings: "Settings") -> None:
    """One body of the largest size must fit into the memory for all bodies."""
    if settings.body_memory < settings.max_body:
        message = f"must be at least the {settings.max_body} bytes of the setting `max_body`"
        raise InputError.single("bad_setting", "body_memory", message)
