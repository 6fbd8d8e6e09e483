// Tiles in an order of their own, for ops that are no nest: element by element, which is right for any order
// of reads and writes, or in vectors of lanes along one dimension.
#pragma once
#include "targets/cpu/Evaluator.h"

namespace tegula::cpu {

class ElementLoop {
public:
  explicit ElementLoop(ProgramEmitter &program) : ElementLoop(program, std::nullopt) {}
  // Lanes run over `laneDim`; without one each element is a scalar.
  ElementLoop(ProgramEmitter &program, std::optional<unsigned> laneDim)
      : program_(program), evaluator_(program, laneDim ? program.machine.lanes() : 1, true),
        laneDim_(laneDim) {
    evaluator_.pushLevel();
  }

  Evaluator &evaluator() { return evaluator_; }

  // The minor dimension of a tile, if it fills lanes and is not `except`: rows along it are contiguous in
  // buffers.
  static std::optional<unsigned> laneDimOf(const ProgramEmitter &program, llvm::ArrayRef<int64_t> shape,
                                           std::optional<unsigned> except = std::nullopt) {
    for (unsigned d = shape.size(); d-- > 0;)
      if (shape[d] != 1)
        return d != except && 2 * shape[d] >= program.machine.lanes() ? std::optional(d) : std::nullopt;
    return std::nullopt;
  }

  // body(at) for each element of a tile of `shape`, or each vector of them; once for a scalar. `except` is
  // not looped over: 0 there.
  void over(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(const Coordinates &)> body,
            std::optional<unsigned> except = std::nullopt) {
    Coordinates at(shape.size(), evaluator_.zero());
    along(shape, 0, except, at, body);
  }

  // for (i = begin; i < end; i += step) body, as one more loop level.
  void along(llvm::Value *begin, llvm::Value *end, llvm::function_ref<void(const Coordinate &)> body,
             int64_t step = 1) {
    evaluator_.sealLevel();
    program_.loop(begin, end, step, "element", [&](llvm::Value *index) {
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

  // Lanes from `first` on that are below `extent`; nullptr: all.
  llvm::Value *lanesWithin(llvm::Value *first, int64_t extent) {
    unsigned lanes = evaluator_.lanes;
    if (extent % lanes == 0)
      return nullptr;
    auto &b = program_.builder;
    llvm::SmallVector<llvm::Constant *, 16> steps;
    for (unsigned i = 0; i < lanes; ++i)
      steps.push_back(b.getInt64(i));
    llvm::Value *left = b.CreateVectorSplat(lanes, b.CreateSub(b.getInt64(extent), first));
    return b.CreateICmpSLT(llvm::ConstantVector::get(steps), left);
  }

private:
  void along(llvm::ArrayRef<int64_t> shape, unsigned d, std::optional<unsigned> except, Coordinates &at,
             llvm::function_ref<void(const Coordinates &)> body) {
    if (d == shape.size())
      return body(at);
    bool isLane = laneDim_ == d;
    if (d == except || (shape[d] == 1 && !isLane))
      return along(shape, d + 1, except, at, body);
    along(
        program_.i64(0), program_.i64(shape[d]),
        [&](const Coordinate &c) {
          at[d] = c;
          at[d].lane = isLane;
          if (isLane)
            evaluator_.within = lanesWithin(c.index, shape[d]);
          along(shape, d + 1, except, at, body);
          if (isLane)
            evaluator_.within = nullptr;
          at[d] = evaluator_.zero();
        },
        isLane ? evaluator_.lanes : 1);
  }

  ProgramEmitter &program_;
  Evaluator evaluator_;
  std::optional<unsigned> laneDim_;
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
