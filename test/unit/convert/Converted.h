// A kernel as text -> the same kernel in simt, as the targets make it: canonical, equal values once.
#pragma once
#include "convert/TileToSimt.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Canonicalizer.h"
#include "ir/tile/EqualOps.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tegula::convert {

struct Converted {
  explicit Converted(const std::string &text, unsigned warps = 4)
      : text(text), context(mlir::MLIRContext::Threading::DISABLED) {
    simt::loadDialects(context);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return;
    }
    tile::eliminateEqualOps(*module);
    tile::canonicalize(*module);
    accesses = count<tile::LoadOp>() + count<tile::StoreOp>();
    tileToSimt(*module, {warps, 1, simt::Machine()}, remarks);
  }

  std::string printed() {
    std::string out;
    llvm::raw_string_ostream(out) << *module;
    return out;
  }
  // The ops of one kind, in order.
  template <typename Op> std::vector<Op> all() {
    std::vector<Op> found;
    module->walk([&](Op op) { found.push_back(op); });
    return found;
  }
  template <typename Op> size_t count() { return all<Op>().size(); }
  // Of a load or a store.
  static unsigned width(mlir::Operation *access) {
    return unsigned(access->getAttrOfType<mlir::IntegerAttr>(simt::widthName).getInt());
  }

  std::string text;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  size_t accesses = 0; // loads and stores before
  std::vector<diag::Remark> remarks;
};

} // namespace tegula::convert
