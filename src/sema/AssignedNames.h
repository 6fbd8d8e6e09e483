// What a block of statements assigns, found on the tree: the names a loop carries and the
// names an `if` merges, known before the block is visited. Kept per block, since nested
// loops ask again.
#pragma once
#include "syntax/Ast.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <span>

namespace tegula::sema {

struct BlockFacts {
  llvm::SmallVector<llvm::StringRef, 8> assigned;      // in order of first appearance, once each
  llvm::SmallVector<llvm::StringRef, 2> loopVariables; // names that only `for` binds
  // Statements that leave the block: out of the function; out of the loop around it, or of a trip.
  bool hasReturn = false, hasBreak = false, hasContinue = false;
  bool hasExit() const { return hasReturn || hasBreak || hasContinue; }
  bool hasUnknown = false; // a statement outside of the language may bind more
};

class AssignedNames {
public:
  // Of a block, nested blocks included. The reference is valid until the next call.
  const BlockFacts &of(const syntax::Block &block);
  // Of statements in a row, found anew each time.
  static BlockFacts of(std::span<syntax::Stmt *const> statements);
  // Of one statement; loop variables are among the assigned.
  static BlockFacts of(const syntax::Stmt *statement);
  // Names that an expression assigns (walrus).
  static void collect(const syntax::Expr *node, llvm::SmallVectorImpl<llvm::StringRef> &names);
  // Names that a target of an assignment binds.
  static void collectTarget(const syntax::Expr *target, llvm::SmallVectorImpl<llvm::StringRef> &names);
  // As `of`, but leaves out the dead branch of an `if` whose condition `decide` knows.
  using Decide = llvm::function_ref<std::optional<bool>(const syntax::Expr *)>;
  static BlockFacts live(const syntax::Block &block, Decide decide);

private:
  llvm::DenseMap<const syntax::Block *, BlockFacts> facts_;
};

} // namespace tegula::sema
