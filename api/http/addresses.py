"""Addresses of clients, as limits count them."""

import ipaddress


def network_of(host: str | None) -> str:
    """What counts as one address: of IPv6 a network of 64 bits, which one customer has."""
    if host is None or ":" not in host:
        return host or ""
    address = ipaddress.IPv6Address(host.partition("%")[0])
    return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
