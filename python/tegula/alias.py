"""``import triton`` -> this package."""
import importlib
import importlib.abc
import importlib.util
import sys


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers ``triton`` and ``triton.x`` with ``tegula`` and ``tegula.x``, the same module objects."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        if importlib.util.find_spec("tegula" + fullname[len("triton"):]) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec):
        module = importlib.import_module("tegula" + spec.name[len("triton"):])
        # The import system writes its own spec into the module; it gets the old one back.
        self._saved = module.__spec__, module.__loader__
        return module

    def exec_module(self, module):
        module.__spec__, module.__loader__ = self._saved


def install_as_triton():
    """Makes ``import triton`` and its submodules mean Tegula, in this process, from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in [n for n in sys.modules if n == "triton" or n.startswith("triton.")]:
        if not getattr(sys.modules[name], "__name__", "").startswith("tegula"):
            del sys.modules[name]
