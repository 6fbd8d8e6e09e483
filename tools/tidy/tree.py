"""The files of the checkout and the modules that CMake declares: what every rule looks at."""
import functools
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Module:
    name: str                 # as in tegula_module(NAME ...)
    folder: Path
    deps: set = field(default_factory=set)
    mlir: bool = False


class Tree:
    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True,
                                text=True, check=True)
        self.paths = [root / name for name in sorted(listed.stdout.split("\n")) if name and (root / name).is_file()]
        self.modules = {}
        for path in self.paths:
            if path.name == "CMakeLists.txt" and (root / "src") in path.parents:
                self._read_modules(path)

    def _read_modules(self, path):
        code = re.sub(r"#.*", "", self.text(path))
        for body in re.findall(r"tegula_module\s*\(([^)]*)\)", code):
            words = body.split()
            module, section = Module(words[0], path.parent), None
            for word in words[1:]:
                if word in ("DEPS", "SRCS"):
                    section = word
                elif word == "MLIR":
                    module.mlir = True
                elif section == "DEPS":
                    module.deps.add(word)
            self.modules[module.name] = module

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return path.read_text(errors="replace")

    def files(self, *suffixes, under=None):
        for path in self.paths:
            if path.suffix in suffixes and (under is None or (self.root / under) in path.parents):
                yield path

    @functools.lru_cache(maxsize=None)
    def module_of(self, folder):
        """The module whose folder is nearest above (or is) this folder; None outside of src."""
        best = None
        for module in self.modules.values():
            if folder == module.folder or module.folder in folder.parents:
                if best is None or len(module.folder.parts) > len(best.folder.parts):
                    best = module
        return best

    def includes(self, path):
        """(line, text within the quotes or brackets, whether quoted)"""
        for number, line in enumerate(self.text(path).splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', line)
            if found:
                yield number, found[1] or found[2], found[1] is not None
