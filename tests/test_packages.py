"""What is released holds what it should: what is under version control, and nothing that lies beside it."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import memstow

ROOT = Path(__file__).parents[1]
FOLDERS = ("api", "planner", "solvers")
# In a checkout the folders are also found as one package; what is built holds them once.
LINKS = {f"memstow/{folder}" for folder in FOLDERS}


def _files(*options: str) -> set[str]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a clone: what belongs to the project is what is under version control")
    command = ["git", "ls-files", "-z", *options]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    return _files()


@pytest.fixture(scope="module")
def new() -> set[str]:
    """Files that are about to be added."""
    return _files("--others", "--exclude-standard")


def _built(call: str, folder: Path) -> Path:
    """What the build back end makes of the checkout as it is, with everything that lies in it."""
    if find_spec("scikit_build_core") is None:
        pytest.skip("needs scikit-build-core, as constraints.txt pins it")
    code = f"import sys; from scikit_build_core import build; build.{call}"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (made,) = folder.iterdir()
    return made


@pytest.mark.campaign
def test_a_source_distribution_holds_what_is_under_version_control(
    tracked: set[str], new: set[str], tmp_path: Path
) -> None:
    with tarfile.open(_built("build_sdist(sys.argv[1])", tmp_path)) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert held - new == (tracked - LINKS) | {"PKG-INFO"}


def test_a_wheel_holds_one_package_and_no_sources_of_the_native_core(
    tracked: set[str], new: set[str], tmp_path: Path
) -> None:
    # Compiling takes a minute and adds one file, which every test that solves needs: it is left out.
    settings = "{'wheel.cmake': 'false', 'wheel.py-api': 'py3'}"
    with zipfile.ZipFile(_built(f"build_wheel(sys.argv[1], {settings})", tmp_path)) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        described = {Path(name).name for name in archive.namelist() if ".dist-info/" in name}
    wanted = {
        f"memstow/{name}"
        for name in tracked
        if name.startswith(tuple(f"{folder}/" for folder in FOLDERS))
        and "/native/" not in name
        and "/mlir/" not in name
        and not (
            name.startswith("api/page/") and not name.startswith("api/page/built/") and ".py" not in name
        )
    }
    new = new | {f"memstow/{name}" for name in new}
    own = {name for name in tracked if name.startswith("memstow/")} - LINKS
    assert held - new == wanted | own
    assert {"METADATA", "RECORD", "LICENSE", "entry_points.txt"} <= described


def test_the_citation_has_the_version_and_the_licence_of_the_package() -> None:
    lines = (ROOT / "CITATION.cff").read_text().splitlines()
    assert {f"version: {memstow.__version__}", "license: Apache-2.0", "cff-version: 1.2.0"} <= set(lines)
