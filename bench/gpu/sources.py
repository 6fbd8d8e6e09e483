"""One example file, loaded once for each compiler: the same text, in which `triton` is the package asked for.

Every load is a file of its own, since compilers read a kernel's source from its file, and a module of its own,
so nothing compiled for one load is found by another.
"""
import importlib.util
import itertools
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "kernels"
PACKAGES = {"ours": "tegula", "upstream": "triton"}
PATTERNS = ["import tegula as triton", "import tegula.language as tl"]

last_compiled = None  # what the last launch of a watched kernel returned
only_compile = False  # whether launches of watched kernels compile and launch nothing

_folder = tempfile.TemporaryDirectory(prefix="kernels-")
_numbers = itertools.count()


def retargeted(text, package):
    """The text of an example with its two imports naming `package`."""
    for pattern in PATTERNS:
        if text.count(pattern) != 1:
            raise ValueError(f"an example says `{pattern}` once; this one {text.count(pattern)} times")
        text = text.replace(pattern, pattern.replace("tegula", package))
    return text


class Watched:
    """A kernel whose launches leave the compiled kernel in `last_compiled`."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __getitem__(self, grid):
        launcher = self.kernel[grid]

        def launch(*arguments, **options):
            global last_compiled
            last_compiled = (self.kernel.warmup(*arguments, grid=grid, **options) if only_compile else
                             launcher(*arguments, **options))
            return last_compiled

        return launch


def watch(scope):
    """Puts Watched around what a module launches: names that end in `_kernel`, and tables of such kernels."""
    for name, value in list(scope.items()):
        if isinstance(name, str) and name.endswith("_kernel"):
            scope[name] = Watched(value)
        elif name == "KERNELS":
            scope[name] = {form: Watched(kernel) for form, kernel in value.items()}


def load(name, package, folder=EXAMPLES):
    path = Path(_folder.name) / f"{name}_{package}_{next(_numbers)}.py"
    path.write_text(retargeted((folder / f"{name}.py").read_text(), package))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def for_each(name, build, packages=None, watched=True, folder=EXAMPLES):
    """{contestant: build(module)}, or the exception that loading or building ended in."""
    contestants = {}
    for contestant, package in (packages or PACKAGES).items():
        try:
            module = load(name, package, folder)
            if watched:
                watch(vars(module))
            contestants[contestant] = build(module)
        except Exception as error:
            contestants[contestant] = error
    return contestants
