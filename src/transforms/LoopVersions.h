// A loop twice: as it is, and as it would be if something held that the program asks once, ahead of it.
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tegula::transforms {

// On a loop: beside it stands a version in which its accesses are wide. Copies of boxes are that one's.
inline constexpr llvm::StringLiteral hasVersionName = "tt.has_version";
// On that version: nobody asked for it, so that it takes no more shared memory than there is.
inline constexpr llvm::StringLiteral isVersionName = "tt.is_version";

// Lists how wide the loads of tiles in a loop are, in elements an access, under the facts and promises of the
// function as it stands.
std::vector<unsigned> loadWidths(mlir::scf::ForOp loop);

// Puts the loop, marked, into the else branch of an `scf.if` on `condition`, and a version of it into the
// other one. That version reads the values `changed` and all that comes from them anew, from `replacement` in
// their place. `replacement` builds at the start of the branch, and looks up in the map what was replaced
// before.
void versionLoop(
    mlir::scf::ForOp loop, mlir::Value condition, llvm::ArrayRef<mlir::Value> changed,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &builder, mlir::Value value, const mlir::IRMapping &map)>
        replacement);

} // namespace tegula::transforms
