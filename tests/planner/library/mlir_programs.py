"""Random functions of MLIR: loops, branches, views and calls, whose results tell if memory was kept apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

LENGTHS = (1, 3, 4, 8, 16, 21)

HELPERS = """
func.func private @add(%from: memref<?xi64>, %to: memref<?xi64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %three = arith.constant 3 : i64
  %length = memref.dim %to, %zero : memref<?xi64>
  %wrap = memref.dim %from, %zero : memref<?xi64>
  scf.for %i = %zero to %length step %one {
    %j = arith.remui %i, %wrap : index
    %a = memref.load %from[%j] : memref<?xi64>
    %b = memref.load %to[%i] : memref<?xi64>
    %c = arith.muli %a, %three : i64
    %d = arith.addi %b, %c : i64
    memref.store %d, %to[%i] : memref<?xi64>
  }
  return
}
func.func private @fill(%to: memref<?xi64>, %value: i64) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %length = memref.dim %to, %zero : memref<?xi64>
  scf.for %i = %zero to %length step %one {
    %n = arith.index_cast %i : index to i64
    %v = arith.addi %n, %value : i64
    memref.store %v, %to[%i] : memref<?xi64>
  }
  return
}
func.func private @same(%memory: memref<?xi64>) -> memref<?xi64> {
  return %memory : memref<?xi64>
}
func.func private @scratch(%to: memref<?xi64>) {
  %value = arith.constant 5 : i64
  %one = memref.alloc() : memref<7xi64>
  %two = memref.alloc() : memref<5xi64>
  %first = memref.cast %one : memref<7xi64> to memref<?xi64>
  %second = memref.cast %two : memref<5xi64> to memref<?xi64>
  func.call @fill(%first, %value) : (memref<?xi64>, i64) -> ()
  func.call @fill(%second, %value) : (memref<?xi64>, i64) -> ()
  func.call @add(%first, %second) : (memref<?xi64>, memref<?xi64>) -> ()
  func.call @add(%second, %to) : (memref<?xi64>, memref<?xi64>) -> ()
  memref.dealloc %one : memref<7xi64>
  memref.dealloc %two : memref<5xi64>
  return
}
"""


@dataclass
class _Scope:
    """Values that ops here may use: memory as memref<?xi64>, and who may free what."""

    memories: list[str]
    lines: list[str] = field(default_factory=list)


class _Writer:
    """`@name(%total: memref<?xi64>, %flag: i1, %count: index)`: it adds what it computes to `%total`."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def allocate(self, scope: _Scope) -> str:
        made, value = self.name(), self.name()
        length = self.rng.choice(LENGTHS)
        kind = self.rng.random()
        if kind < 0.2:
            size = self.name()
            scope.lines += [
                f"{size} = affine.min affine_map<(d0) -> (d0 + 1, {length})>(%count)",
                f"{made} = memref.alloc({size}) : memref<?xi64>",
            ]
        elif kind < 0.35:
            raw, flat, pairs = self.name(), made, f"memref<2x{length}xi64>"
            scope.lines += [
                f"{raw} = memref.alloc() {{alignment = {self.rng.choice((8, 32, 64))} : i64}} : {pairs}",
                f"{flat}s = memref.collapse_shape {raw} [[0, 1]] : {pairs} into memref<{2 * length}xi64>",
                f"{flat} = memref.cast {flat}s : memref<{2 * length}xi64> to memref<?xi64>",
            ]
        else:
            raw = self.name()
            scope.lines += [
                f"{raw} = memref.alloc() : memref<{length}xi64>",
                f"{made} = memref.cast {raw} : memref<{length}xi64> to memref<?xi64>",
            ]
        scope.lines += [
            f"{value} = arith.constant {self.rng.randint(-99, 99)} : i64",
            f"func.call @fill({made}, {value}) : (memref<?xi64>, i64) -> ()",
        ]
        scope.memories.append(made)
        return made

    def pick(self, scope: _Scope) -> str:
        return self.rng.choice(scope.memories) if scope.memories else self.allocate(scope)

    def add(self, scope: _Scope, to: str | None = None) -> None:
        scope.lines.append(
            f"func.call @add({self.pick(scope)}, {to or self.pick(scope)}) : "
            "(memref<?xi64>, memref<?xi64>) -> ()"
        )

    def alias(self, scope: _Scope) -> None:
        made, source = self.name(), self.pick(scope)
        kind, one = self.rng.randrange(3), "memref<1xi64, strided<[1]>>"
        if kind == 0:
            other = self.pick(scope)
            flag = self.flag(scope)
            scope.lines.append(f"{made} = arith.select {flag}, {source}, {other} : memref<?xi64>")
        elif kind == 1:
            scope.lines.append(f"{made} = func.call @same({source}) : (memref<?xi64>) -> memref<?xi64>")
        else:
            scope.lines += [
                f"{made}w = memref.subview {source}[0] [1] [1] : memref<?xi64> to {one}",
                f"{made} = memref.cast {made}w : {one} to memref<?xi64>",
            ]
        scope.memories.append(made)

    def flag(self, scope: _Scope) -> str:
        """A condition that memory decides, or the caller."""
        if self.rng.random() < 0.4:
            return "%flag"
        memory, value, result = self.pick(scope), self.name(), self.name()
        scope.lines += [
            f"{value} = memref.load {memory}[%zero] : memref<?xi64>",
            f"{result} = arith.cmpi sgt, {value}, %limit : i64",
        ]
        return result

    def inner(self, scope: _Scope, depth: int, extra: Sequence[str] = ()) -> _Scope:
        inside = _Scope([*scope.memories, *extra])
        self.statements(inside, depth + 1)
        return inside

    def forget(self, scope: _Scope) -> None:
        """Some memory is not used again in this scope: what an inner one did was the last of it."""
        scope.memories = [memory for memory in scope.memories if self.rng.random() < 0.5]

    def branch(self, scope: _Scope, depth: int) -> None:
        flag = self.flag(scope)
        sides = [self.inner(scope, depth) for _ in range(2)]
        self.forget(scope)
        gives = self.rng.random() < 0.6
        head = f"scf.if {flag} {{"
        if gives:
            made = self.name()
            head = f"{made} = scf.if {flag} -> memref<?xi64> {{"
            for side in sides:
                side.lines.append(f"scf.yield {self.pick(side)} : memref<?xi64>")
            scope.memories.append(made)
        scope.lines += [head, *sides[0].lines, "} else {", *sides[1].lines, "}"]

    def loop(self, scope: _Scope, depth: int) -> None:
        index = self.name()
        trips = self.rng.choice(("%zero", "%one", "%two", "%three", "%count"))
        kind = self.rng.random()
        if kind < 0.4:
            inside = self.inner(scope, depth)
            self.forget(scope)
            scope.lines += [f"scf.for {index} = %zero to {trips} step %one {{", *inside.lines, "}"]
            return
        carried, made = [self.name(), self.name()], self.name()
        start = [self.pick(scope), self.pick(scope)]
        inside = self.inner(scope, depth, carried)
        self.forget(scope)
        given = [self.pick(inside) if self.rng.random() < 0.5 else self.rng.choice(carried) for _ in carried]
        types = "memref<?xi64>, memref<?xi64>"
        if kind < 0.8:
            scope.lines += [
                f"{made}:2 = scf.for {index} = %zero to {trips} step %one "
                f"iter_args({carried[0]} = {start[0]}, {carried[1]} = {start[1]}) -> ({types}) {{",
                *inside.lines,
                f"scf.yield {', '.join(given)} : {types}",
                "}",
            ]
        else:
            # The same, as a loop whose end memory decides after a few rounds.
            before, after, flag, more = (self.name() for _ in range(4))
            scope.lines += [
                f"{made}:3 = scf.while ({before} = %zero, {carried[0]}b = {start[0]}, "
                f"{carried[1]}b = {start[1]}) : (index, {types}) -> (index, {types}) {{",
                f"{flag} = arith.cmpi ult, {before}, {trips} : index",
                f"scf.condition({flag}) {before}, {carried[0]}b, {carried[1]}b : index, {types}",
                "} do {",
                f"^bb0({after}: index, {carried[0]}: memref<?xi64>, {carried[1]}: memref<?xi64>):",
                *inside.lines,
                f"{more} = arith.addi {after}, %one : index",
                f"scf.yield {more}, {', '.join(given)} : index, {types}",
                "}",
            ]
            scope.memories += [f"{made}#1", f"{made}#2"]
            return
        scope.memories += [f"{made}#0", f"{made}#1"]

    def statements(self, scope: _Scope, depth: int) -> None:
        for _ in range(self.rng.randint(2, 7 if depth == 0 else 4)):
            kind = self.rng.random()
            if kind < 0.3:
                self.allocate(scope)
            elif kind < 0.45:
                self.add(scope)
            elif kind < 0.65:
                self.add(scope, "%total")
            elif kind < 0.75:
                self.alias(scope)
            elif kind < 0.8:
                scope.lines.append(f"func.call @scratch({self.pick(scope)}) : (memref<?xi64>) -> ()")
            elif depth < 3:
                (self.branch if self.rng.random() < 0.5 else self.loop)(scope, depth)

    def function(self, name: str) -> str:
        scope = _Scope([])
        self.statements(scope, 0)
        for memory in self.rng.sample(scope.memories, min(len(scope.memories), 3)):
            scope.lines.append(f"func.call @add({memory}, %total) : (memref<?xi64>, memref<?xi64>) -> ()")
        body = "\n  ".join(scope.lines)
        return f"""
func.func private @{name}(%total: memref<?xi64>, %flag: i1, %count: index) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %limit = arith.constant 17 : i64
  {body}
  return
}}
"""


def random_module(seed: int, count: int) -> str:
    """A module whose `@main` runs so many random functions several times, and returns what they add up to."""
    rng = Random(seed)
    functions = [_Writer(rng).function(f"f{number}") for number in range(count)]
    calls = []
    for number in range(count):
        for flag, size in (("%true", 0), ("%false", 2), ("%true", 5)):
            calls.append(
                f"  func.call @f{number}(%total, {flag}, %c{size}) : (memref<?xi64>, i1, index) -> ()\n"
            )
    return f"""
{HELPERS}
{"".join(functions)}
func.func @main() -> i64 {{
  %true = arith.constant true
  %false = arith.constant false
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %value = arith.constant 0 : i64
  %memory = memref.alloc() : memref<11xi64>
  %total = memref.cast %memory : memref<11xi64> to memref<?xi64>
  func.call @fill(%total, %value) : (memref<?xi64>, i64) -> ()
{"".join(calls)}
  %thirteen = arith.constant 13 : i64
  %one = arith.constant 1 : index
  %eleven = arith.constant 11 : index
  %sum = scf.for %i = %c0 to %eleven step %one iter_args(%s = %value) -> (i64) {{
    %x = memref.load %total[%i] : memref<?xi64>
    %y = arith.muli %s, %thirteen : i64
    %z = arith.addi %x, %y : i64
    scf.yield %z : i64
  }}
  memref.dealloc %memory : memref<11xi64>
  return %sum : i64
}}
"""
