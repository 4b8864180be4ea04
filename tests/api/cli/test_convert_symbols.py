"""`memstow convert --symbol`: what is asked wrongly is told by the option."""

from pathlib import Path

import pytest

from memstow.api.cli.terminal import Exit
from tests.api.cli.conftest import Cli
from tests.onnx_models import model, node, value


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    path = tmp_path / "relu.onnx"
    path.write_bytes(model([node("Relu", "x", "y")], [value("x", ["N", "M"])], [value("y", None)]))
    return path


def test_a_range_may_begin_at_0(cli: Cli, relu: Path) -> None:
    ran = cli("convert", relu, "-", "--output-format", "json", "--symbol", "N=0..8", "--dim", "M=2")
    assert ran.code == Exit.DONE
    assert '"8*N"' in ran.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--symbol", "N=1..8", "--dim", "M=2", "--at", "N=3"), "--at: --symbol leaves dimensions open"),
        (
            ("--symbol", "N=1..8"),
            "--dim M=1, or convert the model for a range of values: memstow convert --symbol M=",
        ),
        (("--symbol", "N=1..8:2", "--dim", "M=2"), '--symbol: the largest value of "N", 8, is not reached'),
    ],
)
def test_what_is_asked_wrongly_is_told_by_the_option(
    cli: Cli, relu: Path, options: tuple[str, ...], said: str
) -> None:
    ran = cli("convert", relu, "-", "--output-format", "json", *options)
    assert ran.code == Exit.USAGE
    assert said in ran.err


def test_values_of_symbols_are_not_for_models(cli: Cli, relu: Path) -> None:
    ran = cli("solve", relu, "--at", "N=3")
    assert ran.code == Exit.USAGE
    assert "convert it first: memstow convert MODEL PROBLEM --symbol" in ran.err
