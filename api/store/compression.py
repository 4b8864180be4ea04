"""Documents as the store keeps them."""

import zlib

# The fastest level: JSON shrinks to a fifth already, and problems come by the hundred a second.
_LEVEL = 1


def packed(document: bytes) -> bytes:
    """Deflated."""
    return zlib.compress(document, _LEVEL)


def unpacked(body: bytes | memoryview) -> bytes:
    """Inflated."""
    return zlib.decompress(body)
