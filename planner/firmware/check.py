"""The program that checks itself: inputs, and what the model's own runtime makes of them.

Inputs are made of a number by a rule of one line, in C as here, so that they take no room. Only outputs are
kept. Where the runtime is not installed, or cannot run the model, there is no check, and why is said.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.exports.c_text import array, filled, heading
from memstow.planner.firmware.program import Port
from memstow.planner.model.errors import InputError

RUNS: Final = 2
"""One run after the other, so that variables are checked, too."""
_MASK: Final = (1 << 32) - 1


Runs = Sequence[Sequence[bytes]]
"""By run, the bytes of each input or output as they lie in the arena."""


@dataclass(frozen=True, slots=True)
class Referee:
    """Who says what is right."""

    name: str
    run: Callable[[Runs], Runs]
    """The outputs of some inputs; an InputError where it cannot run the model."""


def tflm_referee(model: bytes) -> Referee:
    """The runtime of a TensorFlow Lite model."""
    from memstow.planner.tflm.measure import run_model

    return Referee("TensorFlow Lite Micro", lambda runs: run_model(model, runs))


def check_source(
    referee: Referee,
    name: str,
    digest: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    arenas: int,
) -> tuple[bytes | None, str | None]:
    """The source of the check of a program with this number of arenas; or None, and why there is none."""
    runs, state = [], 1
    for _ in range(RUNS):
        run = []
        for port in inputs:
            data, state = _elements(port, state)
            run.append(data)
        runs.append(run)
    try:
        expected = referee.run(runs)
    except InputError as error:
        # What follows is for those who plan for that runtime.
        return None, error.issues[0].message.partition(";")[0]
    return _text(referee.name, name, digest, inputs, outputs, arenas, expected).encode(), None


def _elements(port: Port, state: int) -> tuple[bytes, int]:
    """The bytes of an input, and the number from which the next is made."""
    kind = {"int8": "b", "uint8": "B", "bool": "B", "int16": "h", "int32": "i", "float32": "f", "int64": "q"}
    count = port.size // struct.calcsize(f"<{kind[port.type]}")
    values: list[int | float] = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & _MASK
        byte = state >> 24
        match port.type:
            case "float32":
                values.append((byte - 128) / 64)
            case "bool":
                values.append(byte & 1)
            case "uint8":
                values.append(byte)
            case "int16":
                values.append((byte - 128) * 256)
            case _:
                values.append(byte - 128)
    return struct.pack(f"<{count}{kind[port.type]}", *values), state


_RULES: Final = {
    "float32": ("float", "((float)byte - 128.0f) / 64.0f"),
    "bool": ("uint8_t", "(uint8_t)(byte & 1u)"),
    "uint8": ("uint8_t", "(uint8_t)byte"),
    "int8": ("int8_t", "(int8_t)((int32_t)byte - 128)"),
    "int16": ("int16_t", "(int16_t)(((int32_t)byte - 128) * 256)"),
    "int32": ("int32_t", "(int32_t)byte - 128"),
    "int64": ("int64_t", "(int64_t)byte - 128"),
}


def _text(
    referee: str,
    name: str,
    digest: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    arenas: int,
    expected: Sequence[Sequence[bytes]],
) -> str:
    macro = name.upper()
    lines = [
        heading("The check of the program", name, digest),
        f'#include "{name}.h"\n',
        "#include <stdint.h>\n#include <string.h>\n",
        *_buffers(macro, inputs, outputs, arenas),
        f"/* What {referee} makes of the inputs. */\n",
    ]
    for run, made in enumerate(expected):
        for at, (port, data) in enumerate(zip(outputs, made, strict=True)):
            kind = _RULES[port.type][0]
            lines.append(array(f"const {kind} expected_{run}_{at}[]", _cells(port, data)))
    lines.append(filled(_NEXT, macro, name))
    lines.append(f"int {name}_check(void) {{")
    lines.append("  uint32_t state = 1u;")
    for at in range(arenas):
        lines += [
            f"#ifdef {macro}_ARENA_{at}_BY_CALLER",
            f"  if ({name}_set_arena({at}, arena_{at}) != 0) {{\n    return 1;\n  }}",
            "#endif",
        ]
    lines.append(f"  {name}_reset();")
    arguments = []
    for word, kind, ports in (("input", "const void *const", inputs), ("output", "void *const", outputs)):
        is_needed = any(port.is_external for port in ports)
        arguments.append(f"{word}s" if is_needed else "NULL")
        if is_needed:
            cells = (f"{word}_{at}" if port.is_external else "NULL" for at, port in enumerate(ports))
            lines.append(f"  {kind} {word}s[] = {{{', '.join(cells)}}};")
    for run in range(len(expected)):
        for at, port in enumerate(inputs):
            kind, rule = _RULES[port.type]
            base = f"input_{at}" if port.is_external else f"(uint8_t *){name}_input({at})"
            place = f"{base} + at * sizeof({kind})"
            lines += [
                f"  for (size_t at = 0; at < {macro}_INPUT_{at}_BYTES / sizeof({kind}); ++at) {{",
                "    const uint32_t byte = next(&state);",
                f"    const {kind} element = {rule};",
                f"    memcpy({place}, &element, sizeof(element));",
                "  }",
            ]
        lines.append(f"  if ({name}_run({arguments[0]}, {arguments[1]}) != 0) {{\n    return 1;\n  }}")
        for at, port in enumerate(outputs):
            place, count = f"{name}_output({at})", f"{macro}_OUTPUT_{at}_BYTES"
            place = f"output_{at}" if port.is_external else place
            if port.type == "float32" or port.slack:
                kind = _RULES[port.type][0]
                have, want = (
                    ("element", f"expected_{run}_{at}[at]")
                    if kind == "float"
                    else ("(float)element", f"(float)expected_{run}_{at}[at]")
                )
                lines += [
                    f"  for (size_t at = 0; at < {count} / sizeof({kind}); ++at) {{",
                    f"    {kind} element = 0;",
                    f"    memcpy(&element, (const uint8_t *){place} + at * sizeof({kind}), sizeof({kind}));",
                    f"    if (!is_close({have}, {want}, {port.slack:.9g})) {{",
                    f"      return {2 + run * len(outputs) + at};",
                    "    }",
                    "  }",
                ]
            else:
                lines += [
                    f"  if (memcmp({place}, expected_{run}_{at}, {count}) != 0) {{",
                    f"    return {2 + run * len(outputs) + at};",
                    "  }",
                ]
    lines += ["  return 0;", "}\n", filled(_MAIN, macro, name)]
    text = "\n".join(lines)
    if "is_close(" in text:
        text = text.replace("static uint32_t next(", f"{_CLOSE}\nstatic uint32_t next(", 1)
    return text


def _buffers(macro: str, inputs: Sequence[Port], outputs: Sequence[Port], arenas: int) -> Iterator[str]:
    """What the caller has to give: inputs and outputs that lie with the caller, and arenas."""
    for word, ports in (("input", inputs), ("output", outputs)):
        for at, port in enumerate(ports):
            if port.is_external:
                size = f"{macro}_{word.upper()}_{at}_BYTES"
                yield f"static _Alignas(8) uint8_t {word}_{at}[{size} + 1u];\n"
    for at in range(arenas):
        yield f"#ifdef {macro}_ARENA_{at}_BY_CALLER"
        arena = f"{macro}_ARENA_{at}"
        yield f"static _Alignas({arena}_ALIGNMENT) uint8_t arena_{at}[{arena}_BYTES];\n#endif\n"


def _cells(port: Port, data: bytes) -> list[str]:
    letter = {
        "int8": "b",
        "uint8": "B",
        "bool": "B",
        "int16": "h",
        "int32": "i",
        "float32": "f",
        "int64": "q",
    }
    kind = letter[port.type]
    values = struct.unpack(f"<{len(data) // struct.calcsize(f'<{kind}')}{kind}", data)
    if kind == "f":
        return [
            f"{value:.9g}f" if "." in f"{value:.9g}" or "e" in f"{value:.9g}" else f"{value:.9g}.0f"
            for value in values
        ]
    return [f"INT64_C({value})" if kind == "q" else str(value) for value in values]


_NEXT: Final = """\
static uint32_t next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 24;
}

/* 0: each output is as it should be; else a number that says which is not, counted from 2. */
int @n_check(void);
"""

_CLOSE: Final = """\
/* Sums in another order differ in their last bits, and so by a step of the integers that they become. */
static int is_close(float value, float other, double step) {
  const float difference = value < other ? other - value : value - other;
  const float size = other < 0.0f ? -other : other;
  return (double)difference <= step + 1e-5 * (double)(size > 1.0f ? size : 1.0f);
}
"""

_MAIN: Final = """\
#ifndef @N_CHECK_WITHOUT_MAIN
int main(void) { return @n_check(); }
#endif
"""

CMAKE: Final = """\
# cmake -S . -B build && cmake --build build && ctest --test-dir build
cmake_minimum_required(VERSION 3.20)
project(@n LANGUAGES C)
set(CMAKE_C_STANDARD 11)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(@n STATIC @n.c)
target_include_directories(@n PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(UNIX)
  target_link_libraries(@n PUBLIC m)
endif()
"""

CMAKE_CMSIS_NN: Final = """
# CMSIS-NN: a target of that name, or else with its folder, as -DCMSIS_NN=DIR.
if(NOT TARGET cmsis-nn)
  set(CMSIS_NN "" CACHE PATH "The folder of CMSIS-NN")
  if(NOT EXISTS "${CMSIS_NN}/CMakeLists.txt")
    message(FATAL_ERROR "This program calls CMSIS-NN: say where that is, with -DCMSIS_NN=DIR")
  endif()
  enable_language(CXX)
  add_subdirectory("${CMSIS_NN}" cmsis-nn EXCLUDE_FROM_ALL)
endif()
target_link_libraries(@n PRIVATE cmsis-nn)
"""

CMAKE_CHECK: Final = """
enable_testing()
add_executable(@n_check @n_check.c)
target_link_libraries(@n_check PRIVATE @n)
add_test(NAME @n_check COMMAND @n_check)
"""
