"""Packages of what is installed: a tarball and Debian packages that hold a tool chain which runs."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEGULA_BUILD_DIR", ROOT / "build"))
pytestmark = pytest.mark.skipif(not shutil.which("cpack") or not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"),
                                reason="cpack or Debian's packaging tools are not installed")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    done = subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()


def run_from(root, tmp_path):
    (tmp_path / "k.py").write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x):\n    tl.store(x, 7.0)\n")
    done = subprocess.run([root / "bin" / "tegula", "run", "k.py", "--grid", "1", "--arg", "x=new:f32[1]", "--save", "x=x.npy"],
                          cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/nowhere", "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.npy").read_bytes().endswith(b"\x00\x00\xe0\x40")


def test_debian_package(packages, tmp_path):
    package, = packages.glob("tegula_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, tmp_path / "root"], check=True)
    run_from(tmp_path / "root" / "usr", tmp_path)
    depends = field(package, "Depends")
    assert "libc6" in depends and "ssl" not in depends and "hiredis" not in depends
    for path in ("include/tegula/tegula.h", "lib/libtegula-rt.so", "lib/cmake/tegula/tegulaConfig.cmake",
                 "lib/tegula-python/tegula/__init__.py"):
        assert (tmp_path / "root" / "usr" / path).exists(), path
    assert not (tmp_path / "root/usr/lib/libtegula-remote.so").exists()


def test_debian_package_of_the_remote_cache(packages):
    found = list(packages.glob("tegula-remote-cache_*.deb"))
    if not found:
        pytest.skip("the build has no libtegula-remote")
    assert "libssl" in field(found[0], "Depends") and "tegula (= " in field(found[0], "Depends")


def test_tarball(packages, tmp_path):
    archive, = packages.glob("*.tar.xz")
    subprocess.run(["tar", "-xJf", archive, "-C", tmp_path], check=True)
    root = tmp_path if (tmp_path / "bin").is_dir() else next(path for path in tmp_path.iterdir() if (path / "bin").is_dir())
    run_from(root, tmp_path)
