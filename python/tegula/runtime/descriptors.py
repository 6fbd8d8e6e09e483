"""Launches with tensor descriptors among the arguments. The extension takes tensors and numbers, so a kernel is made
that takes those of the descriptors, makes the descriptors of them, and calls the kernel that was launched:

    def matmul_kernel(a_base, a_shape0, a_shape1, a_stride0, K, BLOCK: tl.constexpr):
        _kernel(a=tl.make_tensor_descriptor(a_base, [a_shape0, a_shape1], [a_stride0, 1], [32, 64], 'zero'), K=K, BLOCK=BLOCK)

Extents and strides are then specialized as all integers are. Kernels that are made are kept by their text."""
import linecache

from ..language import core as lang

_class = None  # of descriptors; None: no program has made one
_told = []


def when_expected(function):
    """`function` is called when the first descriptor is made."""
    _told.append(function)


DEEPEST = 100  # as bindings/Values.cpp: tuples nested deeper are no argument


def expect(descriptor_class):
    """An object of `descriptor_class` has been made: launches are looked through from now on."""
    global _class
    if _class is None:
        _class = descriptor_class
        for function in _told:
            function()


def are_expected():
    return _class is not None


def _holds(value, depth=0):
    """Is it a descriptor, or a tuple with one? Those that are nested deeper than a launch takes are left to its refusal."""
    if type(value) is _class:
        return True
    return isinstance(value, (tuple, list)) and depth <= DEEPEST and any(_holds(part, depth + 1) for part in value)


def are_among(args, kwargs):
    return _class is not None and (any(map(_holds, args)) or any(map(_holds, kwargs.values())))


class _Maker:
    """The kernel in the making: its parameters, their values, and what its text names."""

    def __init__(self, function):
        self.names, self.scope = set(function.arg_names), {"_kernel": function}
        self.parameters, self.arguments, self.passed, self.classes = [], {}, [], []
        self.parts = {}  # of descriptors that are parameters: the names of base, extents and strides

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
            return "tl.constexpr"
        annotation = parameter._param.annotation
        if annotation is parameter._param.empty:
            return None
        name = f"_annotation{len(self.scope)}"
        self.scope[name] = annotation
        return name

    def descriptor(self, name, value):
        base = self.add(f"{name}_base", value.base)
        shape = [self.add(f"{name}_shape{i}", extent) for i, extent in enumerate(value.shape)]
        strides = [self.add(f"{name}_stride{i}", stride) for i, stride in enumerate(value.strides[:-1])]
        return (f"tl.make_tensor_descriptor({base}, [{', '.join(shape)}], [{', '.join([*strides, '1'])}], "
                f"{list(value.block_shape)!r}, {value.padding!r})")

    def named(self, kind):
        """The name of a class of NamedTuples within the text."""
        if kind not in self.classes:
            self.classes.append(kind)
        return f"_class{self.classes.index(kind)}"

    def element(self, name, value):
        """The text of a value within a tuple, or of a descriptor."""
        if type(value) is _class:
            return self.descriptor(name, value)
        if isinstance(value, (tuple, list)) and _holds(value):
            elements = "".join(self.element(f"{name}_{i}", part) + ", " for i, part in enumerate(value))
            return f"{self.named(type(value))}({elements})" if hasattr(value, "_fields") else f"({elements})"
        is_constant = value is None or isinstance(value, (str, lang.constexpr, lang.dtype)) or hasattr(value, "fn")
        return self.add(name, value, "tl.constexpr" if is_constant else None)

    def take(self, parameter, value):
        if _holds(value):
            if parameter.is_constexpr:
                raise TypeError(f"parameter `{parameter.name}` is constexpr, and a tensor descriptor is no constant\n"
                                "  hint: take `tl.constexpr` off the parameter")
            before = len(self.arguments)
            text = self.element(parameter.name, value)
            self.parts[parameter.name] = list(self.arguments)[before:]
        else:
            text = self.add(parameter.name, value, self.annotation(parameter), is_own=True)
        self.passed.append(f"{parameter.name}={text}")

    def text(self, name):
        return f"def {name}({', '.join(self.parameters)}):\n    _kernel({', '.join(self.passed)})\n"


def _made(function, maker):
    """The function of the language behind `maker`; one for each text and the classes that it names."""
    known = function.__dict__.setdefault("_of_descriptors", {})
    text = maker.text(function.__name__)
    key = (text, *maker.classes)
    if key not in known:
        from .. import language

        path = f"<{function.__name__} of descriptors {len(known)}>"
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        scope = {"__name__": function.__module__, "tl": language, **maker.scope,
                 **{f"_class{i}": kind for i, kind in enumerate(maker.classes)}}
        exec(compile(text, path, "exec"), scope)
        unmarked = [[name for name in names if isinstance(name, str) and name in maker.arguments]
                    for names in (function.do_not_specialize, function.do_not_specialize_on_alignment)]
        known[key] = type(function)(scope[function.__name__], do_not_specialize=unmarked[0],
                                     do_not_specialize_on_alignment=unmarked[1], debug=function.debug)
    made = known[key]
    made.target = function.target
    return made


def _form_of(given):
    """The function of a launch and the names of its arguments depend on this; None: tuples with descriptors are looked through each time."""
    form = []
    for name, value in given.items():
        if type(value) is _class:
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
    names = function.arg_names
    if len(args) > len(names):
        raise TypeError(f"`{function.__name__}` takes {len(names)} arguments, not {len(args)}")
    given = dict(zip(names, args))
    options = {}
    for name, value in kwargs.items():
        if name in given:
            raise TypeError(f"`{function.__name__}` is given `{name}` twice")
        (given if name in names else options)[name] = value
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
            if parameter.name in given:
                maker.take(parameter, given[parameter.name])
        made, arguments = _made(function, maker), maker.arguments
        if form is not None and not any(map(_holds, defaults.values())):
            function.__dict__["_of_forms"][form] = made, maker.parts, defaults
    if callable(grid):
        of_all = grid
        grid = lambda made: of_all({**made, **given, **options})  # noqa: E731
    return made, grid, (), {**arguments, **options}
