"""The Python package as a wheel: `./x wheel`, and what pip calls for `pip install .` (PEP 517).

In: a build. Out: tegula-VERSION-cpXY-cpXY-PLATFORM.whl, with the library and its compiler (LLVM inside of it), the extension for the Python that
runs this, `tegula`, the worker, libtegula-rt and the headers. Nothing is fetched. PLATFORM is manylinux_2_N where the
libraries ask for nothing but the C and C++ libraries of such systems, else linux: the check that auditwheel makes.
"""
import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

from bundle import ROOT, link_with_archives

MOST = 60  # MiB
# PEP 600: what a manylinux system has, of what we use.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
                 "ld-linux-x86-64.so.2"}
OF_OURS = {"libtegula.so.0"}


# ---- what pip calls ------------------------------------------------------------------------


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Settings: dev, the development build; no-build, what is built already."""
    flags = [f"--{name}" for name in ("dev", "no-build") if (config_settings or {}).get(name)]
    before = set(Path(wheel_directory).glob("*.whl"))
    subprocess.run([sys.executable, ROOT / "x", "wheel", "--out", wheel_directory, "--python", sys.executable, *flags], check=True,
                   stdout=sys.stderr)
    made, = set(Path(wheel_directory).glob("*.whl")) - before
    return made.name


# ---- the parts -----------------------------------------------------------------------------


def compile_extension(package):
    """The bindings for this Python, whose library lies below them."""
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").exists():
        sys.exit(f"wheel: {sys.executable} has no headers in {include}")
    subprocess.run(["clang++-22", "-std=c++20", "-O2", "-shared", "-fPIC", "-s", f"-I{ROOT / 'include'}", f"-I{include}",
                    *sorted((ROOT / "python" / "bindings").glob("*.cpp")), "-o",
                    package / f"_tegula{sysconfig.get_config_var('EXT_SUFFIX')}", f"-L{package / 'lib'}", "-l:libtegula.so.0",
                    "-Wl,-rpath,$ORIGIN/lib"], check=True)


def fill(package, build, dev):
    """The files of the package, each under its place below `tegula`."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Path(folder)
        subprocess.run(["cmake", "--install", build, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
        installed = stage / "lib" / "tegula-python" / "tegula"
        shutil.copytree(installed, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
        (package / "lib").mkdir()
        (package / "bin").mkdir()
        shutil.copytree(stage / "include", package / "include")
        for name in ("libtegula.so.0", "libtegula-core.so.0", "libtegula-rt.so.0"):
            shutil.copy(stage / "lib" / name, package / "lib" / name)  # the file behind the link
        for name in ("tegula", "tegula-worker"):
            shutil.copy(stage / "bin" / name, package / "bin" / name)
    if dev:
        link_with_archives(build, package / "lib" / "libtegula-core.so.0")
    compile_extension(package)


# ---- the tag -------------------------------------------------------------------------------


def needs(binary):
    """(libraries, (major, minor) of the newest glibc symbols) of one file."""
    dump = subprocess.run(["objdump", "-p", binary], capture_output=True, text=True, check=True).stdout
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", dump)
    return set(re.findall(r"NEEDED\s+(\S+)", dump)), max(((int(a), int(b)) for a, b in versions), default=(2, 17))


def platform_of(binaries):
    newest, foreign = (2, 17), set()
    for binary in binaries:
        libraries, version = needs(binary)
        newest = max(newest, version)
        foreign |= libraries - OF_THE_SYSTEM - OF_OURS
    if foreign:
        print(f"wheel: not for every system: it needs {', '.join(sorted(foreign))}", file=sys.stderr)
        return "linux_x86_64"
    return f"manylinux_{newest[0]}_{newest[1]}_x86_64"


# ---- the file ------------------------------------------------------------------------------


def metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}", "License-File: LICENSE"]
    for extra, wanted in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {name}; extra == '{extra}'" for name in wanted)]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()]
    return "\n".join(lines)


def write(wheel, root, info, tag, project):
    """The archive with its list of digests."""
    texts = {f"{info}/METADATA": metadata(project), f"{info}/licenses/LICENSE": (ROOT / "LICENSE").read_text(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tegula\nRoot-Is-Purelib: false\nTag: {tag}\n",
             f"{info}/entry_points.txt": "[console_scripts]\n" + "".join(
                 f"{name} = {place}\n" for name, place in project["scripts"].items())}
    files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    rows = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))  # the same files, the same wheel
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(data)}")

        for name, path in files.items():
            add(name, path.read_bytes(), 0o755 if path.parent.name == "bin" or ".so" in path.name else 0o644)
        for name, text in texts.items():
            add(name, text.encode(), 0o644)
        archive.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2026, 1, 1, 0, 0, 0)), "\n".join([*rows, f"{info}/RECORD,,", ""]))


def main():
    parser = argparse.ArgumentParser(prog="./x wheel")
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--dev", action="store_true")
    args = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    args.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root / "tegula", args.build, args.dev)
        binaries = [path for path in (root / "tegula").rglob("*") if ".so" in path.name or path.parent.name == "bin"]
        tag = f"{python}-{python}-{platform_of(binaries)}"
        info = f"{project['name']}-{project['version']}.dist-info"
        wheel = args.out / f"{project['name']}-{project['version']}-{tag}.whl"
        write(wheel, root, info, tag, project)
    size = wheel.stat().st_size / 2**20
    print(f"{wheel.name}: {size:.1f} MiB")
    if size > MOST:
        sys.exit(f"wheel: more than {MOST} MiB")


if __name__ == "__main__":
    main()
