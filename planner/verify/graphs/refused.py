"""How a schedule that the graph does not allow is told."""


class Refused(Exception):  # noqa: N818
    """Why the schedule is none of the graph."""
