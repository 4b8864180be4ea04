"""Makes networks, and runs them by their table of loops: `python -m striped --help`."""

import argparse
import sys
from pathlib import Path

import numpy as np

from striped import interpreter, layers, networks, table
from striped.network import Network, read


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m striped", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    make = commands.add_parser("make", help="write a network: net.json for memstow, and net.npz, its weights")
    make.add_argument("folder", type=Path)
    make.add_argument("--side", type=int, default=48, help="rows and columns of the image (default: 48)")
    make.add_argument("--random", type=int, metavar="SEED", help="a random network instead")
    make.set_defaults(run=_make)
    run = commands.add_parser("run", help="run it by a table of loops, and compare with layer by layer")
    run.add_argument("folder", type=Path)
    run.add_argument(
        "table", type=Path, help="the table, as `memstow view --output net.loops.json` writes it"
    )
    run.add_argument("--images", type=int, default=3, help="random images to try (default: 3)")
    run.set_defaults(run=_run)
    args = parser.parse_args()
    code: int = args.run(args)
    return code


def _make(args: argparse.Namespace) -> int:
    if args.random is None:
        net = networks.mobile_network(args.side)
    else:
        net = networks.random_network(args.random, 12)
    net.write(args.folder)
    print(
        f"{args.folder}: {len(net.operators)} operators, {len(net.inputs)} inputs, {len(net.outputs)} outputs"
    )
    return 0


def _run(args: argparse.Namespace) -> int:
    net, loops = read(args.folder), table.read_file(args.table)
    for seed in range(args.images):
        wrong = _wrong_outputs(net, loops, seed)
        if wrong:
            print(f"image {seed}: {', '.join(wrong)} differ from layer by layer", file=sys.stderr)
            return 1
    sizes = ", ".join(f"{pool['size']:,} bytes of {pool['id']}" for pool in loops["pools"])
    print(f"{args.images} images, {sizes}: every output is, bit by bit, that of layer by layer")
    return 0


def _wrong_outputs(net: Network, loops: table.Table, seed: int) -> list[str]:
    make = np.random.default_rng(seed)
    inputs = {name: make.integers(-128, 128, net.image(name)).astype(np.int8) for name in net.inputs}
    wanted = layers.run(net, inputs)
    result = interpreter.run(net, loops, inputs, seed)
    return [name for name in net.outputs if not np.array_equal(result[name], wanted[name])]


if __name__ == "__main__":
    sys.exit(main())
