"""Small random graphs that mix all features, and what they need in an order, from docs/graph.md alone."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from memstow.planner.model.problem import Problem

Document = dict[str, Any]


def random_graph(seed: int, most: int = 6) -> Document:
    """A document of at most this many operators; its listed order can run."""
    return _Maker(Random(seed), most).document()


class _Maker:
    """Makes one document."""

    def __init__(self, random: Random, most: int) -> None:
        self.random = random
        self.count = random.randint(1, most)
        self.tensors: list[Document] = []
        self.operators: list[Document] = []
        self.views: list[Document] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.data: list[str] = []
        self.in_groups: set[str] = set()

    def document(self) -> Document:
        for _ in range(self.random.randint(1, 2)):
            self.inputs.append(self.tensor())
            self.data.append(self.inputs[-1])
        others = [
            self.tensor(kind) for kind in ("state", "constant", "external") if self.random.random() < 0.4
        ]
        for _ in range(self.count):
            self.operator(others)
        made = [name for operator in self.operators for name in operator["outputs"]]
        self.outputs = [name for name in dict.fromkeys([*made, *self.inputs]) if self.random.random() < 0.2]
        ids = [operator["id"] for operator in self.operators]
        before = [
            [first, then]
            for i, first in enumerate(ids)
            for then in ids[i + 1 :]
            if self.random.random() < 0.05
        ]
        return {
            "version": 1,
            "tensors": self.tensors,
            "operators": self.operators,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "before": before,
            "views": self.views,
            "order": "free",
        }

    def tensor(self, kind: str = "data", size: int | None = None) -> str:
        name = f"t{len(self.tensors)}"
        size = self.random.choice((0, 1, 2, 3, 5, 8, 13)) if size is None else size
        self.tensors.append({"id": name, "size": size, "kind": kind})
        return name

    def size(self, name: str) -> int:
        return next(int(tensor["size"]) for tensor in self.tensors if tensor["id"] == name)

    def operator(self, others: Sequence[str]) -> None:
        random, name = self.random, f"o{len(self.operators)}"
        inputs = random.sample(self.data, min(len(self.data), random.randint(0, 3)))
        outputs = [self.tensor() for _ in range(random.choice((0, 1, 1, 1, 2)))]
        pairs = [[source, target] for source in inputs for target in outputs if random.random() < 0.5]
        if outputs and random.random() < 0.25:
            made, pairs = self.group(inputs, outputs[0]), []
            inputs = [*dict.fromkeys([*inputs, *made])]
        for other in others:
            if random.random() < 0.3:
                inputs.append(other)
            kind = next(tensor["kind"] for tensor in self.tensors if tensor["id"] == other)
            if kind == "state" and random.random() < 0.3:
                outputs.append(other)
        phases = random.randint(1, 3)
        temporaries: list[Document] = []
        for _ in range(random.choice((0, 0, 1, 2))):
            temporary: Document = {"id": f"{name}.{len(temporaries)}", "size": random.randint(0, 6)}
            if random.random() < 0.7:
                begin = random.randrange(phases)
                temporary["phases"] = [begin, random.randint(begin + 1, phases)]
            temporaries.append(temporary)
        self.operators.append(
            {
                "id": name,
                "inputs": inputs,
                "outputs": outputs,
                "temporaries": temporaries,
                "in_place": [pair for pair in pairs if not self.in_groups.intersection(pair)],
            }
        )
        self.data += [output for output in outputs if output not in others]

    def group(self, inputs: Sequence[str], output: str) -> list[str]:
        """Make the output the whole of parts that exist, or a slice of an input; what it must read."""
        made = {name for operator in self.operators for name in operator["outputs"]}
        paired = {name for operator in self.operators for pair in operator["in_place"] for name in pair}
        free = [name for name in self.data if name in made and name not in self.in_groups | paired]
        tensor = next(entry for entry in self.tensors if entry["id"] == output)
        if len(free) >= 2 and self.random.random() < 0.6:
            parts, at = self.random.sample(free, 2), 0
            for part in parts:
                self.views.append({"tensor": part, "of": output, "offset": at})
                at += self.size(part)
            tensor["size"] = at + self.random.randint(0, 2)
            self.in_groups |= {*parts, output}
            return parts
        sources = [name for name in inputs if name not in paired and name in self.data]
        if not sources:
            return []
        source = self.random.choice(sources)
        tensor["size"] = self.random.randint(0, self.size(source))
        offset = self.random.randint(0, self.size(source) - tensor["size"])
        self.views.append({"tensor": output, "of": source, "offset": offset})
        self.in_groups |= {source, output}
        return [source]


def orders(document: Document) -> Iterator[list[str]]:
    """All orders that the graph allows."""
    needs = _needs(document)

    def extended(done: list[str]) -> Iterator[list[str]]:
        if len(done) == len(needs):
            yield done
        for name, first in needs.items():
            if name not in done and first <= set(done):
                yield from extended([*done, name])

    yield from extended([])


def _needs(document: Document) -> dict[str, set[str]]:
    """By operator, those that must have run."""
    kind = {tensor["id"]: tensor["kind"] for tensor in document["tensors"]}
    maker = {
        name: operator["id"]
        for operator in document["operators"]
        for name in operator["outputs"]
        if kind[name] != "state"
    }
    needs: dict[str, set[str]] = {}
    for i, operator in enumerate(document["operators"]):
        needs[operator["id"]] = {maker[name] for name in operator["inputs"] if name in maker}
        for earlier in document["operators"][:i]:
            for state in (name for name in kind if kind[name] == "state"):
                both = [state in entry["inputs"] + entry["outputs"] for entry in (earlier, operator)]
                if all(both) and any(state in entry["outputs"] for entry in (earlier, operator)):
                    needs[operator["id"]].add(earlier["id"])
    for first, then in document["before"]:
        needs[then].add(first)
    return needs


def most_live(document: Document, order: Sequence[str]) -> int:
    """The most bytes that are live at one time when operators run in this order."""
    return max(needed(document, order), default=0)


def needed(document: Document, order: Sequence[str]) -> list[int]:
    """The live bytes before the first operator, then in each phase of each operator."""
    by_name = {operator["id"]: operator for operator in document["operators"]}
    size = {tensor["id"]: tensor["size"] for tensor in document["tensors"]}
    kind = {tensor["id"]: tensor["kind"] for tensor in document["tensors"]}
    always = sum(size[name] for name in size if kind[name] == "state")
    data = [name for name in size if kind[name] == "data"]
    result = [always + _union(document, set(document["inputs"]), size)]
    for at, name in enumerate(order):
        operator = by_name[name]
        gone = {output for other in order[:at] for output in by_name[other]["outputs"]} | set(
            document["inputs"]
        )
        later = {entry for other in order[at + 1 :] for entry in by_name[other]["inputs"]} | set(
            document["outputs"]
        )
        here = {entry for entry in (*operator["inputs"], *operator["outputs"]) if entry in data}
        live = here | {entry for entry in data if entry in gone and entry in later}
        ends = {entry for entry in here if entry not in later}
        saved = most_saved(
            [(i, o, min(size[i], size[o])) for i, o in _distinct(operator["in_place"]) if {i} <= ends]
        )
        count = max(
            [1, *(temporary["phases"][1] for temporary in operator["temporaries"] if "phases" in temporary)]
        )
        for phase in range(count):
            extra = sum(
                temporary["size"]
                for temporary in operator["temporaries"]
                if temporary.get("phases", [0, count])[0] <= phase < temporary.get("phases", [0, count])[1]
            )
            result.append(always + _union(document, live, size) + extra - saved)
    return result


def _distinct(pairs: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((first, second) for first, second in pairs))


def _union(document: Document, live: set[str], size: dict[str, int]) -> int:
    """The bytes of these tensors, those that views share counted once."""
    place = {view["tensor"]: (view["of"], view["offset"]) for view in document["views"]}
    covered: set[tuple[str, int]] = set()
    for name in live:
        root, offset = name, 0
        while root in place:
            root, more = place[root]
            offset += more
        covered |= {(root, offset + byte) for byte in range(size[name])}
    return len(covered)


def most_saved(pairs: list[tuple[str, str, int]]) -> int:
    """The most that pairs save, each input and each output in one of them."""
    if not pairs:
        return 0
    (source, target, saves), rest = pairs[0], pairs[1:]
    apart = [pair for pair in rest if pair[0] != source and pair[1] != target]
    return max(saves + most_saved(apart), most_saved(rest))


def live_bytes_of(problem: Problem, moments: int) -> list[int]:
    """The bytes live at each time from 0, without conflicts; views and pairs in place counted."""
    place = {tie.buffer: (tie.base, tie.offset) for tie in problem.relative}
    result = []
    for time in range(moments):
        live = {
            b.id: b.size
            for b in problem.buffers
            if b.lifetime == "always"
            or (isinstance(b.lifetime, tuple) and b.lifetime[0] <= time < b.lifetime[1])
        }
        covered: set[tuple[str, int]] = set()
        for name, size in live.items():
            root, offset = name, 0
            while root in place:
                root, more = place[root]
                offset += more
            covered |= {(root, offset + byte) for byte in range(size)}
        pairs = [
            (pair.input, pair.output, min(live[pair.input], live[pair.output]))
            for pair in problem.in_place
            if pair.input in live and pair.output in live
        ]
        result.append(len(covered) - most_saved(pairs))
    return result
