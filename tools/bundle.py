"""`./x bundle`: one compressed folder that runs elsewhere: library, command line, package, headers, tests.

In: a build, and the folder to write to. Out: dist/tegula-VERSION-linux-x86_64.tar.xz and its size. A release build has
LLVM inside of libtegula-core; with `--dev` the objects of the development build are linked anew with LLVM's archives, which
takes seconds. The package is in lib/tegula-python, with an extension for each Python given and the one that built it.
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LLVM = Path("/usr/lib/llvm-22/lib")
SOURCES = ["bench", "examples", "include", "python", "test", "tools", "LICENSE", "README.md", "pyproject.toml", "x"]
MOST = 64  # MiB: what a machine that is lent takes


def tracked(path):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", path], cwd=ROOT, capture_output=True, text=True,
                            check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def link_with_archives(build, library):
    """The development build's libtegula-core, linked anew so that it needs no LLVM of the machine."""
    ours = sorted((build / "lib").glob("libtegula_*.a"))
    llvm = [*sorted(LLVM.glob("libMLIR*.a")), *sorted(LLVM.glob("libLLVM*.a"))]
    subprocess.run(
        ["clang++-22", "-fPIC", "-fuse-ld=lld", "-shared", "-Wl,-soname,libtegula-core.so.0", "-o", library,
         build / "src/compiler/CMakeFiles/tegula_core.dir/CoreExport.cpp.o",
         f"-Wl,--version-script={ROOT / 'src/compiler/core.map'}", "-Wl,--as-needed", "-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,defs",
         "-Wl,--strip-all", "-Wl,--start-group", *ours, *llvm, "-Wl,--end-group", "-l:libmd.a", "-l:libz.a", "-l:libzstd.a", "-ldl", "-lpthread"], check=True)


def other_pythons():
    """Interpreters of other versions with headers, beside the one that runs this."""
    beside = sorted(Path(sys.base_prefix).parent.glob("3.1[2-9]*/bin/python3"))
    found = [*beside, *(Path(path) for path in (shutil.which("python3.12"),) if path)]
    return found


def ask(python, expression):
    asked = subprocess.run([python, "-c", f"import sys, sysconfig; print({expression})"], capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else ""


def compile_extension(python, stage):
    """Tells the name of the extension for `python`; None where it has no headers or is no Python 3.11 or later."""
    suffix, include = ask(python, "sysconfig.get_config_var('EXT_SUFFIX')"), ask(python, "sysconfig.get_path('include')")
    if not suffix or not Path(include, "Python.h").exists():
        return None
    extension = stage / "lib" / "tegula-python" / "tegula" / f"_tegula{suffix}"
    if not extension.exists():
        subprocess.run(["clang++-22", "-std=c++20", "-O2", "-shared", "-fPIC", "-s", f"-I{ROOT / 'include'}", f"-I{include}",
                        *sorted((ROOT / "python" / "bindings").glob("*.cpp")), "-o", extension, f"-L{stage / 'lib'}",
                        "-ltegula", "-Wl,-rpath,$ORIGIN/../.."], check=True)
    return extension.name


def arguments():
    parser = argparse.ArgumentParser(prog="./x bundle")
    parser.add_argument("build", type=Path)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--dev", action="store_true")
    parser.add_argument("--python", action="append", default=[], type=Path)
    return parser.parse_args()


def main():
    args = arguments()
    version = re.search(r"project\(tegula VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    name = f"tegula-{version}-linux-x86_64"
    stage = args.dist / name
    shutil.rmtree(stage, ignore_errors=True)
    args.dist.mkdir(exist_ok=True)
    subprocess.run(["cmake", "--install", args.build, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
    if args.dev:
        link_with_archives(args.build, stage / "lib" / f"libtegula-core.so.{version}")
    extensions = {compile_extension(python, stage) for python in args.python or other_pythons()} - {None}
    for source in SOURCES:
        for file in tracked(source):
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, stage / file)
    archive = args.dist / f"{name}.tar.xz"
    unfinished = archive.with_suffix(".partial")  # nobody finds half of an archive
    subprocess.run(["tar", "-C", args.dist, "--sort=name", "--owner=0", "--group=0", "-I", "xz -T0 -2" if args.dev else "xz -T0 -6",
                    "-cf", unfinished, name], check=True)
    unfinished.rename(archive)
    size = archive.stat().st_size / 2**20
    print(f"{archive.relative_to(ROOT)}: {size:.1f} MiB, of {sum(f.stat().st_size for f in stage.rglob('*')) / 2**20:.0f}; "
          f"extensions besides the build's own: {' '.join(sorted(extensions)) or 'none'}")
    if size > MOST:
        sys.exit(f"bundle: more than {MOST} MiB")


if __name__ == "__main__":
    main()
