// An architecture as the neutral passes see it (ir/simt/Machine.h), from Architecture.def and Mma.def.
#pragma once
#include "ir/simt/Machine.h"
#include "targets/nvidia/Architecture.h"

namespace tegula::nvidia {

class NvidiaMachine : public simt::Machine {
public:
  explicit NvidiaMachine(const Architecture &architecture);
  std::vector<simt::MatrixInstruction> matrixInstructions(const simt::DotTypes &types) const override;
  unsigned addedAtOnce(mlir::Type element) const override;
  bool computesTwo(mlir::Type element) const override;

private:
  unsigned capability_;
};

} // namespace tegula::nvidia
