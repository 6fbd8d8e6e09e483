// What fuses with what. A target that turns tiles into loops asks for a plan: for every
// block, a list of steps in order, where a step is a scalar op, a nest of loops, a dot or
// a region. Each tile has one storage class:
//
//   inline     recomputed wherever it is read: its expression is evaluated at coordinates
//   buffered   written once to memory of the program, read from there
//
// A nest is one iteration space with several roots: stores, reductions and writes of
// buffers, each of which evaluates its operands' expressions at the nest's coordinates.
// Sharing a nest means that for each coordinate all loads happen before the stores, but
// not that all loads of the tile happen before the first store: where that could be seen
// (Nest::needsDisjoint), the target proves or tests disjointness and keeps a safe variant.
// Loads whose source may have changed between their place and their use are buffered.
#pragma once
#include "analysis/Access.h"

#include "mlir/IR/Block.h"

#include <deque>
#include <string>
#include <vector>

namespace tegula::analysis {

// Memory of the program for a tile: row-major, static size.
struct Buffer {
  mlir::Type element;
  llvm::SmallVector<int64_t, 3> shape;
  int64_t offset = 0; // bytes from the start of the program's scratch, 64-byte aligned
  int64_t elements() const;
  int64_t elementBytes() const;
};

enum class RootKind : uint8_t { Store, Reduce, Buffer };

// Which loops a reduction combines over.
enum class ReduceOver : uint8_t {
  Lane,  // the dimension of the lanes: done when the lane loop is
  Inner, // another dimension, looped inside the lanes: one result a lane
  All,   // every dimension: done when the nest is
};

struct Root {
  RootKind kind;
  mlir::Operation *op = nullptr;      // Store, Reduce
  mlir::Value value;                  // Buffer: what is written
  ReduceOver over = ReduceOver::Lane; // Reduce
};

struct Nest {
  llvm::SmallVector<int64_t, 3> shape;
  unsigned lane = 0;             // the dimension that runs over vector lanes
  std::optional<unsigned> inner; // the reduced dimension that runs inside the lanes
  llvm::SmallVector<Root, 4> roots;
};

// Whole: an op that reads its tiles element by element in an order of its own (isWhole).
enum class StepKind : uint8_t { Scalar, Nest, Dot, Whole, Region, Yield };

struct NestStep {
  StepKind kind;
  mlir::Operation *op = nullptr; // all but Nest
  Nest nest;                     // Nest
};

struct Decision {
  mlir::Operation *op;
  std::string kind, text; // "buffer": why
};

class NestPlan {
public:
  llvm::ArrayRef<NestStep> steps(mlir::Block *block) const;
  // The buffer of a tile, or nullptr where it is inline. Values may share one.
  const Buffer *buffer(mlir::Value value) const;
  int64_t scratchBytes() const { return scratchBytes_; }
  llvm::ArrayRef<Decision> decisions() const { return decisions_; }
  const std::deque<Buffer> &buffers() const { return buffers_; }

  // Scratch of the target's own (packed operands, tiles saved by a safe variant).
  int64_t reserve(int64_t bytes);
  // Where the safe variant saves a load that shares a nest with a later store.
  const Buffer &saveArea(mlir::Value load);

private:
  friend class Planner;
  llvm::DenseMap<mlir::Block *, std::vector<NestStep>> steps_;
  llvm::DenseMap<mlir::Value, unsigned> bufferOf_;
  llvm::DenseMap<mlir::Value, unsigned> saveAreaOf_;
  std::deque<Buffer> buffers_; // addresses of elements stay
  std::vector<Decision> decisions_;
  int64_t scratchBytes_ = 0;
  unsigned addBuffer(mlir::Type tile);
};

// Plans the body of one tt.func.
NestPlan planNests(mlir::Operation *function, AccessAnalysis &access);

// The plan as text, for tests and `--emit nests`.
std::string print(mlir::Operation *function, const NestPlan &plan);

// The dense tiles that an op reads without buffering its operands: every tile operand of an
// inline op. Ops that are not inline are roots, regions or read buffers.
bool isInline(mlir::Operation *op);
// Must operands of this op be in buffers (the source of a gather, a reshape that is no change of
// coordinates)?
bool readsBuffers(mlir::Operation *op);
// ... this operand of it?
bool readsBuffer(mlir::Operation *op, mlir::Value operand);
// Is this op a step of its own that reads its operands whole? They are in buffers, or cheap to
// evaluate at any coordinates; its results are in buffers.
bool isWhole(mlir::Operation *op);
// A reshape to 1-D that only reductions read: they combine over all its dimensions.
bool isFlattenedReduction(mlir::Operation *op);

} // namespace tegula::analysis
