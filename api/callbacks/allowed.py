"""Which URLs a callback may be sent to, and which addresses their names may stand for.

Both are for operators to say: whoever can name a URL could otherwise have the server call what only it can
reach.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

LONGEST_URL: Final = 2048
_LONGEST_HOST: Final = 253
_PORTS: Final = {"http": 80, "https": 443}
_NOT_IN_URLS: Final = frozenset('\\"<>^`{|}')
# Networks whose addresses carry others, or stand for others, which may be private.
_CARRIERS: Final = tuple(
    map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "192.88.99.0/24"))
)


class Place(NamedTuple):
    """A URL by its parts."""

    scheme: str
    host: str
    port: int
    path: str
    query: str

    @property
    def origin(self) -> str:
        """The part that says which server: it holds no secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    @property
    def target(self) -> str:
        """The part that is sent to that server."""
        return self.path + (f"?{self.query}" if self.query else "")


def place_of(url: str) -> Place:
    """The parts of a URL; ValueError says what is wrong with it."""
    if len(url) > LONGEST_URL:
        raise ValueError(f"it has more than {LONGEST_URL} characters")
    if not all("!" <= character <= "~" for character in url) or _NOT_IN_URLS & set(url):
        raise ValueError(
            "a URL has no spaces, no characters beyond ASCII, and none of " + r'\ " < > ^ ` { | }'
        )
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("expected a URL such as https://builds.example.com/memstow")
    if len(parts.hostname) > _LONGEST_HOST:
        raise ValueError(f"its host has more than {_LONGEST_HOST} characters")
    if "@" in parts.netloc or "#" in url:
        raise ValueError("a URL with a user, a password or a fragment is not taken")
    try:
        port = _PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise ValueError("its port is not one of 1 to 65535")
    path = parts.path or "/"
    if any(_leaves_its_folder(part) for part in path.split("/")):
        raise ValueError("a path with `.` or `..`, or with an encoded slash, is not taken")
    return Place(parts.scheme, parts.hostname, port, path, parts.query)


def _leaves_its_folder(part: str) -> bool:
    # Some servers drop what is behind a semicolon before they look at the dots.
    plain = unquote(part)
    return plain.partition(";")[0] in (".", "..") or "/" in plain or "\\" in plain


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an operator allows: URLs by how they begin, and networks that are not public."""

    prefixes: tuple[Place, ...]
    networks: tuple[str, ...] = ()

    @classmethod
    def of(cls, urls: Iterable[str], networks: Iterable[str]) -> "Allowed":
        """What these settings allow."""
        return cls(tuple(map(place_of, urls)), tuple(networks))

    def takes(self, place: Place) -> bool:
        """Whether a URL begins as one of those that are allowed, up to the end of a part of its path."""
        for prefix in self.prefixes:
            folder = prefix.path.rstrip("/")
            if prefix[:3] == place[:3] and (place.path == folder or place.path.startswith(f"{folder}/")):
                return True
        return False

    def takes_address(self, text: str) -> bool:
        """Whether a name may stand for this address: it is public, or of a network that is allowed."""
        address = ip_address(text.partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return _is_public(address) or any(address in ip_network(network) for network in self.networks)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    reserved = address.is_multicast or address.is_reserved or address.is_unspecified
    if isinstance(address, IPv6Address):
        reserved = reserved or address.is_site_local
    return address.is_global and not reserved and not any(address in network for network in _CARRIERS)
