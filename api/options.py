"""The options of operations, each described once: its name, what it does, its values and its default.

The command line (`api/cli/parser.py`), the parameters of queries (`api/http/requests.py`) and the lists of
`docs/cli.md` and `docs/service.md` (`tests/option_tables.py`) are made from these. Nothing slow is imported
here, since every command starts with this.

In a text, `{time_limit}` stands for another option, as the reader spells it: --time-limit or `time_limit`.
Two backquotes mark what is code on a page, and bare in the help of a terminal; one stays in both.
"""

from typing import Final

from memstow.planner.model import LONGEST_RUN

WRITABLE: Final = ("json", "csv", "structured")
"""Formats of problems and plans."""
READABLE: Final = (*WRITABLE, "executorch", "usmp")
"""Formats of problems that can be read and written."""
PROGRAMS: Final = "programs"
"""Several programs that take turns; as the format of a plan: one for each of them."""
PLANS: Final = (*READABLE, PROGRAMS)
"""Formats of plans."""
RECORDED: Final = ("torch-snapshot", "torch-trace", "stalloc")
"""Formats of what an allocator did."""
READ_ONLY: Final = ("xla", *RECORDED, PROGRAMS)
OF_GRAPHS: Final = ("graph", "tflite", "onnx", "pt2")
ORDERS: Final = ("given", "free", "lpmf", "dfs")
GENERATORS: Final = ("stripes", "recompute", "spill", "channels")
"""What may be done to a graph for the points of a front."""
EXPORTS: Final = ("c-header", "c-source", "c-check", "ld", "rust")
"""Kinds of source code."""
STEP_TABLE: Final = "replay"
"""As the format of a plan: what the library that repeats a step reads."""
STALLOC: Final = "stalloc"
"""As the format of a plan: what the allocator of STAlloc reads; of a problem, its log."""
LOOPS: Final = ("loops", "loops-text", "loops-header", "loops-picture")
MODEL: Final = "tflite"
"""As the format of a plan: the model that was read, with the plan in it."""
MOST_POINTS: Final = 1_000
"""Of a front, and of the values of a sweep."""
POINTS_OF_TABLE: Final = 17
POINTS_OF_PICTURE: Final = 64
MOST_ORDERS: Final = 16
"""Of a plan in pieces."""
_MOST_DIGITS: Final = 19


# Plain classes: every command starts with them, and those of `record` take longer to define and to make.


class Flag:
    """On where it is named."""


class Switch:
    """On or off; at the command line `--NAME` and `--no-NAME`."""


class Text:
    """Any text, of so many characters."""

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self.least: Final = least
        self.most: Final = most


class Whole:
    """A whole number from `least` to `most`."""

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least: Final = least
        self.most: Final = most


class Real:
    """A number from `least` to `most`."""

    def __init__(self, least: float, most: float) -> None:
        self.least: Final = least
        self.most: Final = most


class Duration:
    """A time of at most so many seconds; at the command line with a unit, in a query in seconds."""

    def __init__(self, most: float) -> None:
        self.most: Final = most


class Amount:
    """At least so many bytes; at the command line with a unit, in a query in full."""

    def __init__(self, least: int = 0) -> None:
        self.least: Final = least


class Choice:
    """One of some words."""

    def __init__(self, values: tuple[str, ...]) -> None:
        self.values: Final = values


class Format(Choice):
    """One of these formats, or at the command line the name of a plug-in."""


class Pair:
    """A name and what it stands for, as in `NAME=N`: text, or with `is_number` a whole number.

    `what` says it in an error, in which `example` is what could be written.
    """

    def __init__(
        self, what: str, example: str, *, is_number: bool = True, may_be_negative: bool = False
    ) -> None:
        self.what: Final = what
        self.example: Final = example
        self.is_number: Final = is_number
        self.may_be_negative: Final = may_be_negative

    def read(self, text: str) -> tuple[str, str] | None:
        """The name and its value; None where the text is no such pair."""
        name, _, value = text.rpartition("=")
        digits = value.removeprefix("-") if self.may_be_negative else value
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
        return (name, value) if name and value and (is_number or not self.is_number) else None


Kind = Flag | Switch | Text | Whole | Real | Duration | Amount | Choice | Pair


class Option:
    """One option of an operation.

    `help` begins without a capital and ends without a full stop. `written`: how a value is written at the
    command line; `otherwise`: what holds without the option, where `default` does not say it; `query`: the
    words for a query, where they must be others than `help`; `more`: what the page adds; `silent`: a value
    that is no more than what holds for any document, so that it need not be refused.
    """

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002
        kind: Kind,
        metavar: str | None = None,
        *,
        default: object = None,
        otherwise: str = "",
        written: str = "",
        flag: str = "",
        short: str = "",
        is_repeated: bool = False,
        query: str = "",
        more: str = "",
        silent: str | None = None,
    ) -> None:
        self.name: Final = name
        self.help: Final = help
        self.kind: Final = kind
        self.metavar: Final = metavar
        self.default: Final = default
        self.otherwise: Final = otherwise
        self.written: Final = written
        self.flag: Final = flag
        self.short: Final = short
        self.is_repeated: Final = is_repeated
        self.query: Final = query
        self.more: Final = more
        self.silent: Final = silent

    @property
    def spelling(self) -> str:
        """How it is spelled at the command line."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def unset(self) -> str:
        """What holds without it, in words; empty if that need not be said."""
        if self.otherwise or self.default is None or isinstance(self.default, bool):
            return self.otherwise
        return f"{self.default:g}" if isinstance(self.default, int | float) else str(self.default)


class _Flags(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"--{name.replace('_', '-')}"


class _Names(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"`{name}`"


class _Code(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"`--{name.replace('_', '-')}`"


_FLAGS: Final = _Flags()
_NAMES: Final = _Names()
_CODE: Final = _Code()


def in_terminal(option: Option) -> str:
    """The text of `--help`."""
    repeated = "; may be repeated" if option.is_repeated else ""
    unset = f" (default: {option.unset})" if option.unset else ""
    text = f"{option.help}{option.written}{repeated}{unset}"
    text = text.format_map(_FLAGS).replace("``", "") if "{" in text or "``" in text else text
    # argparse formats it once more.
    return text.replace("%", "%%")


def in_query(option: Option) -> str:
    """The description of the parameter of a query."""
    text = option.query or option.help
    text = text if text.startswith("``") else text[0].upper() + text[1:]
    if "=" in (option.metavar or ""):
        text += f", written `{option.metavar}`"
    match option.kind:
        case Duration():
            text += ", in seconds"
        case Amount():
            text += ", in bytes"
    repeated = "; may be repeated" if option.is_repeated else ""
    unset = f"; default: {option.unset}" if option.unset else ""
    return f"{text}{repeated}{unset}.".replace("``", "`").format_map(_NAMES)


def in_page(option: Option) -> str:
    """The text of a row of docs/cli.md."""
    repeated = "; may be repeated" if option.is_repeated else ""
    unset = f" (default: {option.unset})" if option.unset else ""
    text = f"{option.help}{option.written}".replace("``", "`").format_map(_CODE)
    listed = ""
    if isinstance(option.kind, Choice) and any(f"`{value}`" not in text for value in option.kind.values):
        listed = f": {', '.join(f'`{value}`' for value in option.kind.values)}"
    return f"{text}{listed}{repeated}{unset.replace('``', '`').format_map(_CODE)}{option.more}"


# The problem, and what is changed of it.

_VALUE_OF_SYMBOL: Final = Pair("a symbol and its value", "s=128", may_be_negative=True)
FORMAT: Final = Option(
    "format",
    "format of the problem",
    Format((*READABLE, *READ_ONLY, *OF_GRAPHS)),
    otherwise="detected from its content",
    silent="json",
)
FORMAT_OF_BODY: Final = Option("format", "format of a body that is a problem alone", Text())
DEVICE: Final = Option(
    "device",
    "of a recording of PyTorch: the device, such as ``0`` or ``cpu``",
    Text(),
    "DEVICE",
    otherwise="the only one",
    more=" ([recordings.md](recordings.md))",
)
AT: Final = Option(
    "at",
    "of a problem with symbols: the problem at this value",
    _VALUE_OF_SYMBOL,
    "SYMBOL=N",
    is_repeated=True,
    more=" ([shapes.md](shapes.md))",
)
THEN: Final = Option(
    "then",
    "another program, which runs after the first, in the same memories",
    Text(),
    "FILE",
    is_repeated=True,
    more=" ([programs.md](programs.md))",
)
KEEP: Final = Option(
    "keep",
    "of several programs: the buffers with this id are one, which keeps its address and what is in it",
    Text(),
    "BUFFER",
    is_repeated=True,
)
TARGET: Final = Option(
    "target",
    "use the pools of this target: a file, or a name from `memstow targets`",
    Text(),
    "TARGET",
    query="the name of a target whose pools are used",
    more=" ([problem.md](problem.md#a-target))",
)
CAPACITY: Final = Option(
    "capacity",
    "capacity of the only pool",
    Amount(),
    "N",
    written=": ``65536``, ``64KiB``, ``0x10000``",
    more="; `64KB`, which may mean 64,000 or 65,536, is refused",
)
FIT_ONLY: Final = Option("fit_only", "accept any plan that fits, without minimising anything", Flag())
ORDER: Final = Option(
    "order",
    "of a graph or a model: run the operators as they are listed (``given``); in the best order that the "
    "graph allows (``free``); or, to compare, in that of a rule: least peak memory first (``lpmf``), depth "
    "first (``dfs``)",
    Choice(ORDERS),
    otherwise="as the graph says",
    more=" ([graph.md](graph.md#the-order))",
)
DIMENSION: Final = Pair("a dimension and its value", "batch=1")
DIM: Final = Option(
    "dim",
    "of an ONNX model: the value of a dimension that it leaves open, by its name or as ``INPUT:AXIS``",
    DIMENSION,
    "NAME=N",
    is_repeated=True,
)
IN_PLACE: Final = Option(
    "in_place", "of a model: let operators that work element by element overwrite an input", Flag()
)
MAY_OVERWRITE: Final = Option(
    "in_place",
    "of a graph or a model: whether operators may overwrite their inputs",
    Switch(),
    otherwise="those that a graph names, none of a model",
)
NO_IN_PLACE: Final = Option("no_in_place", "do not let operators overwrite their inputs", Flag())
CHANGES: Final = (TARGET, CAPACITY, FIT_ONLY)
SYMBOL: Final = Option(
    "symbol",
    "of an ONNX model: a dimension that is known only at run time, and its range",
    Text(),
    "NAME=MIN..MAX[:STEP]",
    is_repeated=True,
    more=". What is written is a [problem whose sizes are formulas](shapes.md#onnx-models), or a graph",
)

# The search. The limits of these values are those of `planner/model/options.py`.

SOLVER: Final = Option(
    "solver",
    "solver to use; `memstow solvers` lists them",
    Text(),
    "NAME",
    default="auto",
    more="; also a [plug-in](plugins.md)",
)
GAP: Final = Option(
    "gap",
    "stop once the plan is proven to be within this fraction of the optimum",
    Real(0, 1),
    "G",
    default=0.0,
    more="; with several terms this applies to each in turn",
)
DETERMINISTIC: Final = Option(
    "deterministic",
    "limit work instead of time: the same input always gives the same plan",
    Flag(),
    more=", with the same version, on any machine, whatever extras are installed; a back end is used only if "
    "`--solver` names it, and its version is in the plan",
)
SEED: Final = Option("seed", "random seed", Whole(0, (1 << 63) - 1), "N", default=0)
HINT: Final = Option(
    "hint",
    "plan to start from; placements that are no longer valid are ignored",
    Text(),
    "PLAN",
    more=". For a graph, a plan in stripes, or of any other schedule in which operators do not each run "
    "once, is refused",
)
TIME_LIMIT: Final = Option(
    "time_limit",
    "time limit for the whole call",
    Duration(LONGEST_RUN),
    "S",
    default=10.0,
    written=", in seconds or as ``50ms``, ``2m``",
    more="; [large problems](#large-problems) may take longer. Not with `--deterministic`, whose limit is "
    "work",
)
WORKERS: Final = Option(
    "workers",
    "number of threads",
    Whole(1, 256),
    "N",
    otherwise="the number of processors, at most 8",
    more="; `--deterministic` always uses one",
)
WORK_LIMIT: Final = Option(
    "work_limit",
    "limit on steps of work",
    Whole(0, 1 << 62),
    "N",
    otherwise="none; with {deterministic}, about 10 s worth",
)
MEMORY_LIMIT: Final = Option(
    "memory_limit",
    "memory that the process of a back end may use",
    Amount(1 << 20),
    "N",
    otherwise="half of the machine's",
    written=", such as ``2GiB``",
    more="; at least 1 MiB",
)
SEARCH: Final = (SOLVER, GAP, DETERMINISTIC, SEED, HINT)
LIMITS: Final = (TIME_LIMIT, WORKERS, WORK_LIMIT, MEMORY_LIMIT)
OF_RUN: Final = (TIME_LIMIT, SOLVER, GAP, DETERMINISTIC, WORK_LIMIT, WORKERS, MEMORY_LIMIT, SEED)
"""The options of a run that a query can have."""

SHAPES: Final = Option(
    "shapes",
    "``order``: which buffer is above which, at every value (default); ``pieces:K``: at most K orders; "
    "``fixed``: offsets for the largest sizes",
    Text(),
    "KIND",
    more=". K is 2 if it is left out ([shapes.md](shapes.md#plans))",
)
SHAPES_ALONE: Final = Option(
    "shapes",
    "of a problem with symbols: offsets for every value (``fixed``), an order from which they follow "
    "(``order``, which is the default), or several orders (``pieces``)",
    Choice(("fixed", "order", "pieces")),
)
PIECES: Final = Option(
    "pieces", "with ``shapes=pieces``: at most this many orders", Whole(1, MOST_ORDERS), default=2
)
LOCK: Final = Option(
    "lock",
    "take the plan in this file if it holds for the problem and the options; else plan deterministically, "
    "starting from it, and write it",
    Text(),
    "FILE",
    more=" ([integrations.md](integrations.md#a-lock-so-that-builds-do-not-search))",
)
LOCKED: Final = Option(
    "locked",
    "fail if the plan of {lock} does not hold, instead of planning",
    Flag(),
    more=", and print the command that mends it",
)
SERVER: Final = Option(
    "server",
    "URL of a service that solves the problem instead",
    Text(),
    "URL",
    otherwise="``MEMSTOW_SERVER``",
    more="; output and exit codes are the same ([service.md](service.md))",
)
KEY: Final = Option(
    "key",
    "API key for the service",
    Text(),
    "KEY",
    otherwise="``MEMSTOW_KEY``",
    more=". Unlike the variable, other users of the machine can see an argument",
)
SCRATCH: Final = Option(
    "scratch",
    "plan around the memory that kernels ask for: `measure` runs the package tflite-micro; else the log of a "
    "device, compiled with ``TF_LITE_SHOW_MEMORY_USE``",
    Text(),
    "LOG",
    more=" ([integrations.md](integrations.md#scratch-memory))",
)
ORDER_ONLY: Final = Option(
    "order_only",
    "write the model in the order of {order} free, but no plan: the runtime places tensors itself",
    Flag(),
)
REPLAN: Final = Option("replan", "write a plan in the place of the one that the model carries", Flag())

# What is written.

SUFFIXES: Final = (
    ".json, .csv, .programs.json, .h, .c, .check.c, .ld, .rs, .replay, .loops.json (.txt, .h, .svg) or "
    ".tflite"
)
"""How the names of files end to which a plan is written."""
OUTPUT: Final = Option(
    "output",
    f"write the plan to this file, as its name ends: ``{SUFFIXES}``",
    Text(),
    "FILE",
    short="-o",
    is_repeated=True,
    more=". These are [formats of plans](formats.md), [source code](integrations.md), the "
    "[step table](pytorch.md#replay-a-recorded-step) of a recorded step, the [loops](loops.md) of a graph, "
    "and the TensorFlow Lite model that was read, with the plan in it. If writing fails, an existing file is "
    "left unchanged; a file that would stay the same is not touched",
)
OUTPUT_FORMAT: Final = Option(
    "output_format",
    "format of the only output, or of those whose names do not tell it; without {output}, prints only the "
    "plan in this format",
    Format((*PLANS, *EXPORTS, STEP_TABLE, STALLOC, *LOOPS, MODEL)),
    more=". Without a suffix it is `json`; another suffix is an error",
)
FORMAT_OF_PLAN: Final = Option("output_format", "format of the plan", Text())
PICTURE: Final = Option(
    "picture",
    "draw the plan to this .svg file",
    Text(),
    "FILE",
    more="; `-` prints only the picture",
)
OPEN: Final = Option(
    "open",
    "look at the plan in the browser",
    Flag(),
    more=", with the course of the search ([page.md](page.md))",
)
PROOF: Final = Option(
    "proof",
    "write to this file why no plan is better, for `memstow-check`",
    Text(),
    "FILE",
    more=" ([proofs.md](proofs.md)), of a graph for `memstow-check-order`. Both are in JSON; what a service "
    "proves is checked",
)
OPB: Final = Option(
    "opb",
    "write better plans as a pseudo-Boolean problem",
    Text(),
    "FILE",
    more=", which `--pbp` proves to have no solution ([proofs.md](proofs.md#for-veripb)); for few units",
)
PBP: Final = Option("pbp", "write that proof, for VeriPB", Text(), "FILE")
JSON: Final = Option("json", "print only the plan, as JSON", Flag())
QUIET: Final = Option("quiet", "print no table and no picture", Flag())
PREFIX: Final = Option("prefix", "how the names in source code begin", Text(), "NAME", otherwise="plan")
POOL_AND_SECTION: Final = Pair("a pool and a section", "dtcm=.dtcm_bss", is_number=False)
SECTION: Final = Option(
    "section",
    "put the arena of this pool into a section of your linker script",
    POOL_AND_SECTION,
    "POOL=SECTION",
    is_repeated=True,
)
HEADER: Final = Option("header", "the name by which C source code includes the header", Text())
JOB_NAME: Final = Option(
    "name",
    "what its job is called, such as the name of the file",
    Text(1, 200),
    otherwise="the name of the problem",
)

# `memstow front`.

TERMS: Final = Option(
    "terms",
    "the two terms, with a comma between: the peak (``peak:POOL``) or the capacity (``capacity:POOL``) of "
    "a pool and another term of an objective",
    Text(),
    "A,B",
    otherwise="``peak,cost`` of a graph; of a problem the peak of its first pool, and the first cost that it "
    "has",
    more=" ([problem.md](problem.md))",
)
WITH: Final = Option(
    "generators",
    "of a graph: what may be done to need less memory, of "
    f"{', '.join(f'``{name}``' for name in GENERATORS)}, with commas between, or ``none``",
    Text(),
    "LIST",
    flag="--with",
    otherwise="``stripes``",
    more=" ([front.md](front.md#parts-of-channels))",
)
COST: Final = Option(
    "cost",
    "of a graph: cost as its operators give it, or the bytes that they move",
    Choice(("given", "bytes")),
    default="given",
)
WITHIN: Final = Option(
    "within",
    "only points whose second term is at most X times its least value",
    Real(1, 1_000_000),
    "X",
    query="only points whose second term is at most this many times its least value",
)
POINTS: Final = Option(
    "points",
    "at most N points",
    Whole(1, MOST_POINTS),
    "N",
    otherwise="1,000",
    query="at most this many points",
    more=", and fewer where their plans would hold more than a million placements",
)
TARGETS: Final = Option(
    "targets",
    "the front in the memories of each of these targets, files or names from `memstow targets`, separated by "
    "commas; tells which is the smallest that will do",
    Text(),
    "TARGETS",
    flag="--target",
    query="names of targets, with commas between: a front in the memories of each",
    more=". May be repeated. One whose memories have no room for a pin does not fit; where a capacity is "
    "looked for, it must be one that the target has",
)
FRONT_OUTPUT: Final = Option(
    "output",
    "write the front to this file, as its name ends: ``.json``, ``.csv`` or ``.svg``",
    Text(),
    "FILE",
    short="-o",
    is_repeated=True,
)
FRONT_JSON: Final = Option("json", "print only the front, as JSON", Flag())
FRONT_QUIET: Final = Option("quiet", "print no table", Flag())
FRONT: Final = (TERMS, WITH, COST, WITHIN, POINTS)

# `memstow verify`.

PLAN_FORMAT: Final = Option(
    "plan_format",
    "format of the plan",
    Format((*READABLE, *READ_ONLY)),
    otherwise="detected from its content",
    silent="json",
)
POINT: Final = Option(
    "point",
    "PLAN is a front, as `memstow front --output front.json` writes it: take its N-th plan",
    Whole(1, 1 << 31),
    "N",
    more=". What the front says of the point is verified, too: each value is counted (`moves` against "
    "`--hint`), bounds are held against the other points, and what cannot be counted is listed as claimed. "
    "With several targets, `--target` says whose point it is",
)
VERIFY_HINT: Final = Option(
    "hint",
    "the plan that the objective term `moves` is counted against",
    Text(),
    "PLAN",
    more="; without it `moves` is not checked. Refused where no `moves` are counted, but for `--recheck`, "
    "which starts from it",
)
VERIFY_PROOF: Final = Option(
    "proof",
    "check this proof of the plan as well, as `memstow-check` does",
    Text(),
    "FILE",
    more=" ([proofs.md](proofs.md)): what it shows is checked; one that is wrong is a violation",
)
STRICT: Final = Option("strict", "also fail if a claim could not be checked", Flag(), more=" (exit code 1)")
RECHECK: Final = Option(
    "recheck",
    "solve again to check claims that cannot be checked otherwise, within {time_limit}",
    Flag(),
    more=": those proven again are `checked by solving again`, those that a better plan contradicts are "
    "violations",
)
RECHECK_TIME: Final = Option(
    "time_limit",
    "time limit for {recheck}, in seconds",
    Real(0, LONGEST_RUN),
    "S",
    otherwise="10",
)
VERDICT_JSON: Final = Option(
    "json",
    "print the verdict as JSON",
    Flag(),
    more=": `valid`; `checked`, whether every claim was checked; `violations` with `code`, `message`, "
    "`buffers`, `pool`; and `claims` with `subject`, `name` (the pool or term), `says`, `standing` "
    "(`checked`, `claimed` or `refuted`) and `by`",
)
VERIFIED_OUTPUT: Final = Option(
    "output",
    "if the plan is valid, write it to this file, as its name ends: ``.json`` or ``.csv`` (places alone); so "
    "a point of a front becomes a plan in a file of its own",
    Text(),
    "FILE",
    short="-o",
)

# `memstow view`.

PROBLEM: Final = Option("problem", "the problem or the graph that the plan is for", Text(), "PROBLEM")
VIEW_FORMAT: Final = Option(
    "format", FORMAT.help, Format((*READABLE, *RECORDED, *OF_GRAPHS)), otherwise="detected from its content"
)
VIEW_PLAN_FORMAT: Final = Option(
    "plan_format", PLAN_FORMAT.help, Format((*READABLE, *RECORDED)), otherwise="detected from its content"
)
VIEW_POINT: Final = Option(
    "point",
    "of a front: begin with the plan of this point, from 1, or write its loops; a page that cannot hold all "
    "plans holds those around it",
    Whole(1, 1 << 31),
    "N",
    otherwise="the ends, and between them as many as fit",
    more=" ([front.md](front.md))",
)
VIEW_AT: Final = Option(
    "at",
    "of a problem with symbols: begin at this value; of a plan for one value, which",
    _VALUE_OF_SYMBOL,
    "SYMBOL=N",
    is_repeated=True,
    more=" ([shapes.md](shapes.md))",
)
VIEW_PROOF: Final = Option(
    "proof",
    "walk through this proof of the plan, if `memstow-check` accepts it",
    Text(),
    "FILE",
    more=" ([proofs.md](proofs.md)), with --problem",
)
PAGE_OUTPUT: Final = Option(
    "output",
    "write the page, or the loops, to this file",
    Text(),
    "FILE",
    short="-o",
    more=": of a plan of a graph, names that end with `.loops.json`, `.loops.txt`, `.loops.h` or "
    "`.loops.svg` are for its [loops](loops.md)",
)
PAGE_FORMAT: Final = Option(
    "output_format",
    "what to write",
    Choice(("html", *LOOPS)),
    otherwise="as the file's name ends; html is the page",
)
LOOPS_PREFIX: Final = Option("prefix", "how names begin in ``.loops.h``", Text(), "NAME", otherwise="plan")

# `memstow inspect`.

ROWS: Final = Option("rows", "number of busiest times to list", Whole(0, 1000), "N", default=5)
WITHOUT: Final = Option(
    "without",
    "describe the problem without this buffer and all that it says of it",
    Text(),
    "BUFFER",
    is_repeated=True,
)
NEEDS: Final = Option(
    "needs",
    "find out what would be needed for a plan to exist: the smallest capacity of each pool, with the others "
    "unchanged, single constraints whose removal is enough, and the fewest buffers that must change",
    Flag(),
)
NEEDS_TIME: Final = Option(
    "time_limit",
    "time limit for {needs}",
    Duration(LONGEST_RUN),
    "S",
    otherwise="10",
    written=", in seconds or as ``50ms``, ``2m``",
)
FACTS_JSON: Final = Option(
    "json",
    "print the description as JSON",
    Flag(),
    more="; that of a graph has `graph` as well: its operators, tensors by kind, `live` bytes of each step "
    "as listed, the `largest` steps, and of `any_order` the `bound`, the bytes `needed` by the best order "
    "found, the operator whose `cut` proves the bound by itself, and the `critical` operators, which need "
    "the most in that order",
)

# `memstow convert`.

CONVERT_FORMAT: Final = Option(
    "output_format",
    "format to write",
    Format((*READABLE, "graph")),
    otherwise="as the file's name ends, ``.json`` or ``.csv``",
    more="; another ending is an error; `graph` for a [graph](graph.md), as from a model",
)
TO: Final = Option("to", "format of the result", Choice((*READABLE, "graph")), default="csv")
CHANNELS: Final = Option(
    "channels",
    "with {output_format} graph: add alternatives in which wide tensors are there in parts of their channels",
    Flag(),
    query="with `to=graph`: add alternatives in which wide tensors are there in parts of their channels",
    more=" ([graph.md](graph.md#parts-of-channels))",
)

# `memstow tile`.

TILE_FORMAT: Final = Option("format", "format of the graph", Choice(OF_GRAPHS), otherwise="detected")
OPERATOR: Final = Option("operator", "this operator in detail", Text(), "ID", otherwise="all, in short")
POOL: Final = Option(
    "pool", "the pool where tiles lie", Text(), "POOL", otherwise="the first with a capacity"
)
ROOM: Final = Option(
    "capacity",
    "how much of this pool to use",
    Amount(),
    "N",
    otherwise="as the pool says",
    written=": ``65536``, ``64KiB``, ``0x10000``",
)
HOME: Final = Option(
    "home",
    "the pool where whole tensors lie, as far as they fit",
    Text(),
    "POOL",
    otherwise="the next one, if any",
)
OBJECTIVE: Final = Option(
    "objective",
    "what to minimise, in this order: ``bytes`` (moved), ``tiles``, ``alignment`` (distance from "
    "{multiple}), ``l1`` (bytes of the buffers), ``beyond`` (bytes from or to beyond {home})",
    Text(),
    "TERMS",
    otherwise="``bytes,tiles``",
)
DOUBLE_BUFFER: Final = Option(
    "double_buffer",
    "two buffers for what moves while a tile is computed",
    Switch(),
    default=True,
    otherwise="two",
)
IM2COL: Final = Option(
    "im2col",
    "count a buffer in which a convolution lays out so many pixels at once, or `tile` for all of a tile",
    Text(),
    "PIXELS",
    otherwise="none",
)
MULTIPLE: Final = Option(
    "multiple",
    "sizes that the hardware likes, such as ``channels=4,columns=2``; also rows and inputs",
    Text(),
    "LIST",
)
TILE_FRONT: Final = Option("front", "also the front of memory against bytes moved, of one operator", Flag())
TILES: Final = (OPERATOR, POOL, ROOM, HOME, OBJECTIVE, DOUBLE_BUFFER, IM2COL, MULTIPLE, TILE_FRONT)
WORK: Final = Option(
    "work",
    "the most combinations to look at for each question about an operator",
    Whole(1, 1 << 40),
    "N",
    otherwise="300000",
)
TILES_JSON: Final = Option("json", "print the result as JSON", Flag())
TILES_OUTPUT: Final = Option("output", "write the result as JSON to this file", Text(), "FILE", short="-o")

# `memstow build`.

PROGRAM: Final = Option(
    "name", "what the program is called: all its names begin so", Text(), "NAME", otherwise="as the file is"
)
PROGRAM_POINT: Final = Option(
    "point",
    "the N-th point of the front, as `memstow front` lists them",
    Whole(1, 1 << 31),
    "N",
    otherwise="the cheapest that fits",
)
PROGRAM_CAPACITY: Final = Option(
    "capacity",
    "the most memory that the program may work in",
    Amount(),
    "N",
    otherwise="what is needed without more work",
    written=": ``65536``, ``64KiB``, ``0x10000``",
)
PROGRAM_ORDER: Final = Option(
    "order",
    "run the operators as the model lists them (``given``), in the best order that is found (``free``), or, "
    "to compare, by a rule (``lpmf``, ``dfs``)",
    Choice(ORDERS),
    otherwise="``free``, of which points are proven only where there is no other order",
)
PROGRAM_WITH: Final = Option(
    "generators",
    "what the program may do to need less memory, of ``stripes``, ``channels``, ``recompute``, with commas "
    "between, or ``none``; in several memories ``spill``",
    Text(),
    "LIST",
    flag="--with",
    otherwise="``stripes``",
)
PROGRAM_EXTERNAL: Final = Option(
    "external",
    "what lies with the caller of the program: ``inputs``, ``outputs``, or both with a comma between",
    Text(),
    "LIST",
    otherwise="none",
)
PROGRAM_KERNELS: Final = Option(
    "kernels",
    "``cmsis-nn``: call that library where it is faster than the program's ``own`` kernels",
    Choice(("own", "cmsis-nn")),
    otherwise="``own``",
)
BUILD_TIME: Final = Option(
    "time_limit",
    "time limit for the search for the front",
    Duration(LONGEST_RUN),
    "S",
    default=10.0,
    query="time limit for the search for the front",
)
PROGRAM_FOLDER: Final = Option(
    "output", "write the files of the program into this folder", Text(), "DIR", short="-o"
)
PROGRAM_JSON: Final = Option("json", "print what was built as JSON", Flag())

# `memstow evaluate`.

VALUE: Final = Option("at", "the value of a symbol", _VALUE_OF_SYMBOL, "SYMBOL=N", is_repeated=True)
SWEEP: Final = Option(
    "sweep",
    "go through the range of this symbol",
    Text(),
    "SYMBOL",
    more=": evenly, or by equal factors where it is wide",
)
SWEEP_POINTS: Final = Option(
    "points",
    "of {sweep}: at most this many values",
    Whole(2, MOST_POINTS),
    "N",
    otherwise=f"{POINTS_OF_TABLE}; of a picture {POINTS_OF_PICTURE}",
)
TABLE_JSON: Final = Option("json", "print the plan, or the table, as JSON", Flag())
TABLE_OUTPUT: Final = Option(
    "output",
    "write to this file: ``.json`` or ``.csv`` the plan or the table, ``.svg`` a picture of it, ``.h`` the C",
    Text(),
    "FILE",
    short="-o",
    is_repeated=True,
    more=". The C lays out every value at run time ([shapes.md](shapes.md#c))",
)
C_PREFIX: Final = Option("prefix", "of ``.h``: how names begin", Text(), "NAME", otherwise="plan")
