"""`memstow serve`: the HTTP service."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.exit_codes import Exit
from memstow.api.cli.io.arguments import Commands, add_command, whole
from memstow.api.cli.io.output import to_stdout

if TYPE_CHECKING:
    from memstow.api.http.settings import Settings
    from memstow.planner.model.errors import Issue

MISSING = "the service needs an extra that is not installed: pip install 'memstow[service]'"


def add(commands: "Commands[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "serve",
        "start the HTTP service",
        details="""
Every setting can be given as MEMSTOW_NAME in the environment or in a TOML file; --print-settings lists them.
Without keys the service accepts only requests from this machine; `memstow keys create` creates a key.""",
        examples="""
memstow serve
memstow serve --port 9000 --data /var/lib/memstow
memstow serve --config memstow.toml
memstow serve --executor dask --scheduler tcp://localhost:8786
memstow serve --tls-cert chain.pem --tls-key key.pem
memstow serve --print-settings > memstow.toml
""",
    )
    add_store(parser)
    parser.add_argument("--host", metavar="H", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=whole(0, 65535), metavar="P", help="port to listen on (default: 8080)")
    parser.add_argument(
        "--executor",
        choices=("local", "dask"),
        help="where jobs run: on this machine or on a Dask cluster (default: local)",
    )
    parser.add_argument(
        "--scheduler", metavar="URL", help="address of the cluster's scheduler, such as tcp://host:8786"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate with its chain, to serve HTTPS")
    parser.add_argument("--tls-key", metavar="FILE", help="key of that certificate")
    parser.add_argument("--print-settings", action="store_true", help="print the effective settings and exit")
    parser.set_defaults(run=run)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the settings and the store."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file, TOML")
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="folder of the service's store (default: memstow-data)"
    )


def run(args: argparse.Namespace) -> int:
    """Run the service until it is stopped."""
    names = ("host", "port", "executor", "scheduler", "tls_cert", "tls_key")
    settings = load(args, **{name: getattr(args, name) for name in names})
    if args.print_settings:
        from memstow.api.http.settings import printed

        to_stdout(printed(settings).encode())
        return Exit.DONE
    from memstow.api.http.server import serve

    return serve(settings)


def load(args: argparse.Namespace, **chosen: object) -> "Settings":
    """The effective settings; if the service is not installed, the error says what to install."""
    from memstow.planner.model.errors import InputError

    try:
        from memstow.api.http import settings
    except ModuleNotFoundError as error:
        raise InputError.single("missing_extra", error.name or "memstow", MISSING) from None
    overrides = [
        settings.Override(name, value, f"--{name.replace('_', '-')}")
        for name, value in {"data": args.data, **chosen}.items()
        if value is not None
    ]
    try:
        return settings.load(config=args.config, overrides=overrides)
    except InputError as error:
        raise InputError(
            _with_hint(issue) if issue.code == settings.UNKNOWN else issue for issue in error.issues
        ) from None


def _with_hint(issue: "Issue") -> "Issue":
    separator = "" if issue.message.endswith("?") else ";"
    return replace(issue, message=f"{issue.message}{separator} `memstow serve --print-settings` lists them")
