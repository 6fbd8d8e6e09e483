// Checks of sums, differences and products of integers with `debug`, as upstream has them: computed once more
// in 64 bits, the result must be one of the type. Integers of 64 bits are not checked, nor is the function of
// a reduction.
#include "sema/builtins/Emit.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tegula::sema {

using namespace builtins;
namespace arith = mlir::arith;
using BinOp = syntax::BinaryOperator;

// The function of a reduction or a scan has no effects.
static bool mayAssert(mlir::Block *block) {
  mlir::Operation *around = block->getParentOp();
  while (around && llvm::isa<mlir::scf::IfOp, mlir::scf::ForOp, mlir::scf::WhileOp>(around))
    around = around->getParentOp();
  return llvm::isa_and_nonnull<mlir::FunctionOpInterface>(around);
}

std::optional<Value> checkedBinary(Session &session, BinOp op, const Value &left, const Value &right) {
  auto result = binary(session, op, left, right);
  bool mayOverflow = op == BinOp::Add || op == BinOp::Sub || op == BinOp::Mul;
  auto *tensor = result && mayOverflow ? result->tensor() : nullptr;
  if (!session.options.debug || !session.options.sanitizesOverflow || !tensor || tensor->type.pointer)
    return result;
  DType type = tensor->type.element;
  bool isChecked = isInteger(type) && type != DType::I1 && bitWidth(type) < 64;
  if (!isChecked || !mayAssert(session.builder.getInsertionBlock()))
    return result;
  std::optional<Value> sides[2];
  for (size_t i = 0; i != 2; ++i) {
    auto side = toTensor(session, i ? right : left);
    auto narrow = side ? cast(session, *side, type) : std::nullopt;
    auto wide = narrow ? cast(session, *narrow, DType::I64) : std::nullopt;
    if (!wide)
      return std::nullopt;
    sides[i] = *wide;
  }
  auto exact = binary(session, op, *sides[0], *sides[1]);
  if (!exact)
    return std::nullopt;
  unsigned magnitude = bitWidth(type) - isSigned(type);
  Value least(makeInt(isSigned(type) ? -(int64_t(1) << magnitude) : 0));
  Value most(makeInt((int64_t(1) << magnitude) - 1));
  auto isLow = compare(session, syntax::CompareOperator::Ge, *exact, least);
  auto isHigh = compare(session, syntax::CompareOperator::Le, *exact, most);
  auto holds = isLow && isHigh ? binary(session, BinOp::And, *isLow, *isHigh) : std::nullopt;
  if (!holds)
    return std::nullopt;
  tile::AssertOp::create(session.builder, session.loc(), holds->tensor()->value,
                         std::string(name(type)) + " overflow in `" + std::string(syntax::spelling(op)) +
                             "`");
  return result;
}

} // namespace tegula::sema
