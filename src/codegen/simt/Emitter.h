// A kernel in simt -> LLVM IR for one thread of a machine of warps. In: a function that passed
// AllocateShared and InsertBarriers. Out: a kernel function in `module`, parameters in mode
// `plain` (the arguments, then two scratch pointers). A tile is the list of its thread's registers;
// registers that no element of the tile needs are null. Structured control flow becomes blocks with
// a phi a register. Ops are lowered family by family (Memory.cpp, Reduce.cpp, ...), each from its
// own op and its operands' types; Ops.def says which.
#pragma once
#include "codegen/simt/Ops.h"
#include "ir/simt/Costs.h"
#include "ir/simt/Simt.h"

#include "llvm/IR/DIBuilder.h"

#include <functional>

namespace tegula::simt {

using Registers = llvm::SmallVector<llvm::Value *, 16>;

class Emitter {
public:
  // Each op of what is emitted has a row in `ops`, and none refuses (codegen/llvm/OpTable.h).
  Emitter(llvm::Module &module, const Hardware &hardware, const OpTable &ops, const Costs &costs,
          unsigned warps);

  // The kernel as LLVM function `name`.
  llvm::Function *emit(tile::FuncOp function, llvm::StringRef name);

  llvm::Module &module;
  const Hardware &hardware;
  const OpTable &ops;
  const Costs &costs; // of the machine
  const unsigned warps;
  llvm::IRBuilder<> builder;

  // ---- values ----
  llvm::Type *type(mlir::Type scalar);
  const Registers &registers(mlir::Value tile) { return values_.find(tile)->second; }
  llvm::Value *scalar(mlir::Value value) { return values_.find(value)->second[0]; }
  void set(mlir::Value value, Registers registers) { values_[value] = std::move(registers); }

  // The program's place in the grid (i32), in the order that the function asks for (ir/tile/ProgramOrder.h).
  llvm::Value *programId(unsigned axis);

  // ---- where a thread is ----
  llvm::Value *thread(); // i32, in the program
  llvm::Value *lane();
  llvm::Value *zeroOfLane(); // as of `hardware`, computed once
  llvm::Value *warp();
  llvm::Value *uniformWarp(); // the same, which the assembler knows to be one value in all lanes
  // The i32 that XORs `bases[i]` for each set bit i of the thread index; computed once a kernel.
  llvm::Value *linear(llvm::ArrayRef<uint32_t> bases);
  // The same of the bits of any i32, computed here.
  llvm::Value *linearOf(llvm::Value *index, llvm::ArrayRef<uint32_t> bases);
  // The coordinate along `dim` of register `reg`, or of all of them flattened.
  llvm::Value *coordinate(const layout::Layout &layout, unsigned dim, unsigned reg);
  llvm::Value *flatCoordinate(const layout::Layout &layout, unsigned reg);
  // i1: the register's element lies inside of the extents; null: always.
  llvm::Value *inside(const layout::Layout &layout, unsigned reg);
  // i1: this thread holds the first copy of its elements; null: there is one copy.
  llvm::Value *isFirstCopy(const layout::Layout &layout);
  // a & b, where null is true.
  llvm::Value *both(llvm::Value *a, llvm::Value *b);

  // ---- shared memory ----
  // The address of its byte `offset`.
  llvm::Value *shared(unsigned offset);
  // The address `bytes` behind the scratch of an op.
  llvm::Value *scratch(mlir::Operation *op, llvm::Value *bytes);

  // ---- copy maps (base/CopyMap.h) ----
  // i1: the launch brought them.
  llvm::Value *hasCopyMaps() { return builder.CreateIsNotNull(toldOfCopyMaps()); }
  // The address of the first one, where the launch brought them.
  llvm::Value *copyMaps() { return copyMaps_; }

  // ---- code ----
  void emitBlock(mlir::Block &block);
  // The single-element function of a region: arguments -> what its terminator yields.
  Registers emitCombine(mlir::Region &region, llvm::ArrayRef<llvm::Value *> arguments);
  // The function where `condition` holds (null: everywhere): one that branches, or asserts, is not run
  // elsewhere, since what lies outside of a tile may be nothing that its loops end on. Then the results are
  // zeros.
  Registers emitCombineWhere(llvm::Value *condition, mlir::Region &region,
                             llvm::ArrayRef<llvm::Value *> arguments);
  // i1: the element of a register lies inside of the extents of all dimensions but `except`; null: always.
  llvm::Value *isInside(const layout::Layout &layout, unsigned reg, std::optional<unsigned> except = {});
  llvm::BasicBlock *newBlock(const llvm::Twine &name);
  // Runs `body` in threads where `condition` holds.
  void when(llvm::Value *condition, llvm::function_ref<void()> body);
  // Rows of Ops.def.
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitWhile(mlir::scf::WhileOp op);
  void emitTrip(mlir::scf::ForOp op);
  void beginAnew();
  void emitAny(AnyOp op);
  void emitInlineAsm(tile::ElementwiseInlineAsmOp op);

private:
  void emitOp(mlir::Operation *op);
  void emitElementwise(mlir::Operation *op);
  void emitElements(mlir::Operation *op, unsigned begin, unsigned end, Registers &results);
  void emitChain(llvm::ArrayRef<mlir::Operation *> ops);
  llvm::SmallVector<llvm::PHINode *> phis(mlir::ValueRange values);
  void addIncoming(llvm::ArrayRef<llvm::PHINode *> phis, mlir::ValueRange values);
  void place(mlir::Location location);
  llvm::DILocation *debugLocation(mlir::Location location);
  llvm::DISubprogram *subprogram(llvm::StringRef name, mlir::FileLineColLoc at);
  llvm::DIFile *file(llvm::StringRef path);
  void startLongestFirst(unsigned axis);
  void findCopyMaps(mlir::ModuleOp module);
  llvm::Value *toldOfCopyMaps(); // a launch's number for them, as a pointer
  llvm::Value *threadPart(const layout::Layout &layout, unsigned shift, uint32_t mask);

  llvm::Function *function_ = nullptr;
  llvm::BasicBlock *prologue_ = nullptr;
  std::optional<unsigned> longestFirst_;
  llvm::Value *places_[3] = {}; // of the program; null: not asked for yet
  llvm::Value *thread_ = nullptr, *uniformWarp_ = nullptr, *zeroOfLane_ = nullptr;
  llvm::Value *copyMaps_ = nullptr;
  llvm::GlobalVariable *shared_ = nullptr;
  unsigned sharedAlignment_ = 128;
  llvm::DenseMap<mlir::Value, Registers> values_;
  std::map<std::vector<uint32_t>, llvm::Value *> linear_;
  std::unique_ptr<llvm::DIBuilder> debug_;
  llvm::DICompileUnit *unit_ = nullptr;
  llvm::DISubprogram *kernelScope_ = nullptr;
  llvm::DenseMap<mlir::Location, llvm::DILocation *> debugLocations_;
  std::map<std::string, llvm::DISubprogram *> scopes_;
};

// The assembler must not unroll the loop that the branch closes.
void keepRolled(llvm::BranchInst *latch);

// The families. Each lowers its ops completely.
void emitLoad(Emitter &e, tile::LoadOp op);
void emitStore(Emitter &e, tile::StoreOp op);
void emitLoadPairs(Emitter &e, LoadPairsOp op);
void emitStorePairs(Emitter &e, StorePairsOp op);
void emitVolatile(Emitter &e, tile::LoadOp op); // in Atomic.cpp
void emitAtomic(Emitter &e, tile::AtomicRMWOp op);
void emitAtomic(Emitter &e, tile::AtomicCASOp op);
void emitPrint(Emitter &e, tile::PrintOp op);
void emitAssert(Emitter &e, tile::AssertOp op);
void emitShape(Emitter &e, mlir::Operation *op);
void emitIndexing(Emitter &e, mlir::Operation *op);
void emitReduce(Emitter &e, tile::ReduceOp op);
void emitHistogram(Emitter &e, tile::HistogramOp op);
void emitScan(Emitter &e, tile::ScanOp op);
void emitDot(Emitter &e, tile::DotOp op);
void emitMatrixDot(Emitter &e, tile::DotOp op); // with matrix instructions
// With matrix instructions of several warps, which read buffers and go on by themselves.
void emitDotAsync(Emitter &e, DotAsyncOp op);
void emitDotWait(Emitter &e, DotWaitOp op);
void emitBarrier(Emitter &e, BarrierOp op);
void emitConvert(Emitter &e, ConvertOp op);
// Buffers: alloc, view, loads, stores, asynchronous copies. A buffer is one address.
void emitBuffer(Emitter &e, mlir::Operation *op);
// Signals, and copies of boxes that count at them.
void emitSignal(Emitter &e, mlir::Operation *op);

// An operand of a matrix instruction in words, fetched when they are asked for: an operand that lies in
// shared memory takes registers for the steps at hand only.
class OperandWords {
public:
  virtual ~OperandWords() = default;
  // The word that holds the elements of these registers, neighbours along k.
  virtual llvm::Value *word(llvm::ArrayRef<int> registers) = 0;
};
// Of a tile that `user` alone reads, next to it, from a buffer whose rows fit matrix loads; else null: its
// registers are there. Such loads are emitted by their user (isFetchedByUser).
std::unique_ptr<OperandWords> wordsInBuffer(Emitter &e, mlir::Value operand, tile::DotOp user);
bool isFetchedByUser(const Emitter &e, LocalLoadOp load);
bool isFetchedByUser(const Emitter &e, tile::TransOp turn); // of such a load
// A factor of multiply-adds, element by element, that lies in a buffer: fetched when it is asked for.
class FactorElements {
public:
  virtual ~FactorElements() = default;
  // The element of a register of the operand's layout, whose lowest bits are K.
  virtual llvm::Value *element(unsigned reg) = 0;
  // From here on elements are those of registers further on: by the bits of `index` in place of the
  // register's bits from `first` to `last`, which are 0 in all that are asked for.
  virtual void moveBy(llvm::Value *index, unsigned first, unsigned last) = 0;
};
// Null: the operand's registers are there.
std::unique_ptr<FactorElements> elementsInBuffer(Emitter &e, mlir::Value operand);
void emitGather(Emitter &e, tile::GatherOp op);

// A value as words of 32 bits that can cross lanes and shared memory, and back.
llvm::SmallVector<llvm::Value *, 2> toWords(Emitter &e, llvm::Value *value);
llvm::Value *fromWords(Emitter &e, llvm::ArrayRef<llvm::Value *> words, llvm::Type *type);
// How an element lies in shared memory: i1 as a byte, pointers as 64-bit integers.
llvm::Type *storedType(Emitter &e, llvm::Type *element);
llvm::Value *toStored(Emitter &e, llvm::Value *value);
llvm::Value *fromStored(Emitter &e, llvm::Value *stored, llvm::Type *element);

} // namespace tegula::simt
