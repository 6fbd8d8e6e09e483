// The state of emitting one kernel as LLVM IR: where scalars are, where scratch is, what the
// plan says. Every file of this target works on a ProgramEmitter; each adds one subject:
//
//   EmitProgram.cpp   the entry, the loop over programs, blocks and their steps
//   EmitRegion.cpp    for, if, while and the tiles they carry
//   EmitNest.cpp      one nest as loops over native vectors, and its variant in scalars
//   Guards.cpp        the run-time conditions under which the fast variant is right
//   Streaming.cpp     stores that go past the cache
//   FreshOutputs.cpp  outputs that a launch fills, told to the runtime ahead
//   Prefetch.cpp      rows that the next trip reads
//   Transposition.cpp tiles that are contiguous across the lanes
//   Evaluator.h       a tile's elements at coordinates: the expression language of nests
//   ElementLoop.h     tiles by elements or vectors in order, for ops that are no nest
//   lower/<Family>    one op family each
//
//   Ops.def           which ops there are, and which of these functions lowers each
//
// What the target cannot do was refused before (Ops.def): emission does not fail.
#pragma once
#include "analysis/Access.h"
#include "analysis/Nests.h"
#include "targets/cpu/Cpu.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Target/TargetMachine.h"

#include <functional>

namespace tegula::cpu {

// The machine in the terms of this target.
struct CpuModel {
  unsigned vectorBytes = 32; // 16, 32 or 64
  bool hasFma = true;
  bool hasByteProducts = false;   // sums of four products of bytes in vectors of that many (VNNI)
  bool hasBf16Products = false;   // sums of two products of bf16 in vectors of 64 bytes
  bool hasPairExchange = false;   // of 16 bytes at once (cmpxchg16b)
  uint64_t cacheBytes = 32 << 20; // the last level: an output as large as this does not stay in it
#define COST(type, name, value, unit, meaning, kernel) type name = value;
#include "targets/cpu/Costs.def"
#undef COST
  unsigned lanes() const { return vectorBytes / 4; } // of 32-bit elements, the unit of nests
};

class ProgramEmitter {
public:
  ProgramEmitter(llvm::Module &module, const CpuModel &machine, analysis::NestPlan &plan,
                 analysis::AccessAnalysis &access, std::vector<diag::Remark> &remarks);

  // Emits the entry of `function` under `symbol`.
  void emit(mlir::Operation *function, const std::string &symbol);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  const CpuModel &machine;
  analysis::NestPlan &plan;
  analysis::AccessAnalysis &access;

  // ---- values ----
  llvm::Value *scalar(mlir::Value value);
  void setScalar(mlir::Value value, llvm::Value *emitted) { scalars_[value] = emitted; }
  llvm::Type *type(mlir::Type element); // of a scalar, or of a tile's element
  llvm::Type *lanesOf(llvm::Type *element, unsigned lanes);
  llvm::Value *splat(llvm::Value *value, unsigned lanes); // vectors stay as they are
  llvm::Value *firstLane(llvm::Value *vector);
  llvm::Value *select(llvm::Value *condition, llvm::Value *yes, llvm::Value *no);
  llvm::Value *constant(mlir::Attribute value, mlir::Type element);
  llvm::Value *programId(unsigned axis);
  llvm::Value *numPrograms(unsigned axis);
  llvm::Value *programs() { return programs_; } // of the whole grid, i64
  bool hasStreams = false;                      // some store goes past the cache
  llvm::ConstantInt *i64(int64_t value) { return builder.getInt64(value); }
  llvm::Value *scratchAt(int64_t offset);
  // As many bytes of zeros as the longest vector of a nest has; nobody writes them.
  llvm::Value *zeros();
  // A temporary in the entry block; promoted to registers by LLVM.
  llvm::AllocaInst *temporary(llvm::Type *type, const llvm::Twine &name = "");

  // ---- control flow ----
  // for (i = begin; i < end; i += step) body(i), tested before the first iteration. All i64.
  void loop(llvm::Value *begin, llvm::Value *end, int64_t step, llvm::StringRef name,
            const std::function<void(llvm::Value *)> &body);
  // if (condition) then(); else orelse();
  void branch(llvm::Value *condition, const std::function<void()> &then, const std::function<void()> &orelse,
              bool likely = false);
  llvm::BasicBlock *newBlock(const llvm::Twine &name);

  // ---- ops ----
  void emitBlock(mlir::Block *block);
  // Buffer roots are written to `target` where it is given, else where the plan says.
  void emitNest(const analysis::Nest &nest, const analysis::Buffer *target = nullptr);
  // Rows of Ops.def.
  void emitDot(mlir::Operation *op);
  void emitFor(mlir::Operation *op);
  void emitIf(mlir::Operation *op);
  void emitWhile(mlir::Operation *op);
  void emitYield(mlir::Operation *op);
  void emitScalarMemory(mlir::Operation *op);
  void emitUnsplat(mlir::Operation *op);
  // Writes the elements of a tile to `buffer`, widened where its element type is wider, as a nest of its own
  // where the tile has no buffer. A tile that has one is read from there: computing it again could give
  // something else.
  void copyTo(mlir::Value value, const analysis::Buffer &buffer);
  void copyBuffer(const analysis::Buffer &to, const analysis::Buffer &from);

  // Ends this call of the entry: the launch has failed and knows why.
  void leave();

  // ---- telling ----
  void setLocation(mlir::Location location);
  void remark(mlir::Operation *op, llvm::StringRef kind, std::string text);
  std::string locationOf(mlir::Operation *op); // "file:line:column", or empty

private:
  void emitStep(const analysis::NestStep &step);
  void widenTo(mlir::Value buffered, const analysis::Buffer &buffer);
  void advanceIds();
  // Scalars carried by regions live in temporaries; tiles in their buffers.
  llvm::AllocaInst *slotOf(mlir::Value value);
  void askToGoOn(mlir::Operation *loop, llvm::AllocaInst *counter);
  // Hands values to region arguments or results, all read before any is written.
  void carry(llvm::ArrayRef<mlir::Value> from, llvm::ArrayRef<mlir::Value> to);
  void enter(llvm::ArrayRef<mlir::Value> carried);

  llvm::DenseMap<mlir::Value, llvm::Value *> scalars_;
  llvm::DenseMap<mlir::Value, llvm::AllocaInst *> slots_;
  llvm::Function *function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *leave_ = nullptr;
  llvm::Value *grid_ = nullptr, *scratch_ = nullptr, *programs_ = nullptr;
  llvm::AllocaInst *ids_[3] = {};
  llvm::GlobalVariable *zeros_ = nullptr;
  std::vector<diag::Remark> &remarks_;
  llvm::StringSet<> said_; // each remark is made once
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DISubprogram *subprogram_ = nullptr;
};

// A nest that only evaluates `tile`, row by row.
analysis::Nest elementwiseNest(mlir::Value tile);

// ---- lower/: one function a family; operands are scalars or vectors of equal lanes ------------
llvm::Value *lowerFloats(ProgramEmitter &, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);
llvm::Value *lowerConversion(ProgramEmitter &, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);
llvm::Value *lowerMath(ProgramEmitter &, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);
llvm::Value *lowerDirected(ProgramEmitter &, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);
// Any op with an ELEMENT row in Ops.def.
llvm::Value *lowerOp(ProgramEmitter &, mlir::Operation *op, llvm::ArrayRef<llvm::Value *> operands);

// A float of any type as f32, or f64 where it is f64.
llvm::Value *floatOf(ProgramEmitter &, llvm::Value *value, mlir::Type element);
// bf16 has no arithmetic on x86: it is widened, computed in f32 and rounded to nearest even.
llvm::Value *toFloat(ProgramEmitter &, llvm::Value *value);
llvm::Value *roundTo(ProgramEmitter &, llvm::Value *value, llvm::Type *small);

// ---- ops that read tiles whole, one function a family --------------------------------------------
void emitShape(ProgramEmitter &, mlir::Operation *op);     // lower/Shape.cpp: split, cat
void emitScan(ProgramEmitter &, mlir::Operation *op);      // lower/Scan.cpp
void emitHistogram(ProgramEmitter &, mlir::Operation *op); // lower/Reduce.cpp
void emitAtomic(ProgramEmitter &, mlir::Operation *op);    // lower/Atomic.cpp
void emitDebug(ProgramEmitter &, mlir::Operation *op);     // lower/Debug.cpp: print, assert

// ---- lower/Reduce.cpp -------------------------------------------------------------------------
// A combine function of one op has an identity; another is guarded by a flag a lane.
class Combiner {
public:
  Combiner(ProgramEmitter &program, mlir::Operation *reduceOrScan);
  bool hasIdentity() const { return identity_ != nullptr; }
  llvm::ArrayRef<llvm::Type *> elementTypes() const { return types_; }
  llvm::Constant *identity() const { return identity_; } // of a lane; only with hasIdentity
  llvm::SmallVector<llvm::Value *> combine(llvm::ArrayRef<llvm::Value *> accumulated,
                                           llvm::ArrayRef<llvm::Value *> next);

private:
  ProgramEmitter &program_;
  mlir::Block *block_;
  mlir::Operation *single_ = nullptr;
  llvm::Constant *identity_ = nullptr;
  llvm::SmallVector<llvm::Type *> types_;
};

} // namespace tegula::cpu
