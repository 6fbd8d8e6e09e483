// The ops that a target lowers: one row an op, with its lowering in whatever form the target dispatches on,
// and the uses of the op that the target has no code for. Dispatch (`find`), legality (`checkLegal`) and the
// coverage page (tools/coverage_page.py reads the rows of each `Ops.def`) come from the same rows: an op
// without a row is refused by name before any code is generated, and a row cannot be forgotten in one of the
// three.
#pragma once
#include "base/Status.h"

#include "mlir/IR/Operation.h"

namespace tegula::codegen {

// Returns what follows "the target has no" for this use of the op, and behind "; hint: " what a user does
// instead; "" where the lowering handles it.
using Refusal = std::string (*)(mlir::Operation *op);

template <typename Lowering> class OpTable {
public:
  struct Row {
    Lowering lowering;
    Refusal refusal; // null: the lowering handles each use that verifies
  };

  // A later row takes the place of an earlier one of the same op: a target adds its own rows last.
  template <typename Op> void add(Lowering lowering, Refusal refusal) {
    rows_[mlir::TypeID::get<Op>()] = {lowering, refusal};
  }

  const Row *find(mlir::Operation *op) const {
    auto row = rows_.find(op->getName().getTypeID());
    return row == rows_.end() ? nullptr : &row->second;
  }

  std::string reasonAgainst(mlir::Operation *op) const {
    const Row *row = find(op);
    if (!row)
      return "lowering of `" + op->getName().getStringRef().str() + "`";
    return row->refusal ? row->refusal(op) : std::string();
  }

private:
  llvm::DenseMap<mlir::TypeID, Row> rows_;
};

// Unsupported, with the place ("file:line:column: ", as compiler/Targets.h reads it) and the reason of the
// first op below `root` that `reasonAgainst` gives a reason for; Ok where there is none. `target` is the
// target's name in a sentence: "the CPU target".
Status checkLegal(mlir::Operation *root, llvm::StringRef target,
                  llvm::function_ref<std::string(mlir::Operation *)> reasonAgainst);

} // namespace tegula::codegen
