"""What an allocator has made of a device's memory, in words and as data, and what a plan makes of it."""

from typing import TYPE_CHECKING

from memstow.planner.model.plan import Plan
from memstow.planner.show.formatting import count, human, percent, plain, table

if TYPE_CHECKING:
    from memstow.planner.recorded.recording import Usage


def usage_facts(usage: "Usage", rows: int) -> dict[str, object]:
    """The usage as a JSON object, with so many of its users."""
    return {
        "device": usage.device,
        "events": usage.events,
        "allocations": usage.allocations,
        "at_start": usage.at_start,
        "unpaired": usage.unpaired,
        "expandable_segments": usage.expandable_segments,
        "reserved": usage.reserved,
        "allocated": usage.allocated,
        "requested": usage.requested,
        "unseen": usage.unseen,
        "lost": usage.lost,
        "least": usage.least,
        "users": [
            {"who": user.who, "bytes": user.bytes, "allocations": user.allocations}
            for user in usage.users[:rows]
        ],
    }


def usage_report(usage: "Usage", rows: int) -> str:
    """The usage in words, with so many of its users."""
    before = f", {count(usage.at_start)} of them before it began" if usage.at_start else ""
    lines = [
        f"recorded   {count(usage.events)} events of device {plain(usage.device)}, "
        f"{count(usage.allocations)} allocations{before}"
    ]
    if usage.unpaired:
        lines.append(f"incomplete {count(usage.unpaired)} events lack their counterpart")
    if usage.reserved is not None:
        lines.append(f"reserved   {_bytes(usage.reserved)} at most{_segments(usage)}")
    lines.append(f"allocated  {_bytes(usage.allocated)} at most, {count(usage.requested)} as asked for")
    if usage.unseen:
        lines.append(f"besides    {_bytes(usage.unseen)} that were there all the time and are in no event")
    if usage.reserved and usage.lost is not None:
        share = percent(usage.lost / usage.reserved)
        lines.append(f"lost       {_bytes(usage.lost)}, {share} of what was reserved, to fragmentation")
    lines.append(f"least      {_bytes(usage.least)}: no plan needs less")
    cells = [
        (plain(user.who, most=100) or "(not recorded)", count(user.bytes), count(user.allocations))
        for user in usage.users[:rows]
    ]
    return "\n".join([*lines, "", *table(("when most is allocated", "bytes", "allocations"), cells)])


def saving(usage: "Usage", plan: Plan) -> str:
    """What a plan needs beside what the allocator has reserved, in a line."""
    needed = sum(use.peak for use in plan.pools)
    if usage.reserved is None:
        return f"recorded: {_bytes(usage.allocated)} allocated at most; this plan needs {count(needed)}"
    needed += usage.unseen
    allocated = usage.allocated + usage.unseen
    saved = usage.reserved - needed
    share = percent(abs(saved) / usage.reserved) if usage.reserved else "0 %"
    return (
        f"recorded: {_bytes(usage.reserved)} reserved{_segments(usage)}, of which {count(allocated)} were "
        f"allocated at most; this plan needs {count(needed)}, {count(abs(saved))} "
        f"{'less' if saved >= 0 else 'more'} ({share})"
    )


def _segments(usage: "Usage") -> str:
    if usage.expandable_segments is None:
        return " (whether expandable_segments was on is not recorded)"
    return f" (expandable_segments {'on' if usage.expandable_segments else 'off'})"


def _bytes(size: int) -> str:
    return f"{count(size)} bytes ({human(size)})"
