"""The address of a Dask cluster's scheduler, as commands, settings and callers of the library write it."""

import re
from typing import Final

from memstow.planner.model.errors import InputError
from memstow.planner.reading.printable import shown

_ADDRESS: Final = re.compile(
    r"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:\[[0-9a-f:.%]+\]|[^\s:/\[\]]+):(?P<port>\d{1,5})", re.ASCII | re.I
)
_LARGEST_PORT: Final = 65_535


def check_scheduler(address: str, field: str) -> str:
    """The address; an InputError that names the field where it is none."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) <= _LARGEST_PORT:
        message = f"expected an address such as tcp://host:8786, given {shown(address)}"
        raise InputError.single("bad_scheduler", field, message)
    return address
