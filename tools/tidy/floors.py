"""The floors of the house (ARCHITECTURE.md): who may include whom, and who may know what."""
import re

# The table of floors. A module includes lower floors only, and only the modules its DEPS name.
FLOORS = [
    {"base", "mathlib"},
    {"artifact", "cache", "diag", "layout", "runtime", "ptxvm"},
    {"syntax", "tile", "simt", "drivers_cuda", "remote", "tune"},
    {"analysis", "sema", "interp", "loader"},
    {"transforms", "convert", "codegen_llvm", "eager"},
    {"codegen", "codegen_simt", "pipeline"},
    {"cpu", "nvidia", "amd"},
    {"compiler"},
    {"jit"},
    {"capi"},
    {"tools", "bindings", "worker"},
]
FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
# Two modules of one floor that know each other on purpose.
SAME_FLOOR = {("simt", "tile")}

FREE_OF_MLIR = {"base", "mathlib", "artifact", "cache", "diag", "layout", "runtime", "ptxvm", "syntax", "drivers_cuda", "loader", "remote", "tune"}
VENDORS = re.compile(r"\b(nvidia|cuda|ptx|cubin|hopper|amdgpu|rocm|hip)\b", re.IGNORECASE)
# These may name a vendor outside of its rooms: the registry of targets and the table of variables, where users' names
# arrive, and upstream's names of the language's modules.
REGISTRY = ("src/compiler/Targets.cpp", "src/compiler/TargetNvidia.cpp", "src/compiler/TargetPtxvm.cpp", "src/compiler/Ptx.h",
            "src/compiler/BuildNvidia.cpp", "src/compiler/BuildPtxvm.cpp", "src/compiler/Targets.def", "src/base/Environment.def", "src/loader/LoadNvidia.cpp", "src/loader/Loaders.def")
LANGUAGE_NAMES = re.compile(r"(triton\.language\.|tl\.)extra\.\w+")
SOURCES = (".h", ".hpp", ".c", ".cpp", ".def", ".td", ".inc")


def edges(tree):
    """(path, line, module, included module) for every include of our own headers under src."""
    for path in tree.files(*SOURCES, under="src"):
        module = tree.module_of(path.parent)
        if module is None:
            continue
        for line, name, quoted in tree.includes(path):
            beside, rooted = path.parent / name, tree.root / "src" / name
            target = beside if beside.is_file() else rooted
            other = tree.module_of(target.parent)
            if other is not None and other is not module:
                yield path, line, module, other


def includes_go_down(tree):
    for module in tree.modules.values():
        if module.name not in FLOOR:
            yield module.folder / "CMakeLists.txt", 1, "floors", f"`{module.name}` stands on no floor: tools/tidy/floors.py"
        for dep in sorted(module.deps):
            if not below(dep, module.name):
                yield module.folder / "CMakeLists.txt", 1, "floors", f"`{module.name}` depends on `{dep}`, which is not below"
    for path, line, module, other in edges(tree):
        if not below(other.name, module.name):
            yield path, line, "floors", f"`{module.name}` includes `{other.name}`, which is not on a lower floor"


def below(lower, upper):
    if lower not in FLOOR or upper not in FLOOR:
        return True  # reported once, as a module without a floor
    return FLOOR[lower] < FLOOR[upper] or (upper, lower) in SAME_FLOOR


def edges_are_declared(tree):
    seen = set()
    for path, line, module, other in edges(tree):
        if other.name not in module.deps and (path, other.name) not in seen:
            seen.add((path, other.name))
            yield path, line, "edges", f"`{module.name}` includes `{other.name}` without naming it in DEPS"


def modules_free_of_mlir(tree):
    for path in tree.files(*SOURCES, under="src"):
        module = tree.module_of(path.parent)
        if module is None or module.name not in FREE_OF_MLIR:
            continue
        if module.mlir:
            yield module.folder / "CMakeLists.txt", 1, "mlir", f"`{module.name}` must know no MLIR"
        for line, name, _ in tree.includes(path):
            if re.match(r"(mlir|llvm)(-c)?/", name):
                yield path, line, "mlir", f"`{module.name}` must know no MLIR or LLVM, but includes {name}"


def public_headers_stand_alone(tree):
    for path in tree.files(".h", ".hpp", under="include"):
        for line, name, quoted in tree.includes(path):
            standard = not quoted and "/" not in name
            if not standard and not (tree.root / "include" / name).is_file():
                yield path, line, "public", f"a public header may include the standard library and public headers, not {name}"


def vendors_stay_in_their_rooms(tree):
    rooms = [tree.root / "src" / room for room in ("targets", "drivers", "ptxvm")]
    for path in tree.files(*SOURCES, under="src"):
        if any(room in path.parents for room in rooms) or str(path.relative_to(tree.root)) in REGISTRY:
            continue
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if (found := VENDORS.search(LANGUAGE_NAMES.sub("", line))) and not line.lstrip().startswith(("//", "DIAG(", "BUILTIN(")):
                yield path, number, "vendors", f"a vendor's name outside of targets and drivers: {found[0]}"
