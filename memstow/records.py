"""Values that cost little: frozen classes that are cheap to define, results kept while their value lives.

`record` makes what `dataclass(frozen=True, slots=True)` makes, for classes with few instances in modules that
a small `memstow solve` imports; elsewhere, take `dataclass`. That writes the source of six methods for each
class and compiles it at every start, and its module imports those that read source: a third of such a run.
The methods of records are functions that all of them share; making an instance takes a little longer. The
module `dataclasses` and pydantic take a record for a dataclass. `Memo` keeps results by identity,
`Remembered` those of a function, and `collector_at_rest` pauses the garbage collector while millions of
objects are made.
"""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any, Final, Generic, NoReturn, TypeVar, dataclass_transform
from weakref import ref

_T = TypeVar("_T")

MISSING: Final[Any] = object()
"""The default of a field that has none."""
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Field:
    """A field of a record, with the words of a field of a dataclass."""

    __slots__ = ("default", "default_factory", "kw_only", "metadata", "name", "type")

    def __init__(
        self,
        default: Any,
        default_factory: Any,
        metadata: Mapping[str, Any] = _NOTHING,
        kw_only: bool = False,
        name: str = "",
        kind: Any = None,
    ) -> None:
        self.name = name
        self.type = kind
        self.default = default
        self.default_factory = default_factory
        self.metadata = metadata
        self.kw_only = kw_only


def field(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] = MISSING,
    metadata: Mapping[str, Any] = _NOTHING,
    kw_only: bool = False,
) -> Any:
    """What the class says of a field that is more than a type and a constant."""
    return Field(default, default_factory, metadata, kw_only)


def has_fields(kind: object) -> bool:
    """Whether it is the class of a record or a dataclass."""
    return isinstance(kind, type) and any("__dataclass_fields__" in base.__dict__ for base in kind.__mro__)


def fields(holder: Any) -> tuple[Field, ...]:
    """The fields of a record, a dataclass or the class of one, those of its bases first."""
    listed: tuple[Field, ...] | None = getattr(holder, "__record_fields__", None)
    if listed is not None:
        return listed
    import dataclasses

    def ours(default: Any) -> Any:
        return MISSING if default is dataclasses.MISSING else default

    return tuple(
        Field(
            ours(one.default), ours(one.default_factory), one.metadata, bool(one.kw_only), one.name, one.type
        )
        for one in dataclasses.fields(holder)
    )


def replace(value: _T, /, **changes: Any) -> _T:
    """The same as `dataclasses.replace`, without loading that module for a record."""
    kept = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.name not in changes}
    return type(value)(**kept, **changes)


def as_dict(value: Any) -> dict[str, Any]:
    """The fields by their names, also of records inside; tuples become lists, as they do in JSON."""
    return {entry.name: _inside(getattr(value, entry.name)) for entry in fields(value)}


def _inside(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_inside(entry) for entry in value]
    if isinstance(value, Mapping):
        return {name: _inside(entry) for name, entry in value.items()}
    return as_dict(value) if has_fields(type(value)) else value


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T]) -> type[_T]:
    """The same as `dataclass(frozen=True, slots=True)`, without `__post_init__`.

    Fields are added to the `__slots__` that the class declares, such as `__dict__` for a `cached_property`.
    """
    model = bare(cls)
    listed = sorted(fields(model), key=lambda entry: entry.kw_only)
    setters = [getattr(model, entry.name).__set__ for entry in listed]
    most = sum(not entry.kw_only for entry in listed)

    def construct(self: object, /, *values: object, **named: object) -> None:
        for put, value in zip(setters, values, strict=False):
            put(self, value)
        if len(values) == most == len(setters) and not named:
            return
        for entry, put in zip(listed[len(values) :], setters[len(values) :], strict=True):
            if entry.name in named:
                put(self, named.pop(entry.name))
            elif entry.default is not MISSING:
                put(self, entry.default)
            elif entry.default_factory is not MISSING:
                put(self, entry.default_factory())
            else:
                raise TypeError(f"{model.__qualname__} misses the argument {entry.name!r}")
        if named or len(values) > most:
            raise TypeError(
                f"{model.__qualname__} takes {', '.join(entry.name for entry in listed)}, each once"
            )

    set_constructor(model, construct, None)
    return model  # type: ignore[no-any-return]


def bare(cls: Any, kw_only: bool = False) -> Any:
    """A record without a constructor."""
    listed = _declared(cls, kw_only)
    names = tuple(entry.name for entry in listed)
    model = _with_slots(cls, names)
    model.__record_fields__ = listed
    model.__dataclass_fields__ = _OfDataclass(model, "__dataclass_fields__")

    # Of a single name, `attrgetter` returns the value alone.
    values_of: Callable[[object], tuple[object, ...]] = (
        attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)
    )
    setters = tuple(getattr(model, name).__set__ for name in names)

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

    for name, member in {
        "__match_args__": tuple(entry.name for entry in listed if not entry.kw_only),
        "__eq__": equal,
        "__hash__": hashed,
        "__repr__": shown,
        "__replace__": replace,
        "__getstate__": state,
        "__setstate__": set_state,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }.items():
        if name not in cls.__dict__ or cls.__dict__[name] is None:
            setattr(model, name, member)
    return model


def _declared(cls: Any, kw_only: bool) -> tuple[Field, ...]:
    """The fields of the bases, then those that the class declares."""
    listed = {entry.name: entry for entry in getattr(cls, "__record_fields__", ())}
    for name, kind in cls.__annotations__.items():
        default = cls.__dict__.get(name, MISSING)
        entry = default if isinstance(default, Field) else Field(default, MISSING, kw_only=kw_only)
        entry.name, entry.type, entry.kw_only = name, kind, entry.kw_only or kw_only
        listed[name] = entry
    return tuple(listed.values())


def _with_slots(cls: Any, names: tuple[str, ...]) -> Any:
    """The class again, as slots cannot be added to one."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    inside = {name: value for name, value in cls.__dict__.items() if name not in names}
    inside.pop("__dict__", None)
    inside.pop("__weakref__", None)
    own = inside.get("__slots__", ())
    inside["__slots__"] = (*own, *(name for name in names if name not in inherited))
    model = type(cls)(cls.__name__, cls.__bases__, inside)
    model.__qualname__ = cls.__qualname__
    return model


class _OfDataclass:
    """An attribute of a record, taken from a dataclass with its fields when somebody asks for it."""

    def __init__(self, model: Any, name: str) -> None:
        self._model = model
        self._name = name

    def __get__(self, instance: object, owner: Any) -> Any:
        import dataclasses
        from inspect import signature

        entries: list[Any] = []
        for entry in fields(self._model):
            words: dict[str, Any] = {"metadata": entry.metadata, "kw_only": entry.kw_only}
            if entry.default is not MISSING:
                words["default"] = entry.default
            elif entry.default_factory is not MISSING:
                words["default_factory"] = entry.default_factory
            entries.append((entry.name, entry.type, dataclasses.field(**words)))
        twin: Any = dataclasses.make_dataclass(self._model.__name__, entries, repr=False, eq=False)
        value = twin.__dataclass_fields__ if self._name == "__dataclass_fields__" else signature(twin)
        setattr(self._model, self._name, value)
        return value


def set_constructor(model: Any, construct: Any, declared: Any) -> None:
    """Make it the constructor; it shows the signature of the declared one, or the fields."""
    construct.__name__ = "__init__"
    construct.__qualname__ = f"{model.__qualname__}.__init__"
    construct.__doc__ = f"Fields: {', '.join(entry.name for entry in fields(model))}."
    model.__init__ = construct
    if declared is None:
        model.__signature__ = _OfDataclass(model, "__signature__")
    else:
        construct.__wrapped__ = declared


def _refuse(_: object, name: str, *value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


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


def picker(places: Sequence[int]) -> "Callable[[Sequence[int]], tuple[int, ...]]":
    """What takes the entries at these places of a sequence: a table lookup for many, in native code."""
    if len(places) > 1:
        pick: Callable[[Sequence[int]], tuple[int, ...]] = itemgetter(*places)
        return pick
    return lambda entries: tuple([entries[place] for place in places])


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
