#include "analysis/Multiples.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tegula::analysis {

Value multipleOf(OpBuilder &builder, Location loc, Value integer, uint64_t divisor) {
  Value bits = arith::ConstantOp::create(builder, loc,
                                         builder.getIntegerAttr(integer.getType(), llvm::Log2_64(divisor)));
  Value quotient = arith::ShRSIOp::create(builder, loc, integer, bits, /*isExact=*/true);
  return arith::ShLIOp::create(builder, loc, quotient, bits, arith::IntegerOverflowFlags::nsw);
}

Value withoutMultiple(Value value) {
  auto multiple = value.getDefiningOp<arith::ShLIOp>();
  auto quotient = multiple ? multiple.getLhs().getDefiningOp<arith::ShRSIOp>() : arith::ShRSIOp();
  bool isExact = quotient && quotient.getIsExact() && quotient.getRhs() == multiple.getRhs();
  return isExact ? quotient.getLhs() : value;
}

} // namespace tegula::analysis
