"""What a compile returns: the compiled kernel with its stages and remarks, and its launches."""
import functools
import hashlib
import sys
import warnings
from collections import namedtuple
from collections.abc import ItemsView, KeysView, Mapping, ValuesView

from .. import _tegula as core
from .. import knobs
from ..backends.compiler import GPUTarget
from ..errors import CompilationError, Diagnostic, KeywordError, LaunchError, ToolchainError, placed
from . import descriptors, dumps
from .callables import found_again

Argument = namedtuple("Argument", "name dtype is_pointer is_written")
Remark = namedtuple("Remark", "location kind text")

# Upstream's names of stages.
_ALIASES = {"llir": "llvm", "ttgir": "simt", "source": "ttir"}
_LISTED = {"llvm": "llir", "simt": "ttgir"}
_BINARY = {"obj", "cubin"}


class Stages(dict):
    """``kernel.asm``: texts of stages by name, made when they are asked for. What a disassembler makes is not listed, and is
    there for those who ask. The dictionary itself holds what a program sets, and in another process than the compile's all."""

    def __init__(self, raw, kept=()):
        super().__init__(kept)
        self._raw = raw

    def __missing__(self, name):
        stage = _ALIASES.get(name, name)
        if stage != name and super().__contains__(stage):
            return super().__getitem__(stage)
        if self._raw is None or stage not in self._raw.stages():
            raise KeyError(name)
        data = self._raw.stage(stage)
        return data if stage in _BINARY else data.decode()

    def all(self):
        """The names of all stages."""
        made = [] if self._raw is None else [_LISTED.get(stage, stage) for stage in self._raw.stages()]
        return [*made, *(name for name in super().__iter__() if name not in made)]

    def __iter__(self):
        return (name for name in self.all() if name != "sass")

    def __contains__(self, name):
        return any(name == known for known in self)

    def __len__(self):
        return len(list(iter(self)))

    def __reversed__(self):
        return reversed(list(self))

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default

    def keys(self):
        return KeysView(self)

    def items(self):
        return ItemsView(self)

    def values(self):
        return ValuesView(self)

    def copy(self):
        return dict(self.items())

    __copy__ = copy

    def __eq__(self, other):
        return isinstance(other, Mapping) and self.copy() == dict(other.items())

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __or__(self, other):
        return self.copy() | other

    def __ror__(self, other):
        return other | self.copy()

    def __repr__(self):
        return repr(self._without_tools(self))

    def _without_tools(self, names):
        """The stages of these names, but for those for which no program is here."""
        made = {}
        for name in names:
            try:
                made[name] = self[name]
            except (ToolchainError, CompilationError):
                continue
        return made

    def __reduce__(self):
        """By what another process needs of them: the code."""
        return Stages, (None, self._without_tools(name for name in self if name in _BINARY or name == "ptx"))


class LazyDict:
    """What a hook is told of a launch; made when it asks. The profiler asks which kernel it is and where it runs."""

    kernel, arguments = None, ()

    def __init__(self, data):
        self.data, self.extras = data, []

    def get(self):
        for function, args in self.extras:
            self.data = self.data | function(*args)
        self.extras = []
        return self.data

    def add(self, func, args):
        self.extras.append((func, args))


def _current_stream():
    from .driver import driver

    return driver.active.get_current_stream(driver.active.get_current_device())


def _target_of(raw, arch):
    digits = "".join(c for c in arch if c.isdigit())
    return GPUTarget("cuda", int(digits), 32) if digits else GPUTarget(raw.target(), "native", 1)


class CompiledKernel:
    """A kernel compiled for one kind of arguments."""

    __slots__ = ("_raw", "_owner", "_function", "__dict__", "__weakref__")
    _call = None  # what it was compiled for, of a launch

    def __init__(self, raw, function):
        """From a launch: the extension's kernel, and the JITFunction."""
        self._raw, self._function = raw, function
        self._owner = getattr(function, "made_of", function)
        self._parameters = tuple(self._owner.arg_names)
        self.asm = Stages(raw)
        self.name = raw.name()
        self._expect_load()
        for row in raw.warnings():
            diagnostic = Diagnostic(*row)
            if diagnostic.kind == "StaticPrint":
                print(diagnostic.message)
            else:
                warnings.warn(placed(diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.message), stacklevel=2)
        dumps.show(self)

    @classmethod
    def from_source(cls, compiled, src, target, options, key):
        """From triton.compile: with the source, so that it can be asked for and compiled again."""
        self = cls.__new__(cls)
        self._raw, self._owner, self._function = compiled._raw, compiled._owner, compiled._function
        self._parameters = compiled._parameters
        self.src, self.asm, self.name, self.hash = src, Stages(compiled._raw), compiled.name, key
        self.metadata = _metadata_of(self, target, vars(options), key)
        self.packed_metadata = (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)
        self.arguments = compiled.arguments
        self._expect_load()
        return self

    def _expect_load(self):
        """Those who are told of loading code are told of this kernel's at its first launch from here."""
        runtime = knobs.runtime
        if runtime.kernel_load_start_hook or runtime.kernel_load_end_hook or runtime.kernel_unload_hook:
            self.is_unloaded = True

    def __del__(self):
        """Those who are told of loading code are told of its end."""
        knobs = sys.modules.get("tegula.knobs")  # None while the interpreter ends
        hook = getattr(getattr(knobs, "runtime", None), "kernel_unload_hook", None)
        if hook and getattr(self, "_raw", None) is not None and "is_unloaded" not in vars(self):
            hook(self.module, self.function, self.name, self.metadata_group, self.hash)

    def _tell_call(self, args, kwargs):
        """Called once, by the launch that this kernel was made for. Of one with descriptors it is told by what took them apart."""
        from .hooks import Call

        if not hasattr(self._function, "made_of"):
            self.tell(Call.of(self._owner, args, kwargs))

    def tell(self, call):
        """`call`, if it is known, is what the kernel was compiled for."""
        if call is not None and self._call is None:
            self._call = call.without_arguments()
            self._owner.__dict__.setdefault("_told", set()).add(call.key)

    @functools.cached_property
    def src(self):
        """The source with the types and constants of the compile; None where they are not known."""
        return self._call and self._call.source()

    def __getstate__(self):
        """What another process needs: the code or, of the cores, the source."""
        known = vars(self)
        state = {name: known[name] for name in ("metadata_group",) if name in known}
        return {**state, **{name: getattr(self, name) for name in ("src", "asm", "name", "hash", "metadata", "packed_metadata",
                                                                  "arguments", "_attributes")}, "_of": self.target}

    def __copy__(self, _=None):
        return self

    __deepcopy__ = __copy__

    def __setstate__(self, state):
        self._raw = self._function = None
        vars(self).update(state)
        self._owner = self.src and self.src.fn
        self._parameters = tuple(self._owner.arg_names) if self._owner else ()

    @property
    def target(self):
        return vars(self)["_of"] if self._raw is None else self._raw.target()

    @functools.cached_property
    def _attributes(self):
        return self._raw.attributes()

    @property
    def n_regs(self):
        """Registers of a thread."""
        return self._attributes["registers"]

    @property
    def n_spills(self):
        """32-bit words of a thread that did not fit into its registers."""
        return max(self._attributes["spill_bytes"], 0) // 4

    @property
    def n_max_threads(self):
        """The threads of a block that the kernel was compiled for; of the cores, which have no blocks, as many as a GPU's have."""
        return self._attributes["warps"] * 32 if self._attributes["warps"] > 0 else 1024

    @functools.cached_property
    def hash(self):
        """The same for the same code, in other processes too."""
        text = f"{self.target} {self.arch} {self.name} {core.digest_of(self._raw)}"
        return hashlib.sha256(text.encode()).hexdigest()

    @functools.cached_property
    def metadata(self):
        """What a launch needs, under upstream's names."""
        from ..compiler.compiler import make_backend

        target = _target_of(self._raw, self._attributes["arch"])
        backend = make_backend(target if target.backend == "cuda" else GPUTarget("cpu", "native", 1))
        options = backend.parse_options(self._call.options if self._call else {})
        return _metadata_of(self, target, vars(options), self.hash)

    @functools.cached_property
    def packed_metadata(self):
        return (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)

    @functools.cached_property
    def metadata_group(self):
        return {}

    @property
    def kernel(self):
        """The code: of GPUs the bytes for the device, else the object file."""
        return self.asm["cubin"] if "cubin" in self.asm else self.asm.get("obj")

    @property
    def function(self):
        """What `run` launches; a handle of its own kind."""
        return self._raw

    @property
    def module(self):
        return self._raw

    @property
    def arch(self):
        """The architecture that the code is for, "sm_90a"; "" where the target has one only."""
        return self._attributes["arch"]

    def _init_handles(self):
        """Has the code at hand in a process that did not compile it: loads it. Where it was compiled it reaches the device
        at the first launch."""
        from . import hooks

        if getattr(self, "_raw", None) is not None:
            hooks.load(self)
            return
        self._owner = self._function = self.src.fn
        if "cubin" in self.asm or "ptx" in self.asm:
            from .loaded import LoadedKernel

            needs = self.metadata
            self._raw = LoadedKernel(self.asm.get("cubin") or self.asm["ptx"].encode() + b"\0", self.name, needs.shared,
                                     needs.num_warps, self.arguments, needs.launch_cooperative_grid)
        else:
            from ..compiler.compiler import compile

            options = {name: getattr(self.metadata, name) for name in _OPTIONS}
            self.src.fn = found_again(self.src.fn)
            self._raw = compile(self.src, self.metadata.target, options)._raw

    @functools.cached_property
    def _places(self):
        """Where the run-time arguments are among all of the function's parameters: paths into tuples."""
        names = self._parameters if self._function is self._owner else self._function.arg_names
        index = {name: number for number, name in enumerate(names)}
        return [(index[name],) if name in index else _path_of(name, index) for name in
                (argument.name for argument in self.arguments)]

    @functools.cached_property
    def _indices(self):
        """The same where no argument is a tuple; else None."""
        return [place[0] for place in self._places] if all(len(place) == 1 for place in self._places) else None

    @property
    def run(self):
        """Launches: run(grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, launch_enter_hook,
        launch_exit_hook, *args) with all arguments of the function, constants included."""
        return self._launch

    def _launch(self, grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, launch_enter_hook,
                launch_exit_hook, *args):
        if vars(self).get("is_unloaded") or getattr(self, "_raw", None) is None:
            self._init_handles()
        values = self._run_time_values(args)
        if launch_enter_hook:
            launch_enter_hook(launch_metadata)
        if isinstance(self._raw, core.Kernel):
            core.launch(self._raw, (grid_0, grid_1, grid_2), stream, values)
        else:
            self._raw.launch((grid_0, grid_1, grid_2), _current_stream() if stream is None else stream, values)
        if launch_exit_hook:
            launch_exit_hook(launch_metadata)

    def launch_metadata(self, grid, stream, *args):
        """What hooks are told of a launch; None where nobody listens."""
        if not knobs.runtime.launch_enter_hook:
            return None
        data = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        data.kernel, data.arguments = self, args
        describe = getattr(self._owner, "launch_metadata", None)
        if describe is not None:
            names = dict(zip(self._owner.arg_names, args))
            data.add(lambda: describe(grid, self.metadata, names) or {}, ())
        return data

    def _run_time_values(self, args):
        """The arguments that the code takes. It was compiled for the others: they may be anything."""
        if len(args) != len(self._parameters):
            self._refuse_count(len(args))
        if self._function is not self._owner:
            args = descriptors.parts_of(self._owner, self._function, args)
        elif descriptors.are_among(args, {}):
            args = tuple(map(descriptors.in_parts, args))
        if self._indices is not None:
            return tuple([args[index] for index in self._indices])
        values = []
        for argument, place in zip(self.arguments, self._places):
            value = args
            for index in place:
                if not isinstance(value, (tuple, list)) or index >= len(value):
                    raise LaunchError(f"`{self.name}` was compiled for an `{argument.name}` within a tuple, and "
                                      f"`{self._parameters[place[0]]}` has none: {value!r:.100}")
                value = value[index]
            values.append(value)
        return tuple(values)

    def _refuse_count(self, count):
        names = self._parameters
        raise LaunchError(f"`{self.name}` takes {len(names)} arguments, those that were constants of its compile included, and {count} "
                          f"were given\n  hint: its parameters: {', '.join(names)}; for a constant None will do")

    def _all_arguments(self, args, kwargs):
        """The arguments in the order of the function's parameters, each of which has one."""
        names = self._parameters
        given = self._owner.by_name(args)
        count = len(args) + len(kwargs)
        for name in kwargs:
            if name not in names:
                raise KeywordError(f"`{name}` is no parameter of `{self.name}`, which is compiled and takes no options any more\n"
                                   f"  hint: its parameters: {', '.join(names)}")
            if name in given:
                raise LaunchError(f"`{self.name}` is given `{name}` twice")
        given.update(kwargs)
        if len(given) != len(names) or (self._owner.rest_place is None and count > len(names)):
            self._refuse_count(count)
        return tuple(given[name] for name in names)

    def __getitem__(self, grid):
        """``compiled[grid](*args, stream=...)``: a launch of this code, with all arguments of the function. Those that were constants
        of the compile are in their places, and mean nothing."""
        if getattr(self, "_raw", None) is None:
            self._init_handles()
        if callable(grid):
            raise LaunchError("the grid of a compiled kernel is a tuple of 1 to 3 ints, and a function was given\n"
                              "  hint: call the function, compiled[grid(meta)](...)")
        extents = core.grid_of(grid)
        is_plain = self._owner.rest_place is None

        def launch(*args, stream=None, **kwargs):
            self._run_on(extents, stream, args if is_plain and not kwargs else self._all_arguments(args, kwargs))

        return launch

    def _run_on(self, grid, stream, args):
        enter, leave, told = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook, None
        if enter:
            told = self.launch_metadata(grid, _current_stream() if stream is None else stream, *args)
        self.run(*grid, stream, self._raw, None, told, enter, leave, *args)

    @functools.cached_property
    def arguments(self):
        """The run-time arguments: name, dtype, whether pointers, whether written."""
        return [Argument(*row) for row in self._raw.arguments()]

    @property
    def remarks(self):
        """What the compiler decided, with the place in the source."""
        return [Remark(*row) for row in self._raw.remarks()] if isinstance(self._raw, core.Kernel) else []

    @property
    def times(self):
        """Milliseconds of each step of the compile."""
        return dict(self._raw.times()) if isinstance(self._raw, core.Kernel) else {}

    def __repr__(self):
        return f"<CompiledKernel {self.name} for {self.target}>"


_OPTIONS = ("num_warps", "num_stages", "maxnreg", "debug", "enable_fp_fusion", "launch_cooperative_grid")


def _path_of(name, index):
    """The path of an element of a tuple, `x.0.1`."""
    first, *rest = name.split(".")
    return (index[first], *map(int, rest))


def _metadata_of(kernel, target, options, key):
    found = kernel._attributes
    warps = found["warps"] if found["warps"] > 0 else options.get("num_warps", 4)
    needs = {"name": kernel.name, "hash": key, "target": target, "shared": max(found["shared_bytes"], 0),
             "num_warps": warps, "num_ctas": 1, "tensordesc_meta": None, "tmem_size": 0,
             "triton_version": sys.modules["tegula"].__version__,
             # On GPUs two pointers behind the arguments, as upstream has them; nothing uses them.
             "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0, "profile_scratch_align": 1}
    return _as_metadata({**options, **needs})


def _as_metadata(fields):
    kind = namedtuple("KernelMetadata", sorted(fields))
    kind.__reduce__ = lambda self: (_as_metadata, (self._asdict(),))
    return kind(**fields)
