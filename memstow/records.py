"""Values that cost little: frozen classes that are cheap to define, results kept while their value lives.

`dataclass` writes the source of six methods for each class and compiles it, at every start of the
program, and its module imports those that read source. Here the methods are functions that all classes share;
making an instance takes a little longer. So `record` is for classes with few instances in a run, in modules
that a small `memstow solve` imports; elsewhere, take `dataclass`. What the module `dataclasses` does with one
of its own, it does with a record. `Memo` keeps results by identity, `Remembered` those of a function, and
`collector_at_rest` pauses the garbage collector while millions of objects are made.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import update_wrapper
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar, dataclass_transform
from weakref import ref

if TYPE_CHECKING:
    from inspect import Signature

_T = TypeVar("_T")

MISSING: Final[Any] = object()
"""The default of a field that has none."""


class Field:
    """A field of a record, with the words of a field of a dataclass."""

    __slots__ = ("default", "default_factory", "kw_only", "metadata", "name", "type")

    def __init__(self, default: Any, default_factory: Any, metadata: Mapping[str, Any]) -> None:
        self.name = ""
        self.type: Any = None
        self.default = default
        self.default_factory = default_factory
        self.metadata = metadata
        self.kw_only = False


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def field(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] = MISSING,
    metadata: Mapping[str, Any] = _NOTHING,
) -> Any:
    """What the class says of a field that is more than a type and a constant."""
    return Field(default, default_factory, metadata)


def fields(holder: Any) -> tuple[Field, ...]:
    """The fields of a record or a dataclass, those of its bases first."""
    listed: tuple[Field, ...] | None = getattr(holder, "__record_fields__", None)
    return _fields_of_dataclass(holder) if listed is None else listed


def _fields_of_dataclass(holder: Any) -> tuple[Field, ...]:
    import dataclasses

    listed = []
    for theirs in dataclasses.fields(holder):
        default, factory = (
            MISSING if value is dataclasses.MISSING else value
            for value in (theirs.default, theirs.default_factory)
        )
        entry = Field(default, factory, theirs.metadata)
        entry.name, entry.type, entry.kw_only = theirs.name, theirs.type, bool(theirs.kw_only)
        listed.append(entry)
    return tuple(listed)


def has_fields(holder: Any) -> bool:
    """Whether it is the class of a record or a dataclass."""
    return isinstance(holder, type) and any(
        "__dataclass_fields__" in base.__dict__ for base in holder.__mro__
    )


def replace(value: _T, **changes: Any) -> _T:
    """The same as `dataclasses.replace`, without loading that module for a record."""
    kept = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.name not in changes}
    return type(value)(**kept, **changes)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T]) -> type[_T]:
    """The same as `dataclass(frozen=True, slots=True)`, without `__post_init__`."""
    model = bare(cls)
    listed = fields(model)
    setters = tuple(getattr(model, entry.name).__set__ for entry in listed)

    def construct(self: object, /, *values: object, **named: object) -> None:
        for put, value in zip(setters, values, strict=False):
            put(self, value)
        if len(values) == len(setters) and not named:
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
        if named or len(values) > len(setters):
            raise TypeError(
                f"{model.__qualname__} takes {', '.join(entry.name for entry in listed)}, each once"
            )

    set_constructor(model, construct, None)
    return model  # type: ignore[no-any-return]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def open_record(cls: type[_T]) -> type[_T]:
    """The same as `dataclass(frozen=True, kw_only=True)`: with results kept in it, and subclasses."""
    model = bare(cls, kw_only=True, slots=False)
    names = frozenset(entry.name for entry in fields(model))
    constants = {entry.name: entry.default for entry in fields(model) if entry.default is not MISSING}
    factories = tuple(
        (entry.name, entry.default_factory) for entry in fields(model) if entry.default_factory is not MISSING
    )

    def construct(self: object, /, **named: object) -> None:
        values = self.__dict__
        values.update(constants)
        values.update({name: make() for name, make in factories if name not in named})
        values.update(named)
        if values.keys() != names:
            wrong = ", ".join(map(repr, sorted(values.keys() ^ names)))
            raise TypeError(f"{model.__qualname__} misses, or does not take, the argument {wrong}")

    set_constructor(model, construct, None)
    return model  # type: ignore[no-any-return]


def bare(cls: Any, kw_only: bool = False, slots: bool = True) -> Any:
    """A record without a constructor; by default its fields are slots."""
    listed = _declared(cls, kw_only)
    model = _with_slots(cls, [entry.name for entry in listed]) if slots else cls
    model.__record_fields__ = listed
    model.__dataclass_fields__ = _DataclassFields(model)
    names = tuple(entry.name for entry in listed)

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
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)  # The class itself refuses.

    for name, member in {
        "__match_args__": tuple(entry.name for entry in listed if not entry.kw_only),
        "__eq__": equal,
        "__hash__": hashed,
        "__repr__": shown,
        "__getstate__": state,
        "__setstate__": set_state,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }.items():
        if name not in cls.__dict__ or cls.__dict__[name] is None:
            setattr(model, name, member)
    return model


def _declared(cls: Any, kw_only: bool) -> tuple[Field, ...]:
    """The fields of the bases, then those that the class declares."""
    listed = {entry.name: entry for entry in getattr(cls, "__record_fields__", ())}
    for name, kind in cls.__annotations__.items():
        default = cls.__dict__.get(name, MISSING)
        entry = default if isinstance(default, Field) else Field(default, MISSING, _NOTHING)
        entry.name, entry.type, entry.kw_only = name, kind, kw_only
        listed[name] = entry
        # A default is an attribute of the class, as long as slots do not take its place.
        if entry.default is not MISSING:
            setattr(cls, name, entry.default)
        elif name in cls.__dict__:
            delattr(cls, name)
    return tuple(listed.values())


def _with_slots(cls: Any, names: list[str]) -> Any:
    """The class again, as slots cannot be added to one."""
    inherited = {name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
    inside = {name: value for name, value in cls.__dict__.items() if name not in names}
    inside.pop("__dict__", None)
    inside.pop("__weakref__", None)
    inside["__slots__"] = tuple(name for name in names if name not in inherited)
    model = type(cls)(cls.__name__, cls.__bases__, inside)
    model.__qualname__ = cls.__qualname__
    return model


class _DataclassFields:
    """What the module `dataclasses` and pydantic know a dataclass by, made when somebody asks for it."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __get__(self, instance: object, owner: Any) -> Any:
        import dataclasses

        entries: list[Any] = []
        for entry in fields(self._model):
            words: dict[str, Any] = {"metadata": entry.metadata, "kw_only": entry.kw_only}
            if entry.default is not MISSING:
                words["default"] = entry.default
            elif entry.default_factory is not MISSING:
                words["default_factory"] = entry.default_factory
            entries.append((entry.name, entry.type, dataclasses.field(**words)))
        twin: Any = dataclasses.make_dataclass(
            self._model.__name__, entries, init=False, repr=False, eq=False, match_args=False
        )
        self._model.__dataclass_fields__ = twin.__dataclass_fields__
        return twin.__dataclass_fields__


def set_constructor(model: Any, construct: Any, declared: Any) -> None:
    """Make it the constructor; it shows the signature of the declared one, or the fields."""
    construct.__name__ = "__init__"
    construct.__qualname__ = f"{model.__qualname__}.__init__"
    construct.__doc__ = f"Fields: {', '.join(entry.name for entry in fields(model))}."
    if declared is not None:
        construct.__wrapped__ = declared
    model.__init__ = construct
    model.__signature__ = _ShownSignature(declared)


class _ShownSignature:
    """The signature of a class, made when somebody asks for it."""

    def __init__(self, declared: Any) -> None:
        self._declared = declared

    def __get__(self, instance: object, owner: Any) -> "Signature":
        from inspect import Parameter, Signature, signature

        if self._declared is not None:
            shown = signature(self._declared)
            return shown.replace(parameters=list(shown.parameters.values())[1:])
        parameters = []
        for entry in fields(owner):
            kind = Parameter.KEYWORD_ONLY if entry.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            defaults: list[Any] = [entry.default, entry.default_factory, Parameter.empty]
            default = next(default for default in defaults if default is not MISSING)
            parameters.append(Parameter(entry.name, kind, default=default, annotation=entry.type))
        return Signature(parameters, return_annotation=None)


def _refuse_to_set(_: object, name: str, __: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


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
