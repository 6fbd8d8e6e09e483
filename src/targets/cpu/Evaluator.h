// The elements of a tile at coordinates, as LLVM values. One coordinate may run over the
// lanes of a vector; what does not depend on it is a scalar and is computed once, in the
// loop level that it depends on. Ops that only move elements disappear into coordinates,
// conditions that the nest already knows become constants.
#pragma once
#include "targets/cpu/ProgramEmitter.h"

namespace tegula::cpu {

struct Coordinate {
  llvm::Value *index = nullptr; // i64; of the first lane
  bool lane = false;            // index, index+1, ... over the lanes
  uint8_t level = 0;            // the loop level that defines it
  int8_t dim = -1;              // the nest's dimension, -1: constant 0

  bool operator==(const Coordinate &other) const { return index == other.index && lane == other.lane; }
};
using Coordinates = llvm::SmallVector<Coordinate, 4>;

// Which part of the lanes' dimension a loop covers, relative to the nest's bound.
enum class Region : uint8_t {
  Any,     // nothing is known
  Inside,  // all lanes are below the bound
  Across,  // some are
  Outside, // none is
};

// The condition that most accesses of a nest share: uniform conjuncts (true for a whole row)
// and one upper bound on the lanes' dimension.
struct Bound {
  llvm::SmallVector<analysis::Conjunct, 2> uniform;
  analysis::Conjunct lane; // stride 1 along the lanes' dimension

  bool contains(const analysis::Conjunct &conjunct) const;
};

struct MaskParts; // of a vector (Evaluator.cpp)

class Evaluator {
public:
  // `lanes` 1: scalar code, as the safe variant wants. `exact`: addresses are computed as
  // written, no form is used, and so no condition is needed.
  Evaluator(ProgramEmitter &program, unsigned lanes, bool exact);

  ProgramEmitter &program;
  const unsigned lanes;
  const bool exact;

  // ---- loop levels ----
  // A value is computed in the deepest level that its coordinates name. While deeper levels
  // are open, a level's values go to the place where it was sealed: seal before emitting
  // a loop, push inside its body, pop at the end of the body.
  void sealLevel();
  void pushLevel() { levels_.emplace_back(); }
  void popLevel() { levels_.pop_back(); }
  uint8_t level() const { return uint8_t(levels_.size() - 1); }
  Coordinate zero() const;

  // ---- the nest's knowledge ----
  std::optional<Bound> bound;
  unsigned laneDim = 0;
  Region region = Region::Any;
  llvm::Value *valid = nullptr;  // Across: lanes below the bound
  llvm::Value *within = nullptr; // lanes inside the tile's extent; nullptr: all
  // Tiles to compute although they have a buffer (this nest writes it), and tiles to read
  // from a place of the nest's own.
  llvm::DenseSet<mlir::Value> written;
  llvm::DenseMap<mlir::Value, const analysis::Buffer *> saved;
  // Loads that read a copy of their tile where the bit is set; they lie as in a buffer along the lanes.
  struct Redirection {
    llvm::Value *isSaved;
    const analysis::Buffer *buffer;
  };
  llvm::DenseMap<mlir::Operation *, Redirection> redirected;
  // Tiles of which a block was read in vectors across the lanes and transposed: one vector for each of
  // `lanes` places along another dimension. Evaluated at the nest's coordinates it is the one at
  // `transposedAt`.
  struct Transposed {
    mlir::Value tile;
    llvm::SmallVector<int8_t, 4> map;
    llvm::SmallVector<llvm::Value *, 16> vectors; // where the places are unrolled,
    llvm::AllocaInst *block = nullptr;            // else in memory
  };
  llvm::SmallVector<Transposed, 2> transposed;
  llvm::Value *transposedAt = nullptr; // i64
  // Stores whose whole vectors are aligned and go past the cache.
  llvm::DenseSet<mlir::Operation *> streamed;
  // Loads that also ask for what lies that many bytes (i64) behind their vectors.
  llvm::DenseMap<mlir::Operation *, llvm::Value *> prefetched;

  // ---- evaluation ----
  llvm::Value *evaluate(mlir::Value tile, llvm::ArrayRef<Coordinate> at);
  // Computes what a store writes, so that it is known when the store comes.
  void prepare(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  void store(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  void write(const analysis::Buffer &buffer, llvm::ArrayRef<Coordinate> at, llvm::Value *value);
  // Element i of vector j goes to place i·n + j behind `at`, n vectors.
  void writeInterleaved(const analysis::Buffer &buffer, llvm::ArrayRef<Coordinate> at,
                        llvm::ArrayRef<llvm::Value *> vectors);
  llvm::Value *read(const analysis::Buffer &buffer, llvm::ArrayRef<Coordinate> at);
  // A polynomial (i64); a vector where a factor depends on the lanes.
  llvm::Value *polynomial(const analysis::Polynomial &value, llvm::ArrayRef<Coordinate> at);

  // Does this access use its form at these coordinates? (Then its conditions are guards.)
  static bool usesForm(const analysis::Address *address, std::optional<unsigned> laneDimOfAccess);

private:
  struct Memo {
    Coordinates at;
    llvm::Value *value;
  };
  struct Level {
    llvm::BasicBlock *block = nullptr; // sealed: values go in front of its terminator
    llvm::DenseMap<mlir::Value, llvm::SmallVector<Memo, 2>> memo;
  };
  // Where a memory access is: a scalar address, or one a lane.
  struct ElementAddress {
    llvm::Value *address;          // ptr or <n x ptr>
    std::optional<int64_t> stride; // bytes between lanes, where constant and address scalar
    llvm::Value *runtimeStride = nullptr;
  };

  llvm::Value *compute(mlir::Value tile, llvm::ArrayRef<Coordinate> at);
  llvm::Value *ofTransposed(mlir::Value tile, llvm::ArrayRef<Coordinate> at);
  llvm::Value *computeLoad(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  llvm::Value *computeReshape(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  llvm::Value *computeGather(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  llvm::Value *computeJoin(mlir::Operation *op, llvm::ArrayRef<Coordinate> at);
  llvm::Value *knownCondition(mlir::Value mask, llvm::ArrayRef<Coordinate> at);
  llvm::Value *index32(const Coordinate &c, int64_t start);
  ElementAddress addressAt(mlir::Value pointers, llvm::ArrayRef<Coordinate> at);
  ElementAddress redirect(mlir::Value pointers, llvm::ArrayRef<Coordinate> at,
                          const Redirection &redirection);
  ElementAddress bufferAddressAt(const analysis::Buffer &buffer, llvm::ArrayRef<Coordinate> at);
  llvm::Value *loadFrom(const ElementAddress &place, llvm::Type *element, llvm::Value *mask,
                        llvm::Value *other, bool isVolatile);
  llvm::Value *someLane(llvm::Value *mask, const MaskParts &parts);
  llvm::Value *loadVector(llvm::Value *address, llvm::FixedVectorType *vector, llvm::Value *mask,
                          llvm::Value *other, bool isVolatile);
  void storeVector(llvm::Value *address, llvm::Value *value, llvm::Value *mask);
  bool comesInRuns(mlir::Value pointers);
  llvm::Value *loadRuns(const ElementAddress &place, llvm::Type *element, llvm::Value *mask,
                        llvm::Value *other);
  llvm::Value *readApart(const ElementAddress &place, llvm::Type *element, unsigned apart);
  void storeTo(const ElementAddress &place, llvm::Value *value, llvm::Value *mask, bool streams = false);
  llvm::Value *pointersOf(const ElementAddress &place, llvm::Type *element);

  std::vector<Level> levels_;
};

} // namespace tegula::cpu
