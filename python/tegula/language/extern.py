"""Functions of device libraries: ``tl.core.extern_elementwise`` in a Python function marked ``@tl.core.extern``.

Upstream calls a symbol of a bitcode file, chosen by the types of the arguments. Here the symbols of NVIDIA's libdevice,
``__nv_*``, are the functions of tl.extra.libdevice on every target; symbols of others are `tl.extern_call`, and their bitcode is
what the launch brings: ``kernel[grid](..., extern_libs={name: path})``. A marked function is run once, with placeholders for its
arguments; what it asks for becomes a function of the language."""
import inspect
import itertools
import linecache
import re

from .. import _tegula as _core

_count = itertools.count(1)
_HOST_PARAMETERS = ("_semantic", "_builder", "_generator")

# Symbols behind `__nv_` whose name here differs by more than the suffix f of fp32.
_OTHER_NAMES = {
    "fabs": "abs", "fabsf": "abs", "llabs": "abs", "fminf": "tl.minimum", "fmin": "tl.minimum", "fmaxf": "tl.maximum",
    "fmax": "tl.maximum", "min": "tl.minimum", "umin": "tl.minimum", "llmin": "tl.minimum", "ullmin": "tl.minimum",
    "max": "tl.maximum", "umax": "tl.maximum", "llmax": "tl.maximum", "ullmax": "tl.maximum", "isnand": "isnan", "isinfd": "isinf",
    "signbitd": "signbit", "clzll": "clz", "popcll": "popc", "ffsll": "ffs", "brevll": "brev", "mul64hi": "mulhi",
    "umul64hi": "umulhi", "umulhi": "umulhi", "usad": "sad", "uhadd": "hadd", "urhadd": "rhadd", "umul24": "mul24", "powi": "pow",
    "powif": "pow", "fma_rn": "fma_rn", "rsqrtf": "rsqrt",
}
_ROUNDED = re.compile(r"([fd])(add|sub|mul|div|rcp|sqrt)_(rn|rz|rd|ru)")
_FUSED = re.compile(r"fma(f?)_(rn|rz|rd|ru)")


class _Argument:
    """Stands for an argument of a marked function."""

    def __init__(self, name):
        self.name = name


class ExternCall:
    """The answer of a marked function: a symbol for each row of types."""

    def __init__(self, library, arguments, symbols, is_pure):
        self.library, self.arguments, self.symbols, self.is_pure = library, arguments, symbols, is_pure


def extern_elementwise(lib_name, lib_path, args, arg_type_symbol_dict, is_pure, _semantic=None):
    """Calls a function of a device library on each element: the one that the dictionary names for the arguments' types, as
    ``{(dtype, ...): (symbol, result dtype)}``. Only in a function marked ``@tl.core.extern``. `lib_path` says nothing, as
    upstream: a launch's `extern_libs` has the file of `lib_name`."""
    return ExternCall(lib_name, list(args), dict(arg_type_symbol_dict), is_pure)


def dispatch(func, lib_name, lib_path, args, arg_type_symbol_dict, ret_type=None, is_pure=True, _semantic=None):
    """The same, as it was called before."""
    return extern_elementwise(lib_name, lib_path, args, arg_type_symbol_dict, is_pure, _semantic)


def _exists(name):
    return _core.language_name("triton.language." + (name[3:] if name.startswith("tl.") else "extra.libdevice." + name)) is not None


def name_of_symbol(symbol):
    """(a function of the language, "fp32", "fp64" or None for what its float arguments must be) of `__nv_SYMBOL`; None where
    there is none."""
    bare = symbol.removeprefix("__nv_")
    if found := _ROUNDED.fullmatch(bare):
        return f"{found[2]}_{found[3]}", "fp32" if found[1] == "f" else "fp64"
    if found := _FUSED.fullmatch(bare):
        return f"fma_{found[2]}", "fp32" if found[1] else "fp64"
    single = bare.startswith("fast_") or bare.endswith("f")
    converts = "2" in bare.replace("exp2", "").replace("log2", "").replace("atan2", "") or "_as_" in bare
    floats = None if converts else "fp32" if single and bare != "erf" else "fp64"
    for name in (_OTHER_NAMES.get(bare), bare, bare.removesuffix("f")):
        if name and _exists(name):
            return name, floats
    return None


def _is_foreign(symbol):
    return not symbol.startswith("__nv_")


def _refusal(call):
    """The reason why a call cannot be made, whatever its types; None: it can."""
    for types, (symbol, _) in call.symbols.items():
        if len(types) != len(call.arguments):
            return f"`{symbol}` is given {len(call.arguments)} arguments, and types of {len(types)}"
        if _is_foreign(symbol):
            if not call.library:
                return f"`{symbol}` is of no library: extern_elementwise was given no name of one"
            continue
        found = name_of_symbol(symbol)
        if found is None:
            return f"libdevice has no function `{symbol}` here; tl.extra.libdevice lists those that there are"
        wrong = [each for each in types if each.is_floating() and found[1] and each.name != found[1]]
        if wrong:
            return f"`{symbol}` takes {found[1]}, not {wrong[0].name}"
    return None


def _constant(value):
    value = getattr(value, "value", value)
    return value.name if isinstance(value, _Argument) else repr(value)


def _source(fn, parameters, call):
    """The call as a function of the language."""
    lines = [f"def {fn.__name__}({', '.join(parameters)}):"]
    reason = _refusal(call)
    if reason:
        return lines + [f"    tl.static_assert(False, {reason!r})"]
    names = [f"x{i}" for i in range(len(call.arguments))]
    lines += [f"    {name} = tl.to_tensor({_constant(value)})" for name, value in zip(names, call.arguments)]

    def returns(symbol, result, given):
        if _is_foreign(symbol):
            return (f"return tl.extern_call({symbol!r}, {call.library!r}, ({', '.join(given)},), tl.dtype({result.name!r}), "
                    f"{bool(call.is_pure)})")
        name = name_of_symbol(symbol)[0]
        callee = name if name.startswith("tl.") else "libdevice." + name
        return f"return {callee}({', '.join(given)}).to(tl.dtype({result.name!r}))"

    rows = list(call.symbols.items())
    for types, (symbol, result) in rows:
        condition = " and ".join(f"{name}.dtype == tl.dtype({each.name!r})" for name, each in zip(names, types))
        lines += [f"    if {condition}:", "        " + returns(symbol, result, names)]
    if len(names) > 1:  # as upstream: all of the type that they have together
        lines += ["    together: tl.constexpr = (" + " + ".join(names) + ").dtype"]
        for types, (symbol, result) in rows:
            if len(set(types)) == 1:
                given = [f"{name}.to(together)" for name in names]
                lines += [f"    if together == tl.dtype({types[0].name!r}):", "        " + returns(symbol, result, given)]
    expected = ", ".join("(" + ", ".join(each.name for each in types) + ")" for types, _ in rows)
    lines += [f"    tl.static_assert(False, {'input arg type does not match. Expect one of ' + expected!r})"]
    return lines


def function_of(fn):
    """The function of the language that a marked function stands for; None where it does something else."""
    if not hasattr(fn, "_extern_function"):
        fn._extern_function = _traced(fn)
    return fn._extern_function


def _traced(fn):
    parameters = [name for name in inspect.signature(fn).parameters if name not in _HOST_PARAMETERS]
    host = {name: None for name in inspect.signature(fn).parameters if name in _HOST_PARAMETERS}
    try:
        call = fn(*[_Argument(name) for name in parameters], **host)
    except (AttributeError, TypeError):  # it asks its arguments what only values know
        return None
    if not isinstance(call, ExternCall):
        return None
    from .. import language
    from ..runtime.jit import jit

    text = "\n".join(_source(fn, parameters, call)) + "\n"
    path = f"<extern {fn.__module__}.{fn.__qualname__} {next(_count)}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    names = {"tl": language, "libdevice": language.extra.libdevice, "__name__": fn.__module__}
    exec(compile(text, path, "exec"), names)
    return jit(names[fn.__name__])
