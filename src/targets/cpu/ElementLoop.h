// Tiles element by element, in row-major order: for ops that are no nest. Slow next to vectors, right
// for any order of reads and writes.
#pragma once
#include "targets/cpu/Evaluator.h"

namespace tegula::cpu {

class ElementLoop {
public:
  explicit ElementLoop(ProgramEmitter &program) : program_(program), evaluator_(program, 1, true) {
    evaluator_.pushLevel();
  }

  Evaluator &evaluator() { return evaluator_; }

  // body(at) for each element of a tile of `shape`; once for a scalar. `except` is not looped over: 0 there.
  void over(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const Coordinates &)> body,
            std::optional<unsigned> except = std::nullopt) {
    Coordinates at(shape.size(), evaluator_.zero());
    along(shape, 0, except, at, body);
  }

  // for (i = begin; i < end; ++i) body, as one more loop level.
  void along(llvm::Value *begin, llvm::Value *end, llvm::function_ref<void(const Coordinate &)> body) {
    evaluator_.sealLevel();
    program_.loop(begin, end, 1, "element", [&](llvm::Value *index) {
      evaluator_.pushLevel();
      body({index, false, evaluator_.level(), -1});
      evaluator_.popLevel();
    });
  }

  // A tile's element, or a scalar. What is evaluated in a branch is not known behind it: evaluate first.
  llvm::Value *element(mlir::Value value, llvm::ArrayRef<Coordinate> at) {
    return mlir::isa<mlir::RankedTensorType>(value.getType()) ? evaluator_.evaluate(value, at)
                                                              : program_.scalar(value);
  }

private:
  void along(llvm::ArrayRef<int64_t> shape, unsigned d, std::optional<unsigned> except, Coordinates &at,
             llvm::function_ref<void(const Coordinates &)> body) {
    if (d == shape.size())
      return body(at);
    if (d == except || shape[d] == 1)
      return along(shape, d + 1, except, at, body);
    along(program_.i64(0), program_.i64(shape[d]), [&](const Coordinate &c) {
      at[d] = c;
      along(shape, d + 1, except, at, body);
      at[d] = evaluator_.zero();
    });
  }

  ProgramEmitter &program_;
  Evaluator evaluator_;
};

// A combine function that branches, on scalars: arguments -> what its terminator names. Its blocks have steps
// in the plan.
inline llvm::SmallVector<llvm::Value *> emitFunction(ProgramEmitter &p, mlir::Block &block,
                                                     llvm::ArrayRef<llvm::Value *> arguments) {
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    p.setScalar(argument, value);
  p.emitBlock(&block);
  llvm::SmallVector<llvm::Value *> results;
  for (mlir::Value value : block.getTerminator()->getOperands())
    results.push_back(p.scalar(value));
  return results;
}

// A reduction by such a function; lower/Scan.cpp.
void emitReduce(ProgramEmitter &p, mlir::Operation *op);

} // namespace tegula::cpu
