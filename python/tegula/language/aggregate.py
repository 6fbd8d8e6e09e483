"""``triton.aggregate``: classes of values with named fields, which kernels make and pass on. The compiler knows a class by its
fields, its constructor and its methods; where Python runs kernels, and outside of them, its objects are Python's."""
import functools
import inspect
import re
import types
import typing

from .core import constexpr, host_function, running


def _names(annotation):
    """The names of the parts of an annotation: tensor and constexpr of `tl.tensor | tl.constexpr`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return set().union(*map(_names, typing.get_args(annotation)))
    if isinstance(annotation, str):
        return {word.split(".")[-1] for word in re.findall(r"[\w.]+", annotation)} - {"Union", "Optional"}
    return {getattr(annotation, "__name__", str(annotation))}


def _is_constexpr(annotation):
    return _names(annotation) - {"None", "NoneType"} == {"constexpr"}


def _is_open(annotation):
    """Does the field hold a constant or a run-time value, whichever it is given?"""
    return "constexpr" in _names(annotation) and not _is_constexpr(annotation)


def _operator(method):
    """The function that Python calls for `a + b`: it is given its object, as a kernel of a class is not."""

    def call(self, *args, **kwargs):
        return method(self, *args, **kwargs)

    call.__tegula_method__ = method
    return call


def _take_fields(self, *args, **kwargs):
    """The constructor of a class that has none of its own: fields in order or by name."""
    cls = type(self)
    values = dict(zip(cls._fields, args))
    if len(args) > len(cls._fields) or any(name not in cls._fields or name in values for name in kwargs):
        raise TypeError(f"{cls.__name__}: the fields are {', '.join(cls._fields)}; each is given once")
    vars(self).update({**cls._field_defaults, **values, **kwargs})


def _settle(self):
    """Each field has a value, those of constants a constexpr."""
    cls = type(self)
    missing = [name for name in cls._fields if name not in vars(self)]
    if missing:
        raise TypeError(f"{cls.__name__} needs a value for {', '.join(missing)}")
    for name in cls._constexpr_fields:
        value = vars(self)[name]
        vars(self)[name] = value if isinstance(value, constexpr) else constexpr(value)


def _constructor(cls, written):
    """The function that Python calls: `written` is the user's function, or None."""
    from ..runtime.jit import jit

    if written is not None:
        cls.__tegula_constructor__ = jit(written)
    ours = cls.__dict__.get("__tegula_constructor__")

    def construct(self, *args, **kwargs):
        vars(self)["_is_open"] = True
        if ours is None:
            _take_fields(self, *args, **kwargs)
        else:
            (ours if running.session is not None else written)(self, *args, **kwargs)
        del vars(self)["_is_open"]
        _settle(self)

    construct.__tegula_construct__ = True
    return construct


def _set(self, name, value):
    if name in type(self)._fields and "_is_open" not in vars(self):
        raise AttributeError(f"cannot assign to field '{name}' on immutable aggregate {type(self).__name__}\n"
                             "  hint: tl.aggregate_replace(obj, field=value) makes another one")
    object.__setattr__(self, name, value)


def _get(self, name):
    """Methods of kernels know their object."""
    from ..runtime.jit import JITFunction

    value = object.__getattribute__(self, name)
    is_method = isinstance(value, JITFunction) and name not in object.__getattribute__(self, "__dict__")
    if is_method and not isinstance(inspect.getattr_static(type(self), name), staticmethod):
        return functools.partial(value, self)
    return value


def _aggregate(cls):
    """A class of values with named fields, which are annotated: tensors, constexprs, tuples or aggregates. Kernels make
    its objects and call its methods, which are @triton.jit functions."""
    from ..runtime.jit import ConstexprFunction, JITFunction

    annotations = {}
    for base in reversed(cls.__mro__):
        annotations.update(vars(base).get("__annotations__", {}))
    written = vars(cls).get("__init__")
    written = written.fn if isinstance(written, ConstexprFunction) else written
    if written is not None or not hasattr(cls.__init__, "__tegula_construct__"):
        cls.__init__ = _constructor(cls, written)
    cls.__setattr__, cls.__getattribute__ = _set, _get
    cls._fields = tuple(annotations)
    cls._field_defaults = {name: getattr(cls, name) for name in annotations if hasattr(cls, name)}
    cls._constexpr_fields = tuple(name for name, kind in annotations.items() if _is_constexpr(kind))
    cls._open_fields = tuple(name for name, kind in annotations.items() if _is_open(kind))
    for name, method in list(vars(cls).items()):
        if name.startswith("__") and name.endswith("__") and isinstance(method, JITFunction):
            setattr(cls, name, _operator(method))
    cls.__tegula_aggregate__ = cls.__triton_aggregate__ = True
    return cls


def aggregate_of(cls, values):
    """An object with these values in its fields, as they are: the constructor is not called."""
    made = cls.__new__(cls)
    vars(made).update(zip(cls._fields, values))
    _settle(made)
    return made


@host_function("triton.language.aggregate_replace")
def aggregate_replace(obj, **changes):
    """Another object of its class, with other values in the fields that keywords name."""
    cls = type(obj)
    if not hasattr(cls, "__tegula_aggregate__"):
        raise TypeError(f"aggregate_replace expects an aggregate instance, not {cls.__name__}")
    for name in changes:
        if name not in cls._fields:
            raise TypeError(f"{cls.__name__} has no field '{name}'")
    other = cls.__new__(cls)
    vars(other).update({**vars(obj), **changes})
    _settle(other)
    return other
