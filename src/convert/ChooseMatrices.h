// Chooses the dots that are computed with matrix instructions, and how their results lie over the warps. In:
// a kernel in tile IR. All dots of one class (Classes.h) get one layout; a dot that would need another one is
// left to multiply-adds. Between the instructions, the two orders of operands and multiply-adds the machine's
// costs decide; an extent that the instruction does not divide is filled up: rows and columns repeat, K has
// zeros.
#pragma once
#include "analysis/AxisInfo.h"
#include "convert/Classes.h"
#include "convert/TileToSimt.h"
#include "layout/Builders.h"

namespace tegula::convert {

struct MatrixDot {
  simt::MatrixInstruction instruction;
  layout::Layout result;
  std::string reason; // the instruction and what is done to fit it, for a remark
  layout::Layout operand(unsigned index, int64_t k) const {
    return layout::matrixOperand(result, instruction.shape, index, k);
  }
};

// A dot that is not in the map is computed with multiply-adds.
llvm::DenseMap<mlir::Operation *, MatrixDot> chooseMatrices(tile::FuncOp function, const Classes &classes,
                                                            analysis::AxisInfoAnalysis &axes,
                                                            const SimtOptions &options);

} // namespace tegula::convert
