"""What a launch returns: the compiled kernel with its stages and remarks."""
import functools
import warnings
from collections import namedtuple
from collections.abc import Mapping

from ..errors import Diagnostic

Argument = namedtuple("Argument", "name dtype is_pointer is_written")
Metadata = namedtuple("Metadata", "name shared num_warps num_ctas target")
Remark = namedtuple("Remark", "location kind text")

# Upstream's names of stages.
_ALIASES = {"llir": "llvm", "ttgir": "simt"}
_BINARY = {"obj", "cubin"}


class _Stages(Mapping):
    """``kernel.asm``: texts of stages by name, made when they are asked for."""

    def __init__(self, raw):
        self._raw = raw

    def __getitem__(self, name):
        stage = _ALIASES.get(name, name)
        if stage not in self._raw.stages():
            raise KeyError(name)
        data = self._raw.stage(stage)
        return data if stage in _BINARY else data.decode()

    def __iter__(self):
        back = {stage: alias for alias, stage in _ALIASES.items()}
        return (back.get(stage, stage) for stage in self._raw.stages())

    def __len__(self):
        return len(self._raw.stages())


class CompiledKernel:
    """A kernel compiled for one kind of arguments."""

    def __init__(self, raw, function):
        self._raw, self.function = raw, function
        for row in raw.warnings():
            diagnostic = Diagnostic(*row)
            if diagnostic.kind == "StaticPrint":
                print(diagnostic.message)
            else:
                warnings.warn(f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}: {diagnostic.message}", stacklevel=2)

    @property
    def name(self):
        return self._raw.name()

    @property
    def target(self):
        return self._raw.target()

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

    @functools.cached_property
    def metadata(self):
        """What a launch needs, under upstream's names."""
        found = self._attributes
        return Metadata(self.name, max(found["shared_bytes"], 0), found["warps"], 1, found["arch"] or self.target)

    @property
    def arch(self):
        """The architecture that the code is for, "sm_90a"; "" where the target has one only."""
        return self._attributes["arch"]

    def _init_handles(self):
        """Upstream loads the code here; it is loaded at the first launch."""

    def __getitem__(self, grid):
        """``compiled[grid](*args)``: a launch of the function with these arguments, constants included."""
        options = {"num_warps": self._attributes["warps"]} if self._attributes["warps"] > 0 else {}
        return lambda *args, **kwargs: self.function[grid](*args, **{**options, **kwargs})

    @property
    def asm(self):
        return _Stages(self._raw)

    @property
    def arguments(self):
        """The run-time arguments: name, dtype, whether pointers, whether written."""
        return [Argument(*row) for row in self._raw.arguments()]

    @property
    def remarks(self):
        """What the compiler decided, with the place in the source."""
        return [Remark(*row) for row in self._raw.remarks()]

    @property
    def times(self):
        """Milliseconds of each step of the compile."""
        return dict(self._raw.times())

    def __repr__(self):
        return f"<CompiledKernel {self.name} for {self.target}>"
