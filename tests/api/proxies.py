"""The proxies of deploy/, run as they are shipped."""

import getpass
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest

from benchmarks.servers import free_port
from tests.api.conftest import NAME_ON_CERTIFICATE as NAME
from tests.api.serving import ROOT
from tests.waiting import PATIENCE, wait_for


def started(stack: ExitStack, command: list[str], folder: Path, port: int) -> None:
    """Run a proxy until the tests are over."""
    log = (folder / "log").open("wb")
    stack.callback(log.close)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    stack.callback(process.wait, PATIENCE)
    stack.callback(process.terminate)

    def listens() -> bool:
        assert process.poll() is None, (folder / "log").read_text()
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, f"{command[0]} to listen")


def replaced(text: str, *changes: tuple[str, str]) -> str:
    """The shipped file with the addresses and files of this test; each must be in it."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(stack: ExitStack, folder: Path, tls: Path, upstream: str) -> int:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is not here (Debian: apt-get install nginx-light)")
    port = free_port()
    site = replaced(
        (ROOT / "deploy" / "nginx.conf").read_text(),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/memstow/", f"{tls}/"),
        ("127.0.0.1:8080", upstream),
    )
    (folder / "site.conf").write_text(site)
    places = "".join(
        f"{name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # Other users cannot get into the folders of the tests.
    user = f"user {getpass.getuser()}; " if os.getuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"daemon off; {user}pid {folder}/pid; error_log stderr;\nevents {{}}\n"
        f"http {{ access_log off;\n{places}include {folder}/site.conf; }}\n"
    )
    started(stack, [program, "-p", str(folder), "-c", str(folder / "nginx.conf")], folder, port)
    return port


def caddy(stack: ExitStack, folder: Path, tls: Path, upstream: str) -> int:
    if shutil.which("caddy") is None:
        pytest.skip("Caddy is not here (Debian: apt-get install caddy)")
    port = free_port()
    text = (ROOT / "deploy" / "Caddyfile").read_text()
    text = replaced(
        text,
        (
            "{\n\tservers {",
            f"{{\n\tadmin off\n\tauto_https disable_redirects\n\thttps_port {port}\n\tservers {{",
        ),
        (f"\n{NAME} {{", f"\n{NAME} {{\n\ttls {tls}/chain.pem {tls}/key.pem"),
        ("127.0.0.1:8080", upstream),
    )
    (folder / "Caddyfile").write_text(text)
    started(stack, ["caddy", "run", "--config", "Caddyfile"], folder, port)
    return port


Proxy = Callable[[ExitStack, Path, Path, str], int]
PROXIES: list[Proxy] = [nginx, caddy]


class SniTransport(httpx2.HTTPTransport):
    """Names the host of the examples in the handshake, too: proxies choose the site by it."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        return super().handle_request(request)


def client_of(port: int, tls: Path) -> httpx2.Client:
    """A client of what listens there, by the name in the examples; it checks the certificate."""
    context = ssl.create_default_context(cafile=str(tls / "chain.pem"))
    return httpx2.Client(
        base_url=f"https://127.0.0.1:{port}",
        transport=SniTransport(verify=context),
        timeout=PATIENCE,
        headers={"host": NAME},
    )
