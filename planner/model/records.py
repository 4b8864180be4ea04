"""Values that cost little: frozen classes that are cheap to define, results kept while their value lives.

`dataclass` writes the source of six methods for each class and compiles it, at every start of the
program. Here the methods are functions that all classes share; making an instance takes a little longer.
So `record` is for classes with few instances in a run, in modules that a small `memstow solve` imports;
elsewhere, take `dataclass`. `Memo` keeps results by identity, `Remembered` those of a function, and
`collector_at_rest` pauses the garbage collector while millions of objects are made.
"""

import dataclasses
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from operator import attrgetter
from typing import Any, Generic, NoReturn, TypeVar, dataclass_transform
from weakref import ref

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def record(cls: type[_T]) -> type[_T]:
    """The same as `dataclass(frozen=True, slots=True)`, without `__post_init__`."""
    model: Any = bare(cls)
    fields = dataclasses.fields(model)
    setters = tuple(model.__dict__[field.name].__set__ for field in fields)

    def construct(self: object, /, *values: object, **named: object) -> None:
        for put, value in zip(setters, values, strict=False):
            put(self, value)
        if len(values) == len(setters) and not named:
            return
        for field, put in zip(fields[len(values) :], setters[len(values) :], strict=True):
            if field.name in named:
                put(self, named.pop(field.name))
            elif field.default is not dataclasses.MISSING:
                put(self, field.default)
            elif field.default_factory is not dataclasses.MISSING:
                put(self, field.default_factory())
            else:
                raise TypeError(f"{model.__qualname__} misses the argument {field.name!r}")
        if named or len(values) > len(setters):
            raise TypeError(
                f"{model.__qualname__} takes {', '.join(field.name for field in fields)}, each once"
            )

    set_constructor(model, construct, None)
    return model  # type: ignore[no-any-return]


def bare(cls: Any, kw_only: bool = False) -> Any:
    """A dataclass with slots, with the methods of a frozen one, and without a constructor."""
    model = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    names = tuple(field.name for field in dataclasses.fields(model))
    setters = tuple(model.__dict__[name].__set__ for name in names)

    # Of a single name, `attrgetter` returns the value alone.
    values_of: Callable[[object], tuple[object, ...]] = (
        attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)
    )

    def state(self: object) -> tuple[object, ...]:
        return values_of(self)

    def equal(self: object, other: object) -> bool:
        if self is other:
            return True
        return values_of(self) == values_of(other) if type(other) is type(self) else NotImplemented

    def hashed(self: object) -> int:
        return hash(values_of(self))

    def shown(self: object) -> str:
        listed = zip(names, values_of(self), strict=True)
        return f"{model.__qualname__}({', '.join(f'{name}={value!r}' for name, value in listed)})"

    def set_state(self: object, values: tuple[object, ...]) -> None:
        for put, value in zip(setters, values, strict=True):
            put(self, value)

    for name, method in {
        "__eq__": equal,
        "__hash__": hashed,
        "__repr__": shown,
        "__getstate__": state,
        "__setstate__": set_state,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }.items():
        if name not in cls.__dict__ or cls.__dict__[name] is None:
            setattr(model, name, method)
    return model


def set_constructor(model: Any, construct: Any, declared: Any) -> None:
    """Make it the constructor; it shows the signature of the declared one, or the fields."""
    construct.__name__ = "__init__"
    construct.__qualname__ = f"{model.__qualname__}.__init__"
    construct.__doc__ = f"Fields: {', '.join(field.name for field in dataclasses.fields(model))}."
    if declared is not None:
        construct.__wrapped__ = declared
    model.__init__ = construct
    model.__signature__ = _ShownSignature(declared)


class _ShownSignature:
    """The signature of a class, made when somebody asks for it."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __get__(self, instance: object, owner: Any) -> Signature:
        if self._declared is not None:
            shown = signature(self._declared)
            return shown.replace(parameters=list(shown.parameters.values())[1:])
        parameters = []
        for field in dataclasses.fields(owner):
            kind = Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            defaults: list[Any] = [field.default, field.default_factory, Parameter.empty]
            default = next(default for default in defaults if default is not dataclasses.MISSING)
            parameters.append(Parameter(field.name, kind, default=default, annotation=field.type))
        return Signature(parameters, return_annotation=None)


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Pause garbage collection: it would go through millions of new objects of which none is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_Subject = TypeVar("_Subject")
_Result = TypeVar("_Result")


class Memo(Generic[_Subject, _Result]):
    """A cache by identity: comparing two problems takes longer than most results that are cached here.

    An equal copy has no entry. An entry is removed before another value can get the same address.
    """

    def __init__(self) -> None:
        self._results: dict[int, tuple[ref[_Subject], _Result]] = {}

    def __len__(self) -> int:
        return len(self._results)

    def get(self, subject: _Subject) -> _Result | None:
        """The result stored for this object, if any."""
        entry = self._results.get(id(subject))
        return None if entry is None else entry[1]

    def note(self, subject: _Subject, result: _Result) -> None:
        """Store a result until the value is gone."""
        results, key = self._results, id(subject)

        def forget(_: ref[_Subject]) -> None:
            results.pop(key, None)

        results[key] = ref(subject, forget), result


class Remembered(Memo[_Subject, _Result]):
    """A function of one object that computes once for each, as a decorator.

    With `note` another object gets the result of one that is known to have the same.
    """

    def __init__(self, compute: Callable[[_Subject], _Result]) -> None:
        super().__init__()
        self._compute = compute
        update_wrapper(self, compute)

    def __call__(self, subject: _Subject) -> _Result:
        """The result stored for this object; computed and stored where there is none."""
        entry = self._results.get(id(subject))
        if entry is not None:
            return entry[1]
        result = self._compute(subject)
        self.note(subject, result)
        return result
