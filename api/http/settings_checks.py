"""What must hold between settings, and what some of them need installed."""

import re
import ssl
from collections.abc import Iterable
from importlib.util import find_spec
from ipaddress import ip_network
from typing import TYPE_CHECKING

from memstow.api.webhooks import place_of, read_secrets
from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import check_scheduler, printable, shown

if TYPE_CHECKING:
    from memstow.api.http.settings import Settings


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
    for given in networks:
        try:
            ip_network(given)
        except ValueError:
            message = f"expected addresses and networks such as 10.0.0.0/8, given {shown(given)}"
            raise InputError.single("bad_setting", setting, message) from None


def _require_callbacks(settings: "Settings") -> None:
    """Refuse callbacks to what is no URL, and unsigned ones."""
    _require_networks("callback_networks", settings.callback_networks)
    for given in settings.callback_allow:
        try:
            place = place_of(given)
        except ValueError as error:
            raise InputError.single("bad_setting", "callback_allow", f"{shown(given)}: {error}") from None
        if place.query:
            message = f"{shown(given)}: expected how URLs begin, without a query"
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
