// Tile IR given as text, compiled for this machine and run on the test's memory.
#pragma once
#include "ir/tile/Tile.h"
#include "runtime/LoadedCode.h"
#include "targets/cpu/Cpu.h"

#include "mlir/Parser/Parser.h"
#include <algorithm>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tegula::test {

struct Compiled {
  explicit Compiled(const std::string &text, const std::string &cpu = "")
      : context(mlir::MLIRContext::Threading::DISABLED) {
    tile::loadDialects(context);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "the text does not parse:\n" << text;
      return;
    }
    auto compiled = cpu::compile(*module, {.cpu = cpu}, {.llvm = true});
    status = compiled.status();
    if (compiled)
      artifact = std::move(*compiled);
  }

  Status run(std::vector<uint64_t> arguments, runtime::Grid grid = {}) {
    if (!status.ok())
      return status;
    auto loaded = runtime::loadKernel(artifact.object, artifact.symbol, artifact.scratchBytes);
    return loaded ? runtime::launch(loaded->kernel, arguments, grid) : loaded.status();
  }

  size_t remarks(const std::string &kind, const std::string &text) const {
    return size_t(std::ranges::count_if(artifact.remarks, [&](const diag::Remark &remark) {
      return remark.kind == kind && remark.text.find(text) != std::string::npos;
    }));
  }
  bool hasRemark(const std::string &kind, const std::string &text) const { return remarks(kind, text) != 0; }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  cpu::Artifact artifact;
  Status status;
};

template <class T> uint64_t address(std::vector<T> &buffer) {
  return reinterpret_cast<uint64_t>(buffer.data());
}

// tt.func @k(%p, %q: pointers to i32, ...) with tiles of 64 addresses %pa and %qa, and %i = 0..63.
inline std::string overTwoArrays(const std::string &body, const std::string &more = "") {
  return "tt.func @k(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>" + more + R"() {
    %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ps = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %pa = tt.addptr %ps, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %qs = tt.splat %q : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %qa = tt.addptr %qs, %i : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
)" + body +
         "\n  tt.return\n}\n";
}

} // namespace tegula::test
