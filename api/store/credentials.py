"""The text of a key: `msk_ID_SECRET`.

The secret has 256 random bits: a plain SHA-256 of it cannot be reversed, and a slow hash would only slow down
every request.
"""

import hashlib
from typing import Final, NamedTuple

_PREFIX: Final = "msk"


class Credential(NamedTuple):
    """The id of a key, and the hash of the secret that came with it."""

    id: str
    hash: str


def credential_of(text: str) -> Credential | None:
    """The parts of a text that looks like a key."""
    prefix, _, rest = text.partition("_")
    identity, _, secret = rest.partition("_")
    if prefix != _PREFIX or not (identity.isalnum() and identity.isascii()) or len(identity) > 32:
        return None
    return Credential(identity, hash_of(secret))


def text_of(identity: str, secret: str) -> str:
    """The text of a key."""
    return f"{_PREFIX}_{identity}_{secret}"


def hash_of(secret: str) -> str:
    """The hash of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
