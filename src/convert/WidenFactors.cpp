#include "convert/TileToSimt.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::convert {

namespace {

bool isByteFloat(Type type) { return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8; }

} // namespace

void widenFactors(ModuleOp module, const simt::Machine &machine) {
  module.walk([&](DotOp dot) {
    Type a = elementType(dot.getA().getType()), b = elementType(dot.getB().getType());
    if (!isByteFloat(a) && !isByteFloat(b))
      return;
    int64_t k = shapeOf(dot.getA().getType()).back();
    simt::DotTypes types{a, b, elementType(dot.getType()), dot.getPrecision()};
    if (llvm::any_of(machine.matrixInstructions(types), [&](const simt::MatrixInstruction &instruction) {
          return k % instruction.shape.k == 0;
        }))
      return;
    OpBuilder builder(dot);
    for (OpOperand *factor : {&dot.getAMutable(), &dot.getBMutable()})
      if (isByteFloat(elementType(factor->get().getType())))
        factor->set(arith::ExtFOp::create(builder, dot.getLoc(),
                                          withElement(factor->get().getType(), builder.getF16Type()),
                                          factor->get()));
  });
}

} // namespace tegula::convert
