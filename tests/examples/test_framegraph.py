"""examples/framegraph: images of Vulkan in one allocation make the same frame, and its validation agrees."""

import ctypes.util
import shutil
import subprocess
from pathlib import Path

import pytest

from memstow.planner.library import library_path
from tests.examples.building import ROOT, tool
from tests.waiting import PATIENCE

EXAMPLE = ROOT / "examples" / "framegraph"
HEADERS = ROOT / "planner" / "library" / "native"


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def frame(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """What the example prints, with this source."""
    if ctypes.util.find_library("vulkan") is None or not list(Path("/usr/share/vulkan/icd.d").glob("*.json")):
        pytest.skip("needs Vulkan and a driver (Debian: libvulkan-dev, mesa-vulkan-drivers)")
    compiler, shaders = tool("g++"), tool("glslangValidator")
    (folder / "main.cpp").write_text(source, encoding="utf-8")
    shutil.copy(EXAMPLE / "pass.comp", folder)
    compiled = run(folder, shaders, "-V", "--vn", "pass_spirv", "-o", "pass.h", "pass.comp")
    assert compiled.returncode == 0, compiled.stdout
    library = library_path()
    built = run(
        folder, compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I.", f"-I{HEADERS}", "main.cpp",
        library, f"-Wl,-rpath,{library.parent}", "-lvulkan", "-o", "framegraph",
    )  # fmt: skip
    if "vulkan/vulkan.h" in built.stderr:
        pytest.skip("needs the headers of Vulkan (Debian: libvulkan-dev)")
    assert built.returncode == 0, built.stderr
    ran = run(folder, folder / "framegraph")
    if ran.returncode == 2:
        pytest.skip(f"needs a device for Vulkan: {ran.stderr.strip()}")
    return ran


def test_the_frame_is_the_same_in_one_allocation(tmp_path: Path) -> None:
    ran = frame(tmp_path, (EXAMPLE / "main.cpp").read_text(encoding="utf-8"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "optimal\nthe frames are equal" in ran.stdout


@pytest.mark.campaign
def test_images_on_each_other_make_another_frame(tmp_path: Path) -> None:
    source = (EXAMPLE / "main.cpp").read_text(encoding="utf-8")
    place = "static_cast<VkDeviceSize>(plan.offsets()[at])"
    assert place in source
    ran = frame(tmp_path, source.replace(place, f"{place} * 0"))
    assert ran.returncode == 1
    assert "the frames differ" in ran.stdout
