"""docs/cli.md and README.md say what is so: their examples run, and every command and option is there."""

import argparse
import re
import shlex
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest

from memstow.api.cli.parser import COMMANDS, build_parser
from memstow.api.cli.terminal import Exit
from memstow.api.http.samples import JOB_ID
from tests.api.asking import has_plan, submit
from tests.api.cli.conftest import ROOT, Cli
from tests.api.http.conftest import hard
from tests.api.serving import Server
from tests.campaign import gate_first
from tests.person_model import person_model
from tests.planner.bench.farm import Farm
from tests.planner.bench.requests import SIDE_BY_SIDE
from tests.planner.tflm.campaign import scratch_of
from tests.planner.tflm.device import device_log
from tests.planner.tflm.random_models import random_model
from tests.torch_recordings import pickled, sample, snapshot_of
from tests.waiting import wait_for

MODEL = random_model(15)

PAGE = (ROOT / "docs" / "cli.md").read_text()
KEY_ID = "3f2a9c41d07b"
GENERATED = {"network": "net.json", "graph": "graph.json", "symbolic": "symbolic.json"}
"""What the page takes as written, by the kind of `memstow generate`."""
README = (ROOT / "README.md").read_text()


def _sections() -> dict[str, str]:
    parts = re.split(r"^## memstow ([\w-]+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _examples(text: str) -> list[list[str]]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ memstow ")]
    return [shlex.split(line)[1:] for line in lines]


def _written_in_the_readme() -> dict[str, str]:
    return dict(re.findall(r"cat > (\S+) <<'END'\n(.*?)^END$", README, flags=re.MULTILINE | re.DOTALL))


def _options(parser: argparse.ArgumentParser) -> set[str]:
    names = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                names |= _options(child)
        else:
            names |= {option for option in action.option_strings if option.startswith("--")}
    return names - {"--help"}


def _parser_of(command: str) -> argparse.ArgumentParser:
    for action in build_parser([command])._actions:
        if isinstance(action, argparse._SubParsersAction):
            result: argparse.ArgumentParser = action.choices[command]
            return result
    raise AssertionError(command)


def test_every_command_has_a_section_and_no_other_thing_has() -> None:
    assert tuple(_sections()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented_and_none_is_made_up(command: str) -> None:
    section = _sections()[command]
    listed = "".join(re.findall(r"^<!-- begin.*?^<!-- end", section, flags=re.MULTILINE | re.DOTALL))
    assert set(re.findall(r"--[a-z0-9-]+", listed)) >= _options(_parser_of(command))
    assert set(re.findall(r"`(--[a-z0-9-]+)", section)) - {"--version"} <= _options(_parser_of(command)) | {
        "--output"
    }


# Those of the bench run for many seconds, on a cluster as well.
@pytest.mark.parametrize(
    "command", gate_first(sorted(COMMANDS, key=lambda command: command == "bench"), len(COMMANDS) - 1)
)
def test_the_examples_run(
    cli: Cli,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: Server,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memstow.toml").write_text("max_queued = 100\n")
    (tmp_path / "mine.py").write_text(SIDE_BY_SIDE)
    (tmp_path / "first.json").write_text(_written_in_the_readme()["first.json"])
    _write_model(tmp_path / "model.onnx")
    (tmp_path / "model.tflite").write_bytes(MODEL)
    (tmp_path / "person.tflite").write_bytes(person_model())
    (tmp_path / "step.pickle").write_bytes(pickled(snapshot_of(sample())))
    (tmp_path / "device.log").write_bytes(device_log(MODEL, scratch_of(MODEL)))
    examples = _examples(_sections()[command])
    for kind, name in GENERATED.items():
        if any(name in example for example in examples):
            assert cli("generate", kind, "--n", "12", "--output", name).code == Exit.DONE
    ids: dict[str, str] = {}
    place: dict[str, str] = {}
    for example in examples:
        if "model.onnx" in example and not (tmp_path / "model.onnx").exists():
            continue
        if "--scheduler" in example:
            farm: Farm = request.getfixturevalue("farm")
            farm.add_worker()
            example = [farm.address if word.startswith("tcp:") else word for word in example]
        if "--server" in example:
            place = place or _started(cli, server)
            if "kick" in example:
                ids[JOB_ID] = _running_job(server, place["--key"])
            example = [place.get(before, word) for before, word in pairwise(["", *example])]
        ran = cli(*(ids.get(word, word) for word in example))
        assert (ran.code, ran.err) == (Exit.DONE, ""), example
        if example[:2] == ["keys", "create"]:
            ids.setdefault(KEY_ID, ran.out.split("_")[1])


def _write_model(path: Path) -> None:
    """A model with an open dimension, where the extra that reads it is installed."""
    if find_spec("onnx") is not None:
        from tests.onnx_models import convolutions

        path.write_bytes(convolutions())


def _started(cli: Cli, server: Server) -> dict[str, str]:
    """Starts the server; what the examples have after these options."""
    key = cli("keys", "create", "--name", "docs", "--role", "admin", "--data", server.data).out.strip()
    return {"--server": server.start().url, "--key": key}


def _running_job(server: Server, key: str) -> str:
    with server.client(headers={"authorization": f"Bearer {key}"}) as client:
        job = submit(client, hard(600, 95), time_limit=300.0)
        wait_for(lambda: has_plan(client, job), "the job to run")
    return job


def test_every_option_is_in_an_example() -> None:
    for command in COMMANDS:
        used = {word for example in _examples(_sections()[command]) for word in example}
        assert _options(_parser_of(command)) <= used, command


def test_the_first_plan_of_the_readme_can_be_made(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in _written_in_the_readme().items():
        (tmp_path / name).write_text(text)
    examples = _examples(README)
    assert examples
    for example in examples:
        ran = cli(*example)
        assert (ran.code, ran.err) == (Exit.DONE, ""), example


def test_the_exit_codes_are_documented() -> None:
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    assert documented == {code.value for code in Exit}
