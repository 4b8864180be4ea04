"""A bundle holds all that was run, is refused where it is damaged, and repeats deterministic runs."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from memstow.planner.bench.bundle import MANIFEST, read_bundle, repetition
from memstow.planner.bench.record import RESULTS, from_line, to_line
from memstow.planner.model.errors import InputError
from tests.api.cli.conftest import Cli, cli, three

__all__ = ["cli", "three"]
WORK = ("--deterministic", "--work-limit", "100000")


@pytest.fixture
def run(cli: Cli, three: Path) -> Path:
    """The results of a bench: of a file and of generated problems."""
    output = three.with_name("results")
    paths = (three, "generate:planted,n=10,seed=1..2")
    ran = cli("bench", "run", *paths, "--solvers", "greedy,exact", "--seeds", "2", *WORK, "--output", output)
    assert ran.code == Exit.DONE, ran.err
    return output


@pytest.fixture
def bundle(cli: Cli, run: Path) -> Path:
    """The bundle of these."""
    assert cli("bench", "bundle", run).code == Exit.DONE
    return run / "bundle.tar.gz"


def test_it_has_the_problems_the_results_and_what_they_depend_on(
    run: Path, bundle: Path, three: Path
) -> None:
    read = read_bundle(bundle)
    assert read.files[RESULTS] == (run / RESULTS).read_bytes()
    manifest = read.manifest
    assert manifest["versions"].keys() >= {"memstow", "python"}
    assert manifest["seeds"] == [0, 1]
    assert "memstow bench run" in manifest["commands"][0] or "bench run" in manifest["commands"][0]
    sources = read.sources()
    assert len(sources) == 3
    assert three.read_bytes() in {source.data for source in sources.values()}
    seeds = {source.generated["seed"] for source in sources.values() if source.generated}
    assert seeds == {1, 2}
    assert read.differences() == []


def test_the_same_results_make_the_same_bytes(cli: Cli, run: Path, bundle: Path) -> None:
    before = bundle.read_bytes()
    assert cli("bench", "bundle", run, "--output", run / "again.tar.gz").code == Exit.DONE
    assert (run / "again.tar.gz").read_bytes() == before


def test_runs_are_repeated_and_give_the_same(cli: Cli, bundle: Path, tmp_path: Path, three: Path) -> None:
    pytest.importorskip("scipy", reason="comparing needs the extra bench")
    three.unlink()
    ran = cli("bench", "rerun", bundle, "--output", tmp_path / "again")
    assert ran.code == Exit.DONE, ran.out + ran.err
    assert "12 of 12 deterministic runs gave the same, place by place" in ran.out
    assert ": 12 pairs of runs compared" in ran.out
    ran = cli("bench", "rerun", bundle, "--output", tmp_path / "again")
    assert ran.code == Exit.USAGE
    assert "--resume" in ran.err
    assert cli("bench", "rerun", bundle, "--output", tmp_path / "again", "--resume").code == Exit.DONE


def changed(bundle: Path, change: Callable[[dict[str, bytes]], None], fix: bool = True) -> Path:
    """The bundle with other files; `fix`: with the checksums of these."""
    with tarfile.open(bundle) as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]
    change(files)
    if fix:
        from hashlib import sha256

        manifest = json.loads(files[MANIFEST])
        for name in manifest["files"]:
            manifest["files"][name]["sha256"] = sha256(files.get(name, b"")).hexdigest()
        files[MANIFEST] = json.dumps(manifest).encode()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    path = bundle.with_name("changed.tar.gz")
    path.write_bytes(written.getvalue())
    return path


def _other_results(files: dict[str, bytes]) -> None:
    """Records in which each plan is one byte worse."""
    lines = []
    for line in files[RESULTS].splitlines():
        document = json.loads(line)
        for term in document["objective"]:
            term["value"] += 1
        document["status"] = "feasible"
        lines.append(to_line(from_line(json.dumps(document))))
    files[RESULTS] = ("\n".join(lines) + "\n").encode()


def test_a_run_that_gives_something_else_is_told(cli: Cli, bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="comparing needs the extra bench")
    ran = cli("bench", "rerun", changed(bundle, _other_results), "--output", tmp_path / "again")
    assert ran.code == Exit.WORSE
    assert "0 of 12 deterministic runs gave the same" in ran.out
    assert "differs: exact, seed 0, on " in ran.out
    assert "status was feasible and is optimal" in ran.out


@pytest.mark.parametrize(
    ("change", "fix", "said"),
    [
        (
            lambda files: files.update({RESULTS: files[RESULTS] + b" "}),
            False,
            "the checksum of results.jsonl",
        ),
        (lambda files: files.update({RESULTS: b"{}\n"}), True, "no bundle of a bench"),
        (lambda files: files.pop(MANIFEST), False, "no bundle of a bench"),
        (lambda files: files.update({MANIFEST: b"[" * 100_000}), False, "no bundle of a bench"),
        (lambda files: files.update({MANIFEST: b'{"bundle": 2}'}), False, "bundles of version 1 can be read"),
    ],
)
def test_a_damaged_bundle_is_refused(
    bundle: Path, change: Callable[[dict[str, bytes]], None], fix: bool, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        read_bundle(changed(bundle, change, fix))


def test_a_problem_that_is_another_one_is_refused(bundle: Path) -> None:
    def swap(files: dict[str, bytes]) -> None:
        name = next(name for name in files if name.startswith("problems/"))
        files[name] += b" "

    with pytest.raises(InputError, match="is another one"):
        read_bundle(changed(bundle, swap))


def test_what_is_no_bundle_is_refused(tmp_path: Path, bundle: Path) -> None:
    path = tmp_path / "file"
    for data in (b"", b"text", gzip.compress(b"text"), bundle.read_bytes()[:200]):
        path.write_bytes(data)
        with pytest.raises(InputError, match="no bundle of a bench"):
            read_bundle(path)
    with pytest.raises(InputError, match="there is no such file"):
        read_bundle(tmp_path / "none")


def test_links_and_what_is_too_large_are_refused_before_they_are_read(tmp_path: Path) -> None:
    for kind, size in ((tarfile.SYMTYPE, 0), (tarfile.REGTYPE, 3 << 30)):
        written = io.BytesIO()
        entry = tarfile.TarInfo("results.jsonl")
        entry.type, entry.size, entry.linkname = kind, size, "/etc/passwd"
        written.write(entry.tobuf())
        path = tmp_path / "file"
        path.write_bytes(gzip.compress(written.getvalue() + bytes(1024)))
        with pytest.raises(InputError, match="too large, no file"):
            read_bundle(path)


def test_a_problem_that_is_gone_is_told_and_may_be_left_out(
    cli: Cli, run: Path, three: Path, tmp_path: Path
) -> None:
    pytest.importorskip("scipy", reason="comparing needs the extra bench")
    moved = three.rename(three.with_name("moved.json"))
    ran = cli("bench", "bundle", run)
    assert ran.code == Exit.USAGE
    assert "1 of 3 problems are gone or have changed" in ran.err
    assert (
        cli("bench", "bundle", run, "--problems", moved, "--problems", "generate:planted,n=10,seed=1..2").code
        == 0
    )
    assert cli("bench", "bundle", run, "--allow-missing").out.endswith("1 problems are not in it\n")
    ran = cli("bench", "rerun", run / "bundle.tar.gz", "--output", tmp_path / "again")
    assert ran.code == Exit.DONE, ran.out
    assert "missing" not in ran.out
    assert "4 runs are left out: their problem is not in the bundle" in ran.err


def test_no_command_of_a_bundle_is_run(cli: Cli, three: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="comparing needs the extra bench")
    trace = tmp_path / "trace"
    program = tmp_path / "program.py"
    program.write_text(f"open({str(trace)!r}, 'a').write('ran ')\n")
    output = tmp_path / "results"
    mine = f"mine=python3 {program} {{input}} {{output}}"
    ran = cli(
        "bench", "run", three, "--external", mine, "--external", "best-fit", "-o", output, "--repeat-for", "0"
    )
    assert (ran.code, trace.read_text()) == (Exit.DONE, "ran ")
    assert cli("bench", "bundle", output).code == Exit.DONE
    ran = cli("bench", "rerun", output / "bundle.tar.gz", "--output", tmp_path / "again")
    assert ran.code == Exit.DONE, ran.out
    assert trace.read_text() == "ran "
    assert "1 runs are left out: mine was the program `python3 " in ran.err
    assert [run.solver.name for run in repetition(read_bundle(output / "bundle.tar.gz"), ".", {}).tasks] == [
        "best-fit"
    ]
    named = ("--program", "mine=python3", "--output", tmp_path / "named")
    assert cli("bench", "rerun", output / "bundle.tar.gz", *named).code == Exit.DONE
    assert trace.read_text().startswith("ran ran")
