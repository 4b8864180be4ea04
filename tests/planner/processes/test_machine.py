"""Processors and memory are those of the container, by either version of control groups."""

from pathlib import Path

import pytest

from memstow.planner.processes.machine import memory, processors

MIB = 1 << 20


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_control_groups_it_is_the_machine(tmp_path: Path) -> None:
    assert processors(tmp_path) >= 1
    assert memory(tmp_path) > 64 * MIB


@pytest.mark.parametrize(
    ("quota", "expected"), [("50000 100000", 1), ("100000 100000", 1), ("max 100000", None)]
)
def test_a_quota_of_version_2_limits_processors(tmp_path: Path, quota: str, expected: int | None) -> None:
    write(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": quota + "\n"})
    assert processors(tmp_path) == (expected or processors(Path("/nowhere")))


def test_a_limit_of_a_group_above_counts(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/memory.max": f"{100 * MIB}\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
        },
    )
    assert memory(tmp_path) == 100 * MIB


def test_version_1_is_understood_where_the_path_is_the_host_s(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{80 * MIB}\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )
    assert memory(tmp_path) == 80 * MIB
    assert processors(tmp_path) == 1


def test_no_quota_of_version_1_is_no_limit(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/self/cgroup": "3:cpu:/\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    assert processors(tmp_path) == processors(Path("/nowhere"))
