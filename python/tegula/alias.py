"""``import triton`` -> this package, in this process and in those that it starts."""
import importlib
import importlib.abc
import importlib.metadata
import importlib.util
import os
import re
import sys
from pathlib import Path

UPSTREAM = "3.6.0"  # the version that a drop-in says it is, unless TEGULA_TRITON_VERSION has another
_HERE = Path(__file__).parent


def upstream_version():
    """The version that a drop-in says it is: libraries ask for it to step around what is wrong in some of upstream's. Raises
    ValueError for a text that is no version."""
    version = os.environ.get("TEGULA_TRITON_VERSION") or UPSTREAM
    if not re.fullmatch(r"\d+(\.\d+)+([.+a-z0-9-]*)", version):
        raise ValueError(f"TEGULA_TRITON_VERSION is `{version}`; hint: a version of upstream, such as {UPSTREAM}")
    return version


class _Metadata(importlib.metadata.Distribution):
    """The package `triton` as it tells of itself, with the version of `upstream_version`."""

    def read_text(self, filename):
        return f"Metadata-Version: 2.1\nName: triton\nVersion: {upstream_version()}\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return _HERE / "dropin" / path


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers ``triton`` and ``triton.x`` with ``tegula`` and ``tegula.x``, the same module objects."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        found = importlib.util.find_spec("tegula" + fullname[len("triton"):])
        if found is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=found.submodule_search_locations is not None)

    def get_code(self, fullname):
        """The code of a module that is run as a program, ``python -m triton.profiler.viewer``."""
        name = "tegula" + fullname[len("triton"):]
        return importlib.util.find_spec(name).loader.get_code(name)

    def find_distributions(self, context):
        return [_Metadata()] if context.name == "triton" else []

    def create_module(self, spec):
        module = importlib.import_module("tegula" + spec.name[len("triton"):])
        # The import system writes its own spec into the module; it gets the old one back. It also sets the module as an
        # attribute of its parent, which may have given that name to something else: runtime.driver.
        self._saved = module.__spec__, module.__loader__
        return module

    def exec_module(self, module):
        module.__spec__, module.__loader__ = self._saved


def _share():
    """Gives what is loaded of this package its other name."""
    for name, module in list(sys.modules.items()):
        if name == "tegula" or name.startswith("tegula."):
            sys.modules["triton" + name[len("tegula"):]] = module


def _pass_on():
    """Child processes find `triton` in a folder in front of others, and the version of the package too."""
    folders = [str(_HERE / "dropin"), str(_HERE.parent)]
    known = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *(folder for folder in known if folder not in folders)])
    if folders[0] not in sys.path:
        sys.path.insert(0, folders[0])


def told_version(own):
    """The version that the package tells: its own, or the drop-in's, also where a program loads the module again."""
    return upstream_version() if any(isinstance(finder, _Finder) for finder in sys.meta_path) else own


def install_as_triton():
    """Makes ``import triton`` and its submodules mean Tegula, in this process and in those that it starts, from now on."""
    version = upstream_version()
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    for name in [n for n in sys.modules if n == "triton" or n.startswith("triton.")]:
        if not getattr(sys.modules[name], "__name__", "").startswith("tegula"):
            del sys.modules[name]
    tegula = importlib.import_module("tegula")
    tegula.__version__ = version
    _share()
    _pass_on()
