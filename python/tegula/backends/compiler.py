"""``triton.backends.compiler``: what names a machine to compile for, and what a compiler for it answers."""
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class GPUTarget:
    """A machine: "cuda" with the capability 90 and warps of 32; "cpu" with "native" and 1."""
    backend: str
    arch: int | str
    warp_size: int


class Language(Enum):
    """The languages that a source may be written in."""
    TRITON = 0
    GLUON = 1


class BaseBackend(metaclass=ABCMeta):
    """A compiler for one kind of targets, as code looks at it that drives a compile step by step."""

    supports_native_tensor_specialization = True

    def __init__(self, target):
        if not self.supports_target(target):
            raise ValueError(f"{type(self).__name__} does not compile for {target}")
        self.target = target

    @staticmethod
    @abstractmethod
    def supports_target(target):
        """Says whether it compiles for this target."""

    @abstractmethod
    def hash(self):
        """A text that is another one for another compiler."""

    @abstractmethod
    def parse_options(self, options):
        """An object with the options of a compile as attributes."""

    @abstractmethod
    def add_stages(self, stages, options):
        """Puts a function for each stage of a compile into `stages`."""

    @abstractmethod
    def load_dialects(self, context):
        """Tells a context about the operations of the target."""

    @abstractmethod
    def get_module_map(self):
        """Modules of the language that mean others on this target, by name."""

    @staticmethod
    def parse_attr(desc):
        """The facts that a specialization's letters tell of a parameter: "D" is divisible by 16."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg, **kwargs):
        return "D" if arg % 16 == 0 and kwargs.get("align", False) else ""

    @staticmethod
    def get_tensor_specialization(arg, **kwargs):
        return "D" if arg.data_ptr() % 16 == 0 and kwargs.get("align", False) else ""

    def get_arg_specialization(self, arg, ty, **kwargs):
        """The letters for an argument of a kind, "int" or "tensor"."""
        if ty == "int":
            return self.get_int_specialization(arg, **kwargs)
        return self.get_tensor_specialization(arg, **kwargs) if ty == "tensor" else None
