"""Functions of device libraries: ``tl.core.extern_elementwise`` in a Python function marked ``@tl.core.extern``.

Upstream calls a symbol of a bitcode file, chosen by the types of the arguments. Here the symbols of NVIDIA's libdevice,
``__nv_*``, are the functions of tl.extra.libdevice on every target; symbols of others are `tl.extern_call`, and their bitcode is
what the launch brings: ``kernel[grid](..., extern_libs={name: path})``. What a marked function asks for becomes a function of the
language that the recording of the call (recorded.py) calls."""
import re

from .. import _tegula as _core
from .recorded import Recording, function_of_text

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


class _ExternCall:
    """A symbol for each row of types."""

    def __init__(self, library, symbols, is_pure, count):
        self.library, self.symbols, self.is_pure, self.count = library, symbols, is_pure, count


def extern_elementwise(lib_name, lib_path, args, arg_type_symbol_dict, is_pure, _semantic=None):
    """Calls a function of a device library on each element: the one that the dictionary names for the arguments' types, as
    ``{(dtype, ...): (symbol, result dtype)}``. Only in a function marked ``@tl.core.extern``. `lib_path` says nothing, as
    upstream: a launch's `extern_libs` has the file of `lib_name`."""
    if not isinstance(_semantic, Recording):
        raise ValueError("extern_elementwise is called in a function marked @tl.core.extern, with its _semantic=_semantic")
    text = "\n".join(_source(_ExternCall(lib_name, dict(arg_type_symbol_dict), is_pure, len(args)))) + "\n"
    return _semantic.call(function_of_text(text, "extern_elementwise", __name__), args)


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
        if len(types) != call.count:
            return f"`{symbol}` is given {call.count} arguments, and types of {len(types)}"
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


def _source(call):
    """The call as a function of the language."""
    names = [f"x{i}" for i in range(call.count)]
    lines = [f"def extern_elementwise({', '.join(names)}):"]
    reason = _refusal(call)
    if reason:
        return lines + [f"    tl.static_assert(False, {reason!r})"]
    lines += [f"    {name} = tl.to_tensor({name})" for name in names]

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
