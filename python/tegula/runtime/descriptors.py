"""Launches with tensor descriptors among the arguments. The extension takes tensors and numbers, so a kernel is made
that takes those of the descriptors, makes the descriptors of them, and calls the kernel that was launched:

    def matmul_kernel(a_base, a_shape0, a_shape1, a_stride0, K, BLOCK: tl.constexpr):
        _kernel(a=_tl.make_tensor_descriptor(a_base, [a_shape0, a_shape1], [a_stride0, 1], [32, 64], 'zero'), K=K, BLOCK=BLOCK)

Extents and strides are then specialized as all integers are. Kernels that are made are kept by their text. Nobody else is told of
them: hooks, names, caches and errors are those of the kernel that was launched."""
import linecache
import re
import sys
from contextlib import contextmanager

from .. import _tegula as core
from ..errors import LaunchError, TritonError
from ..language import core as lang

_class = None  # of descriptors; None: no program has made one
DEEPEST = 100  # as bindings/Values.cpp: tuples nested deeper are no argument


def expect(descriptor_class):
    """An object of `descriptor_class` has been made: launches are looked through from now on."""
    global _class
    if _class is None:
        _class = descriptor_class
        core.set_descriptors(descriptor_class, sys.modules[__name__])


def _holds(value, depth=0):
    """Is it a descriptor, or a tuple with one? Those that are nested deeper than a launch takes are left to its refusal."""
    if isinstance(value, _class):
        return True
    return isinstance(value, (tuple, list)) and depth <= DEEPEST and any(_holds(part, depth + 1) for part in value)


def are_among(args, kwargs):
    return _class is not None and (any(map(_holds, args)) or any(map(_holds, kwargs.values())))


def in_parts(value):
    """An argument of a kernel that was compiled for a signature: a descriptor is a tuple there, as compiler/source.py describes it."""
    if isinstance(value, _class):
        if value.padding != "zero":
            raise LaunchError("a kernel that triton.compile made pads with zeros, and the descriptor asks for NaN\n"
                              "  hint: launch the kernel itself, kernel[grid](...)")
        return value.base, tuple(value.shape), tuple(value.strides)
    return tuple(map(in_parts, value)) if isinstance(value, (tuple, list)) and _holds(value) else value


def _language():
    from .. import language

    return language


@contextmanager
def told_as_written(function, made):
    try:
        yield
    except TritonError as error:
        tell_as_written(error, function, made)
        raise


def tell_as_written(error, function, made):
    """An error of `made` speaks of `function`, the one that the user wrote: of its file, line and parameters."""
    path, told = made.fn.__code__.co_filename, error.args and error.args[0]
    blocks = re.split(r"\n(?=\S[^\n]*?:\d+:\d+: \w+: )", error.text)
    kept = [_block_as_written(block, path, function) for block in blocks]
    error.text = _as_written("\n".join(block for block in kept if block), function, made)
    place = dict(file=function.file_name, line=function.def_file_line_number, column=function.def_file_col_number + 4)
    error.diagnostics = [
        each._replace(message=_as_written(each.message, function, made), hint=_as_written(each.hint, function, made),
                      **(place if each.file == path else {}))
        for each in error.diagnostics if each.file != path or each.severity == 0]
    if error.args == (told,):
        error.args = (error.text,)


def _block_as_written(block, path, function):
    """One diagnostic of a text: at the kernel's own `def` instead of a place in `path`. None of a note that it was called."""
    found = re.match(re.escape(path) + r":\d+:\d+: (\w+): ", block)
    if found is None:
        return block
    if found[1] == "note":
        return None
    said = block[found.start(1):].split("\n")
    rest = [line for line in said[1:] if not re.match(r"\s*\d*\s*\|", line)]
    line, column = function.def_file_line_number, function.def_file_col_number + 4
    source = function.raw_src[line - function.starting_line_number].rstrip("\n")
    excerpt = [f"{line:5} | {source}", f"      | {' ' * (column - 1)}^"]
    return "\n".join([f"{function.file_name}:{line}:{column}: {said[0]}", *excerpt, *rest])


def _as_written(text, function, made):
    """The parameters of `made` are those of `function`."""
    text = text.replace(", ".join(made.arg_names), ", ".join(function.arg_names))
    for parameter, parts in made.parts.items():
        for part in parts:
            text = text.replace(f"`{part}`", f"`{parameter}`")
    return text


class _Maker:
    """The kernel in the making: its parameters, their values, and what its text names."""

    def __init__(self, function):
        self.names, self.hidden, self.rest_place = set(function.arg_names), "_", function.rest_place
        while any(name.startswith(self.hidden) for name in self.names):  # what the text names beside its parameters
            self.hidden += "_"
        self.language = f"{self.hidden}tl"
        self.scope = {f"{self.hidden}kernel": function, self.language: _language()}
        self.parameters, self.arguments, self.passed, self.classes = [], {}, [], []
        self.parts = {}  # of descriptors that are parameters: the names of base, extents and strides
        self.blocks = {}  # of these: their blocks

    def add(self, name, value, annotation=None, is_own=False):
        """A parameter of this name, or of a name made of it; the name."""
        while not is_own and name in self.names:
            name += "_"
        self.names.add(name)
        self.arguments[name] = value
        self.parameters.append(name if annotation is None else f"{name}: {annotation}")
        return name

    def annotation(self, parameter):
        if parameter.is_constexpr:
            return f"{self.language}.constexpr"
        annotation = parameter._param.annotation
        if annotation is parameter._param.empty:
            return None
        name = f"{self.hidden}annotation{len(self.scope)}"
        self.scope[name] = annotation
        return name

    def descriptor(self, name, value):
        base = self.add(f"{name}_base", value.base)
        shape = [self.add(f"{name}_shape{i}", extent) for i, extent in enumerate(value.shape)]
        strides = [self.add(f"{name}_stride{i}", stride) for i, stride in enumerate(value.strides[:-1])]
        return (f"{self.language}.make_tensor_descriptor({base}, [{', '.join(shape)}], [{', '.join([*strides, '1'])}], "
                f"{list(value.block_shape)!r}, {value.padding!r})")

    def named(self, kind):
        """The name of a class of NamedTuples within the text."""
        if kind not in self.classes:
            self.classes.append(kind)
        return f"{self.hidden}class{self.classes.index(kind)}"

    def element(self, name, value):
        """The text of a value within a tuple, or of a descriptor."""
        if isinstance(value, _class):
            return self.descriptor(name, value)
        if isinstance(value, (tuple, list)) and _holds(value):
            elements = "".join(self.element(f"{name}_{i}", part) + ", " for i, part in enumerate(value))
            return f"{self.named(type(value))}({elements})" if hasattr(value, "_fields") else f"({elements})"
        is_constant = value is None or isinstance(value, (str, lang.constexpr, lang.dtype)) or hasattr(value, "fn")
        return self.add(name, value, f"{self.language}.constexpr" if is_constant else None)

    def take(self, parameter, value):
        if _holds(value):
            if parameter.is_constexpr:
                raise TypeError(f"parameter `{parameter.name}` is constexpr, and a tensor descriptor is no constant\n"
                                "  hint: take `tl.constexpr` off the parameter")
            before = len(self.arguments)
            text = self.element(parameter.name, value)
            self.parts[parameter.name] = list(self.arguments)[before:]
            if isinstance(value, _class):
                self.blocks[parameter.name] = list(value.block_shape)
        else:
            text = self.add(parameter.name, value, self.annotation(parameter), is_own=True)
        place = self.rest_place
        sign = "" if place is not None and parameter.num < place else "*" if parameter.num == place else f"{parameter.name}="
        self.passed.append(sign + text)

    def text(self, name):
        return f"def {name}({', '.join(self.parameters)}):\n    {self.hidden}kernel({', '.join(self.passed)})\n"


def _made(function, maker):
    """The function of the language behind `maker`; one for each text and the classes that it names."""
    known = function.__dict__.setdefault("_of_descriptors", {})
    text = maker.text(function.__name__)
    key = (text, *maker.classes)
    if key not in known:
        path = f"<{function.__name__} of descriptors {len(known)}>"
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        scope = {"__name__": function.__module__, **maker.scope,
                 **{f"{maker.hidden}class{i}": kind for i, kind in enumerate(maker.classes)}}
        exec(compile(text, path, "exec"), scope)
        unmarked = [[name for name in names if isinstance(name, str) and name in maker.arguments]
                    for names in (function.do_not_specialize, function.do_not_specialize_on_alignment)]
        known[key] = type(function)(scope[function.__name__], do_not_specialize=unmarked[0],
                                     do_not_specialize_on_alignment=unmarked[1], debug=function.debug,
                                     repr=_name_of(function, maker) if function.is_named else None)
        known[key].made_of, known[key].parts = function, maker.parts
    made = known[key]
    made.target = function.target
    return made


def _name_of(function, maker):
    """The function that names a specialization of what is in the making as the kernel's `repr` does, which sees its own parameters."""

    def name(specialization):
        seen = specialization.signature
        signature = {}
        for parameter in function.arg_names:
            parts = maker.parts.get(parameter)
            if parameter in maker.blocks:
                signature[parameter] = f"tensordesc<{seen[parts[0]].removeprefix('*')}{maker.blocks[parameter]}>"
            elif parts is not None:
                signature[parameter] = tuple(seen[part] for part in parts if part in seen)
            elif parameter in seen:
                signature[parameter] = seen[parameter]
        constants = {name: value for name, value in specialization.constants.items() if name in signature}
        return function.repr(specialization._replace(constants=constants, signature=signature))

    return name


def made_for(function):
    """The functions that take descriptors of this one apart, as far as launches made them."""
    return list(function.__dict__.get("_of_descriptors", {}).values())


def _form_of(given):
    """The function of a launch and the names of its arguments depend on this; None: tuples with descriptors are looked through each time."""
    form = []
    for name, value in given.items():
        if isinstance(value, _class):
            form.append((name, len(value.shape), tuple(value.block_shape), value.padding))
        elif isinstance(value, (tuple, list)) and _holds(value):
            return None
        else:
            form.append(name)
    return tuple(form)


def _arguments_of(given, parts):
    """The arguments of a launch whose form is known; `parts`: the names of each descriptor's."""
    arguments = {}
    for name, value in given.items():
        if name not in parts:
            arguments[name] = value
            continue
        arguments.update(zip(parts[name], (value.base, *value.shape, *value.strides[:-1])))
    return arguments


def take_apart(function, grid, args, kwargs):
    """(function, grid, args, kwargs) of a launch without descriptors that does the same."""
    given, options = _given(function, args, kwargs)
    form = _form_of(given)
    known = function.__dict__.setdefault("_of_forms", {}).get(form)
    if known is not None:
        made, parts, defaults = known
        given.update(defaults)
        made.target = function.target
        arguments = _arguments_of(given, parts)
    else:
        maker, defaults = _Maker(function), {}
        for parameter in function.params:
            if parameter.name not in given and parameter.has_default:
                given[parameter.name] = defaults[parameter.name] = parameter.default
            if parameter.name not in given:
                raise LaunchError(f"`{function.__name__}` needs a value for its parameter `{parameter.name}`")
            maker.take(parameter, given[parameter.name])
        made, arguments = _made(function, maker), maker.arguments
        if form is not None and not any(map(_holds, defaults.values())):
            function.__dict__["_of_forms"][form] = made, maker.parts, defaults
    if callable(grid):
        of_all = grid
        grid = lambda made: of_all({**given, **options})  # noqa: E731
    return made, grid, (), {**arguments, **options}


def taken(function, args, kwargs):
    """Asked by the extension: (function, arguments and options by name, names, values of the last ones) of a launch without
    descriptors that does the same. The names are those of all launches of this form, in the order in which the parts of what is
    given come; None: this form has no order."""
    made, _, _, arguments = take_apart(function, None, args, kwargs)
    given, _ = _given(function, args, kwargs)
    known = function.rest_place is None and function.__dict__["_of_forms"].get(_form_of(given))
    if not known:
        return made, arguments, None, ()
    _, parts, defaults = known
    written = [*function.arg_names[:len(args)], *kwargs, *defaults]
    return made, arguments, tuple(part for name in written for part in parts.get(name, [name])), tuple(defaults.values())


def tell(kernel, function, args, kwargs):
    """Asked by the extension: the kernel is told of the launch that it was made for."""
    from .hooks import Call

    kernel.tell(Call.of(function, args, kwargs))


def tell_failed(error, function, made):
    """Asked by the extension: an error of a launch speaks of the function that the user wrote."""
    if isinstance(error, TritonError):
        tell_as_written(error, function, made)


def bind(function, grid, args, kwargs):
    """Asked by the extension: the bound call of one with descriptors."""
    return Taken(function, grid, args, kwargs).bind(grid)


def _given(function, args, kwargs):
    """(arguments by name, options)"""
    names = function.arg_names
    if len(args) > len(names) and function.rest_place is None:
        raise LaunchError(f"`{function.__name__}` takes {len(names)} arguments, not {len(args)}")
    given, options = function.by_name(args), {}
    for name, value in kwargs.items():
        if name in given:
            raise LaunchError(f"`{function.__name__}` is given `{name}` twice")
        (given if name in names else options)[name] = value
    return given, options


def parts_of(function, made, args):
    """All arguments of `made`, which takes those of `function` apart."""
    arguments = take_apart(function, None, *_as_call(function, args))[3]
    missing = [name for name in made.arg_names if name not in arguments]
    if missing:
        raise LaunchError(f"the kernel was compiled for tensor descriptors in other places: it takes `{missing[0]}`, and that is in none "
                          f"of the arguments\n  hint: launch the function itself, {function.__name__}[grid](...)")
    return tuple(arguments[name] for name in made.arg_names)


def _as_call(function, args):
    """(args, kwargs) of a call with one argument for each parameter."""
    place = function.rest_place
    if place is None:
        return args, {}
    return (*args[:place], *args[place]), dict(zip(function.arg_names[place + 1:], args[place + 1:]))


class Taken:
    """A launch whose descriptors are taken apart, if there are any."""

    def __init__(self, function, grid, args, kwargs):
        self.written, self.grid = function, grid
        self.has_descriptors = are_among(args, kwargs)
        taken = take_apart(function, grid, args, kwargs) if self.has_descriptors else (function, grid, args, kwargs)
        self.function, self._own_grid, self._args, self._kwargs = taken

    def run(self, grid):
        """Launches on the grid, that of the launch or what it gave; compiles only where that is None."""
        return self._of(lambda launcher: launcher(*self._args, **self._kwargs), grid)

    def bind(self, grid):
        return self._of(lambda launcher: launcher.bind(*self._args, **self._kwargs), grid)

    def _of(self, call, grid):
        launcher = core.launcher(self.function, self._own_grid if grid is self.grid else grid, True)
        try:
            return call(launcher)
        except TritonError as error:
            if self.has_descriptors:
                tell_as_written(error, self.written, self.function)
            raise
