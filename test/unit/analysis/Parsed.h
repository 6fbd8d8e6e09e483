// A kernel given as text, for tests that look at single values of it.
#pragma once
#include "ir/tile/Tile.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <string>

namespace tegula::test {

struct Parsed {
  Parsed(const std::string &arguments, const std::string &body)
      : context(mlir::MLIRContext::Threading::DISABLED) {
    tile::loadDialects(context);
    std::string text = "tt.func @k(" + arguments + ") {\n" + body + "\n tt.return\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return;
    }
    module->walk([&](tile::FuncOp f) { function = f; });
  }

  mlir::Value argument(unsigned i) { return function.getBody().getArgument(i); }
  // The value of the op that carries the attribute `here`.
  mlir::Value marked() {
    mlir::Value found;
    module->walk([&](mlir::Operation *op) {
      if (op->hasAttr("here"))
        found = op->getResult(0);
    });
    return found;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  tile::FuncOp function;
};

} // namespace tegula::test
