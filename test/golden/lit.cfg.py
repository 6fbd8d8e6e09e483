"""Golden tests: a kernel file, what it becomes, FileCheck. Beside lit's own words a test may say

  %ir KERNEL 'SIGNATURE'       the tile IR of a kernel of this file, checked with KERNEL as prefix
  %refused KERNEL 'SIGNATURE'  the kernel is refused; the diagnostics, checked with KERNEL as prefix
  %said KERNEL 'SIGNATURE'     the kernel compiles; its warnings and remarks, checked likewise
"""
import os
import pathlib

import lit.formats

root = pathlib.Path(__file__).resolve().parents[2]
build = pathlib.Path(os.environ.get("TEGULA_BUILD_DIR", root / "build"))
llvm = "/usr/lib/llvm-22/bin"

config.name = "golden"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".py", ".mlir", ".test"]
config.excludes = ["lit.cfg.py", "Inputs"]
config.test_source_root = str(root / "test" / "golden")
config.test_exec_root = str(build / "test" / "golden")
config.environment["PATH"] = os.pathsep.join([str(build / "bin"), llvm, os.environ.get("PATH", "")])

for word in ("ir", "refused", "said"):
    config.substitutions.append((f"%{word} ", f"sh {root}/test/golden/check.sh {word} %s "))
