"""Write the graph of one step of a language model: `python3 make_graph.py > decode.json`.

A step reads `t` new tokens of each of `b` sequences, of which `c` tokens each are in the cache already. A
prompt is a step of many tokens and an empty cache, and then each new token is a step of one.
"""

import argparse
import json

WIDTH = 512
HEADS = 8
WORDS = 32_000

Json = dict[str, object]


class Model:
    """The tensors and the operators so far."""

    def __init__(self) -> None:
        self.tensors: list[Json] = []
        self.operators: list[Json] = []

    def tensor(self, name: str, *shape: int | str, kind: str = "data", element: str = "float16") -> str:
        """Add a tensor and return its name."""
        aligned = {} if kind == "external" else {"alignment": 64}
        self.tensors.append({"id": name, "shape": list(shape), "type": element, "kind": kind, **aligned})
        return name

    def run(
        self, name: str, kind: str, inputs: list[str], output: str, *temporaries: Json, **more: object
    ) -> str:
        """Add an operator and return what it makes."""
        made: Json = {"id": name, "type": kind, "inputs": inputs, "outputs": [output], **more}
        self.operators.append(made | ({"temporaries": list(temporaries)} if temporaries else {}))
        return output

    def block(self, number: int, x: str) -> str:
        """One block: attention over the cache and the new tokens, then two layers."""
        p = f"{number}."
        rows = ("b", "t")
        norm = self.run(p + "norm1", "norm", [x], self.tensor(p + "normed", *rows, WIDTH))
        heads = self.run(p + "qkv", "matmul", [norm], self.tensor(p + "heads", *rows, 3 * WIDTH))
        both = []
        for what in ("keys", "values"):
            # The cache lies elsewhere; what attention reads is the cache and the new tokens in one piece.
            cache = self.tensor(p + what + "_cache", "b", "c", WIDTH, kind="external")
            whole = self.tensor(p + what, "b", "c + t", WIDTH)
            both.append(self.run(p + "gather_" + what, "concat", [cache, heads], whole))
        keys, values = both
        scores = self.tensor(p + "scores", "b", HEADS, "t", "c + t", element="float32")
        self.run(p + "scores", "matmul", [heads, keys], scores)
        shares = self.tensor(p + "shares", "b", HEADS, "t", "c + t", element="float32")
        sums: Json = {"id": p + "sums", "size": f"align({4 * HEADS}*b*t, 64)", "alignment": 64}
        self.run(p + "softmax", "softmax", [scores], shares, sums, in_place=[[scores, shares]])
        mixed = self.run(p + "mix", "matmul", [shares, values], self.tensor(p + "mixed", *rows, WIDTH))
        out = self.run(p + "project", "matmul", [mixed], self.tensor(p + "projected", *rows, WIDTH))
        y = self.tensor(p + "attended", *rows, WIDTH)
        self.run(p + "add1", "add", [out, x], y, in_place=[[out, y]])
        norm = self.run(p + "norm2", "norm", [y], self.tensor(p + "normed2", *rows, WIDTH))
        wide = self.run(p + "up", "matmul", [norm], self.tensor(p + "wide", *rows, 4 * WIDTH))
        bent = self.tensor(p + "bent", *rows, 4 * WIDTH)
        self.run(p + "gelu", "gelu", [wide], bent, in_place=[[wide, bent]])
        down = self.run(p + "down", "matmul", [bent], self.tensor(p + "narrow", *rows, WIDTH))
        z = self.tensor(p + "block", *rows, WIDTH)
        return self.run(p + "add2", "add", [down, y], z, in_place=[[down, z]])


def graph(blocks: int) -> Json:
    """The whole step."""
    model = Model()
    tokens = model.tensor("tokens", "b", "t", element="int32")
    x = model.run("embed", "gather", [tokens], model.tensor("embedded", "b", "t", WIDTH))
    for number in range(blocks):
        x = model.block(number, x)
    # Only the last token of each sequence says what comes next.
    last = model.run("last", "slice", [x], model.tensor("last_rows", "b", WIDTH))
    logits = model.run("words", "matmul", [last], model.tensor("logits", "b", WORDS, element="float32"))
    caches = [str(entry["id"]) for entry in model.tensors if entry["kind"] == "external"]
    return {
        "version": 1,
        "name": f"decode of {blocks} blocks",
        "symbols": [
            {"id": "b", "min": 1, "max": 8},
            {"id": "t", "min": 1, "max": 512},
            {"id": "c", "min": 0, "max": 4096},
        ],
        # One token with a short and a long cache, a batch of such, a prompt, and a part of a long prompt.
        "points": [
            {"at": {"b": 1, "t": 1, "c": 256}},
            {"at": {"b": 1, "t": 1, "c": 4095}},
            {"at": {"b": 8, "t": 1, "c": 1023}},
            {"at": {"b": 1, "t": 512, "c": 0}},
            {"at": {"b": 2, "t": 128, "c": 1024}},
        ],
        "tensors": model.tensors,
        "operators": model.operators,
        "inputs": [tokens, *caches],
        "outputs": [logits],
    }


def main() -> None:
    """Print the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=4, help="how many blocks the model has (default: 4)")
    print(json.dumps(graph(parser.parse_args().blocks), indent=1))


if __name__ == "__main__":
    main()
