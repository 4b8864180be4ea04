"""`memstow library`: the actions by their commands, and by a server of plain files."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, Final

import pytest

from memstow.api.cli import remote_library
from memstow.api.cli.terminal import Exit
from memstow.planner import formats
from memstow.planner.instance_library import site
from memstow.planner.instance_library.site import Built
from memstow.planner.instance_library.standard import recipes
from memstow.planner.model.problem import Problem
from tests.api.cli.conftest import Cli
from tests.planner.instance_library.libraries import KNOT, answered, falsify, made, stacked, tree

_MOST: Final = 1 << 16
TRIVIAL: Final = ("--id", "*-trivial-00", "--work-limit", "1000000", "--date", "2026-01-31")


@pytest.fixture
def knot(tmp_path: Path) -> Path:
    """A problem in a file."""
    path = tmp_path / "Knot of 17.json"
    path.write_bytes(formats.write_problem(KNOT))
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Its best plan in a file, and the proof of that beside it."""
    answer = answered(KNOT)
    assert answer.proof is not None
    (tmp_path / "plan.proof").write_bytes(answer.proof)
    path = tmp_path / "plan.json"
    path.write_bytes(formats.write_plan(KNOT, answer.plan))
    return path


def test_from_a_file_to_a_proven_record(cli: Cli, tmp_path: Path, knot: Path, plan: Path) -> None:
    library = tmp_path / "lib"
    words = ("--title", "A knot", "--family", "knots", "--source", "mine", "--models", "nothing")
    ran = cli("library", "add", library, knot, "--licence", "CC0-1.0", *words)
    assert (ran.code, ran.out) == (Exit.DONE, "knot-of-17: open\n")
    bare = tmp_path / "bare.json"
    bare.write_bytes(formats.write_plan(KNOT, stacked(KNOT)))
    ran = cli("library", "submit", library, bare)
    assert ran.code == Exit.USAGE
    assert "--id ID" in ran.err
    wrong = tmp_path / "wrong.json"
    wrong.write_bytes(bare.read_bytes().replace(b'"offset": 0', b'"offset": -1'))
    ran = cli("library", "submit", library, wrong, "--id", "knot-of-17")
    assert (ran.code, f"{wrong}: $.placements[0].offset" in ran.err) == (Exit.USAGE, True)
    ran = cli("library", "submit", library, bare, "--id", "knot-of-17", "--date", "2026-01-01", "--by", "B")
    assert (ran.code, ran.out) == (Exit.DONE, "knot-of-17: better: value\n")
    ran = cli("library", "submit", library, plan, "--proof", tmp_path / "plan.proof", "--date", "2026-01-02")
    assert ran.code == Exit.DONE
    assert ran.out == "knot-of-17: better: value, bound, proof\n"
    ran = cli("library", "submit", library, plan, "--date", "2026-01-02")
    assert (ran.code, ran.out) == (Exit.INVALID, "knot-of-17: the record stays; this is not better\n")
    ran = cli("library", "verify", library, "--time-limit", "60")
    assert (ran.code, ran.out, ran.err) == (Exit.DONE, "1 instances checked, no faults\n", "")
    document = json.loads((library / "knot-of-17" / "instance.json").read_text())
    assert (document["title"], document["origin"]) == ("A knot", {"source": "mine"})
    assert [event["by"] for event in document["history"]] == ["B", "memstow"]


def test_what_is_no_instance_is_an_error(cli: Cli, tmp_path: Path, knot: Path) -> None:
    library = tmp_path / "lib"
    assert cli("library", "add", library, knot).code == Exit.USAGE
    for words, says in (
        (("--licence", "unknown"), "licence"),
        (("--licence", "<b>"), "licence"),
        (("--licence", "MIT", "--id", "../x"), "$.id"),
        (("--licence", "MIT", "--title", "x" * 300), "$.title"),
        (("--licence", "MIT", "--family", "A family"), "$.family"),
    ):
        ran = cli("library", "add", library, knot, *words)
        assert ran.code == Exit.USAGE
        assert says in ran.err
    assert not [name for name in tree(tmp_path) if "instance.json" in name]
    cli("library", "add", library, knot, "--licence", "MIT")
    ran = cli("library", "add", library, knot, "--licence", "MIT", "--id", "other")
    assert ran.code == Exit.USAGE
    assert "[duplicate]" in ran.err
    assert cli("library", "list", tmp_path / "nothing").code == Exit.USAGE


def test_generated_instances_can_be_listed(cli: Cli, tmp_path: Path) -> None:
    library = tmp_path / "lib"
    ran = cli("library", "generate", library, *TRIVIAL)
    count = sum(recipe.about.name.endswith("-trivial-00") for recipe in recipes())
    assert ran.code == Exit.DONE
    assert ran.out.splitlines()[-1] == f"{count} of {count} instances are there"
    again = cli("library", "generate", library, *TRIVIAL)
    assert again.out == f"{count} of {count} instances are there\n"
    listed = cli("library", "list", library, "--family", "tiling").out.splitlines()
    assert [line.split()[0] for line in listed] == ["id", "tiling-trivial-00"]
    lines = json.loads(cli("library", "list", library, "--json").out)
    assert lines == json.loads((library / "index.json").read_text())["instances"]
    assert cli("library", "list", library, "--state", "infeasible", "--json").out == "[]\n"
    assert cli("library", "generate", library, "--id", "no such").code == Exit.USAGE


def test_the_command_of_an_origin_makes_the_file_again(cli: Cli, tmp_path: Path) -> None:
    library = tmp_path / "lib"
    cli("library", "generate", library, "--id", "*-trivial-0[0-3]", "--work-limit", "0")
    commands = 0
    for path in sorted(library.glob("*/instance.json")):
        command = json.loads(path.read_text())["origin"]["command"].split()
        if command[1] == "generate":
            commands += 1
            assert cli(*command[1:]).out == (path.parent / "problem.json").read_text()
    assert commands > 20


def test_a_lie_is_an_exit_code(cli: Cli, tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    falsify(folder, "p0", lambda document: document["best"][0].update(value=1, bound=1))
    ran = cli("library", "verify", folder.path)
    assert ran.code == Exit.INVALID
    assert "p0: its best is not what plan and proof show" in ran.out
    assert ran.out.splitlines()[-1] == "2 instances checked, 3 faults"


def test_what_was_not_reached_in_time_is_said(cli: Cli, tmp_path: Path) -> None:
    folder = made(tmp_path / "lib")
    for words in (
        ("verify", folder.path),
        ("fetch", tmp_path / "other", folder.path),
        ("generate", tmp_path / "new"),
        ("diff", tmp_path / "other", folder.path),
    ):
        ran = cli("library", *words, "--time-limit", "0")
        assert ran.code == Exit.INVALID, words
        assert "time is up" in ran.err


def test_libraries_are_compared_and_brought_together(cli: Cli, tmp_path: Path) -> None:
    folder, other = made(tmp_path / "lib"), tmp_path / "other"
    assert cli("library", "fetch", other, folder.path, "--id", "p0").out == (
        "p0: new\n1 new, 0 better, 0 kept, 0 refused\n"
    )
    assert cli("library", "diff", folder.path, other).out == "p1: only here\n"
    assert cli("library", "push", folder.path, other).out == "p1: new\n1 new, 0 better, 1 kept, 0 refused\n"
    assert tree(folder.path) == tree(other)
    falsify(folder, "p0", lambda document: document["history"][0].update(by=""))
    ran = cli("library", "push", folder.path, tmp_path / "third")
    assert ran.code == Exit.INVALID
    assert "p0: refused" in ran.out


# A server of plain files.


class _Files(BaseHTTPRequestHandler):
    files: dict[str, bytes]
    answer: int | None = None

    def do_GET(self) -> None:
        data = self.files.get(self.path.removeprefix("/"))
        self.send_response(self.answer or (404 if data is None else 200))
        if self.answer == 302:
            self.send_header("Location", "file:///etc/passwd")
        self.end_headers()
        self.wfile.write(data or b"")

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.files[self.path.removeprefix("/")] = data
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Tests print nothing."""


@contextmanager
def served(files: dict[str, bytes], answer: int | None = None) -> Iterator[str]:
    """A server with these files; its URL."""
    handler = type("Handler", (_Files,), {"files": files, "answer": answer})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_library_goes_to_a_server_and_comes_back(cli: Cli, tmp_path: Path) -> None:
    folder, other = made(tmp_path / "lib"), tmp_path / "other"
    with served({}) as url:
        assert cli("library", "push", folder.path, url).out == "p0: only here\np1: only here\n"
        assert cli("library", "push", folder.path, url).out == ""
        assert cli("library", "diff", folder.path, url).out == ""
        ran = cli("library", "fetch", other, url, "--time-limit", "60")
        assert (ran.code, ran.out.splitlines()[-1]) == (Exit.DONE, "2 new, 0 better, 0 kept, 0 refused")
    assert tree(folder.path) == tree(other)


def test_a_server_is_not_trusted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tree(made(tmp_path / "lib").path)
    index = json.loads(files["index.json"])

    def refused(changed: dict[str, bytes], says: str, answer: int | None = None) -> None:
        with served({**files, **changed}, answer) as url:
            ran = cli("library", "fetch", tmp_path / "other", url)
        assert ran.code in (Exit.USAGE, Exit.INVALID)
        assert says in ran.out + ran.err

    refused({"p0/plan.json": b"{}"}, "p0: refused: p0/plan.json")
    refused({"p0/plan.json": files["p0/plan.json"] * 2}, "the most that is read")
    refused({"p0/instance.json": b"{}"}, "not those that index.json names")
    lines = [{**index["instances"][0], "id": "../../p0"}]
    refused({"index.json": json.dumps({"version": 1, "instances": lines}).encode()}, "instances[0].id")
    lines = index["instances"] * 2
    refused({"index.json": json.dumps({"version": 1, "instances": lines}).encode()}, "twice")
    refused({}, "answers 302", 302)
    refused({}, "answers 500", 500)
    monkeypatch.setattr(remote_library, "LARGEST_INDEX", 100)
    refused({}, "more than 100 bytes")
    for url in ("http://127.0.0.1:1/lib", "http://[::1", "http://", "http://a b/", "file:///etc"):
        gone = cli("library", "fetch", tmp_path / "third", url, "--time-limit", "5")
        assert gone.code == Exit.USAGE, url
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize(
    ("head", "again"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
    ],
)
def test_a_server_whose_answer_has_no_end_is_left(
    cli: Cli, tmp_path: Path, head: bytes, again: bytes
) -> None:
    is_over = threading.Event()

    class _Endless(BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(_MOST)
            piece = head + again
            with suppress(OSError):
                while not is_over.wait(0.05):
                    self.request.sendall(piece)
                    piece = again

    server = ThreadingTCPServer(("127.0.0.1", 0), _Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        ran = cli("library", "fetch", tmp_path / "other", url, "--time-limit", "0.5")
    finally:
        is_over.set()
        server.shutdown()
        server.server_close()
    assert ran.code == Exit.USAGE
    assert "longer than the time limit" in ran.err
    assert not (tmp_path / "other").exists()


def test_the_schemas_describe_what_is_written(cli: Cli, tmp_path: Path) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    folder = made(tmp_path / "lib", 1)
    for kind, path in (
        ("library-instance", folder.path / "p0" / "instance.json"),
        ("library-index", folder.path / "index.json"),
    ):
        schema = json.loads(cli("schema", kind).out)
        document = json.loads(path.read_text())
        validator(schema).validate(document)
        assert not validator(schema).is_valid({**document, "other": 1})


def test_models_are_added_as_graphs(cli: Cli, tmp_path: Path) -> None:
    graph = tmp_path / "net.json"
    cli("generate", "graph", "--n", "12", "--output", graph)
    library = tmp_path / "lib"
    assert cli("library", "add", library, graph, "--licence", "MIT").out == "net: open\n"
    cli("solve", graph, "--output", tmp_path / "plan.json")
    ran = cli("library", "submit", library, tmp_path / "plan.json", "--id", "net")
    assert ran.out == "net: better: value\n"
    assert cli("library", "verify", library).code == Exit.DONE
    moved = Problem(buffers=KNOT.buffers, objective=("moves",))
    (tmp_path / "moves.json").write_bytes(formats.write_problem(moved))
    ran = cli("library", "add", library, tmp_path / "moves.json", "--licence", "MIT")
    assert (ran.code, "moves" in ran.err) == (Exit.USAGE, True)


def test_a_site_is_made_and_what_is_wrong_is_said(cli: Cli, tmp_path: Path) -> None:
    folder, out = made(tmp_path / "lib", 2), tmp_path / "out"
    ran = cli("library", "site", folder.path, out, "--title", "Ours", "--url", "https://example.com/m")
    assert (ran.code, ran.err) == (Exit.DONE, "")
    assert ran.out == f"{out / 'index.html'}: 2 instances, the pages of 2 are new\n"
    assert "<title>Ours</title>" in (out / "index.html").read_text()
    assert "https://example.com/m/instances/p0.html" in (out / "feed.atom").read_text()
    scripts = {f"assets/{path.name}" for path in (out / "assets").iterdir()}
    assert any(
        script.removeprefix("assets/") in (out / "plans" / "p0.html").read_text() for script in scripts
    )
    falsify(folder, "p1", lambda document: document.update(digest="0" * 64))
    ran = cli("library", "site", folder.path, out, "--time-limit", "60")
    assert (ran.code, ran.out) == (
        Exit.INVALID,
        f"{out / 'index.html'}: 1 instances, the pages of 1 are new\n",
    )
    assert "p1 is not shown: its digest is another" in ran.err


def test_a_site_that_does_not_get_done_in_time_says_so(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = made(tmp_path / "lib", 1), tmp_path / "out"

    def too_slow(_folder: object, _out: object, _parts: object, cancel: threading.Event) -> Built:
        assert cancel.wait(60)
        return Built()

    monkeypatch.setattr(site, "build", too_slow)
    ran = cli("library", "site", folder.path, out, "--time-limit", "0.01")
    assert (ran.code, ran.out) == (Exit.INVALID, "")
    assert "time is up; the same command goes on from here" in ran.err


@pytest.mark.parametrize(
    "url", ["example.com", "javascript:alert(1)", 'https://a"><b>', "ftp://a", "https://a b"]
)
def test_an_address_of_a_site_is_one_of_the_web(cli: Cli, tmp_path: Path, url: str) -> None:
    folder, out = made(tmp_path / "lib", 1), tmp_path / "out"
    ran = cli("library", "site", folder.path, out, "--url", url)
    assert ran.code == Exit.USAGE
    assert "--url" in ran.err
    assert not out.exists()


def test_a_site_shows_the_results_of_a_bench(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="figures need matplotlib (extra: bench)")
    folder, out, results = made(tmp_path / "lib", 1), tmp_path / "out", tmp_path / "results"
    ran = cli(
        "bench", "run", "generate:random,n=6,seed=1..2", "--solvers", "greedy,exact", "--output", results
    )
    assert ran.code == Exit.DONE
    assert cli("library", "site", folder.path, out, "--bench", results).code == Exit.DONE
    before = tree(out)
    page = before["solvers.html"].decode()
    assert "Performance profiles" in page
    assert "<script" not in page
    assert 'href="solvers.html"' in before["index.html"].decode()
    assert 'href="../solvers.html"' in before["instances/p0.html"].decode()
    assert cli("library", "site", folder.path, out, "--bench", results).code == Exit.DONE
    assert tree(out) == before
    assert cli("library", "site", folder.path, out).code == Exit.DONE
    assert "solvers.html" not in tree(out)
