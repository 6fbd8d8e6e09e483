"""`./x bundle`: one compressed folder that runs elsewhere: library, command line, package, headers, tests.

In: a release build (static LLVM) and the folder to write to. Out: dist/tegula-VERSION-linux-x86_64.tar.xz and its
size. The package is in lib/tegula-python; its extension is for the Python that built it, and its source travels beside it.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ["examples", "test", "bench", "python/bindings", "LICENSE", "README.md", "pyproject.toml"]


def tracked(path):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", path], cwd=ROOT, capture_output=True, text=True,
                            check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def main(build, dist):
    version = re.search(r"project\(tegula VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    name = f"tegula-{version}-linux-x86_64"
    stage = dist / name
    shutil.rmtree(stage, ignore_errors=True)
    dist.mkdir(exist_ok=True)
    subprocess.run(["cmake", "--install", build, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
    for source in SOURCES:
        for file in tracked(source):
            (stage / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, stage / file)
    archive = dist / f"{name}.tar.xz"
    subprocess.run(["tar", "-C", dist, "--sort=name", "--owner=0", "--group=0", "-I", "xz -T0 -6", "-cf", archive, name],
                   check=True)
    print(f"{archive.relative_to(ROOT)}: {archive.stat().st_size / 2**20:.1f} MiB")


main(Path(sys.argv[1]), Path(sys.argv[2]))
