"""The message about the end of a job, and its signature as Standard Webhooks describes it."""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.source import read_bytes

_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST = 24, 64
# What the message leaves out of a job: it may be long, and says nothing about the end.
_LEFT_OUT: Final = ("options", "callback")


def read_secrets(path: Path) -> tuple[bytes, ...]:
    """The secrets in a file, one in each line; InputError for what is none."""
    try:
        lines = [line.strip() for line in read_bytes(path).decode("ascii").splitlines()]
        secrets = tuple(_secret_of(line) for line in lines if line)
    except (ValueError, binascii.Error):
        secrets = ()
    if not secrets:
        # What the file says is not quoted: it may be a secret.
        expected = f"`{_PREFIX}` and {_SHORTEST} to {_LONGEST} bytes in Base64"
        message = f"{path}: expected a secret in each line: {expected}"
        raise InputError.single("bad_setting", "callback_secret", message)
    return secrets


def _secret_of(line: str) -> bytes:
    secret = base64.b64decode(line.removeprefix(_PREFIX), validate=True)
    if not line.startswith(_PREFIX) or not _SHORTEST <= len(secret) <= _LONGEST:
        raise ValueError
    return secret


def message_body(job: Mapping[str, Any]) -> bytes:
    """The message about a job that has ended, which is the same in each attempt."""
    data = {name: value for name, value in job.items() if name not in _LEFT_OUT}
    return json.dumps({"type": f"job.{job['state']}", "timestamp": job["finished"], "data": data}).encode()


def message_headers(name: str, seconds: int, body: bytes, secrets: Sequence[bytes]) -> dict[str, str]:
    """The headers that say which message this is, when it was sent, and that it is from here."""
    signed = f"{name}.{seconds}.".encode() + body
    made = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in secrets)
    return {
        "webhook-id": name,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(it).decode()}" for it in made),
    }
