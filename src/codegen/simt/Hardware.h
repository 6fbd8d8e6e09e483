// What the neutral code generator asks of a machine of warps: where a thread is, how lanes
// exchange registers, how memory is touched, which functions it has instructions for. One
// implementation a vendor, in targets/<vendor>. Everything is emitted at the builder's place.
#pragma once
#include "ir/tile/Tile.h"
#include "layout/OperandTile.h"

#include "llvm/IR/IRBuilder.h"

namespace tegula::simt {

// One access of one thread: `count` consecutive elements of `element` (8, 16, 32 or 64 bits wide
// each; count * bits at most 128) at `pointer`. A null `predicate` is true.
struct Access {
  llvm::Value *pointer = nullptr;
  llvm::Type *element = nullptr;
  unsigned count = 1;
  llvm::Value *predicate = nullptr;
  tile::CacheModifier cache = tile::CacheModifier::None;
  tile::Eviction evict = tile::Eviction::Normal;
  bool isVolatile = false;
};

// One atomic step of one thread on the element at `pointer`. A null `predicate` is true.
struct Atomic {
  tile::MemSemantic sem = tile::MemSemantic::Relaxed;
  tile::MemScope scope = tile::MemScope::GPU;
  llvm::Value *pointer = nullptr;
  llvm::Value *predicate = nullptr;
  bool isUsed = true;    // is what was there before wanted?
  bool isFenced = false; // fences around this and other steps order it as `sem` says
};

class Hardware {
public:
  using Builder = llvm::IRBuilderBase;
  using Values = llvm::SmallVector<llvm::Value *, 8>;
  virtual ~Hardware() = default;

  static constexpr unsigned warpSize = 32;

  // ---- the place of a thread ----
  virtual llvm::Value *threadIndex(Builder &b) const = 0; // i32, in the program
  // The same, read here and nowhere else: what is computed of it stays behind this place.
  virtual llvm::Value *threadIndexHere(Builder &b) const = 0;
  // 0 (i64), of which the assembler does not know that all lanes have the same.
  virtual llvm::Value *zeroOfLane(Builder &b) const = 0;
  virtual llvm::Value *programId(Builder &b, unsigned axis) const = 0;
  virtual llvm::Value *programCount(Builder &b, unsigned axis) const = 0;

  // ---- between threads; reached by whole warps (barrier: by all of the program's) ----
  virtual void barrier(Builder &b) const = 0;
  virtual void warpBarrier(Builder &b) const = 0; // of the warp's lanes alone
  virtual llvm::Value *shuffleXor(Builder &b, llvm::Value *word, unsigned mask) const = 0; // words are i32
  virtual llvm::Value *shuffleIndex(Builder &b, llvm::Value *word, llvm::Value *lane) const = 0;
  // Is this the one lane, always the same, that acts for its warp?
  virtual llvm::Value *electLane(Builder &b) const = 0;
  virtual llvm::Value *shuffleUp(Builder &b, llvm::Value *word, unsigned delta) const = 0;
  // Reduces an i32 over the warp in one instruction; null where the machine has none.
  virtual llvm::Value *reduceWarp(Builder &b, llvm::StringRef op, llvm::Value *word) const = 0;
  // Does the condition (i1) hold in a lane of the warp? All lanes must come here.
  virtual llvm::Value *holdsInLane(Builder &b, llvm::Value *condition) const = 0;

  // ---- memory: global (address space 1) and shared (3) ----
  // The elements read; `others` (or zero where it is empty) under a false predicate.
  virtual Values load(Builder &b, const Access &access, llvm::ArrayRef<llvm::Value *> others) const = 0;
  virtual void store(Builder &b, const Access &access, llvm::ArrayRef<llvm::Value *> values) const = 0;

  // What was there before; 0 under a false predicate, null where it is not wanted. The element has 32 or 64
  // bits, of FAdd also 16. The code may end in another block.
  virtual llvm::Value *atomicRmw(Builder &b, const Atomic &atomic, tile::AtomicKind kind,
                                 llvm::Value *value) const = 0;
  // The most neighbours, a power of two, that atomicAdd takes.
  virtual unsigned atomicAddWidth(llvm::Type *element) const = 0;
  // FAdd of each of the neighbours at `atomic.pointer`, aligned as a whole; gives nothing.
  virtual void atomicAdd(Builder &b, const Atomic &atomic, llvm::ArrayRef<llvm::Value *> values) const = 0;
  // As atomicRmw, for 16, 32 and 64 bits, compared as bits.
  virtual llvm::Value *atomicCas(Builder &b, const Atomic &atomic, llvm::Value *expected,
                                 llvm::Value *value) const = 0;

  // Orders this thread's accesses before it and behind it, as threads within `scope` see them.
  virtual void fence(Builder &b, tile::MemScope scope) const = 0;

  // ---- asynchronous copies from global to shared memory ----
  // Starts to copy 4, 8 or 16 bytes; zeros where the predicate is false.
  virtual void asyncCopy(Builder &b, llvm::Value *to, const Access &from) const = 0;
  virtual void asyncCommit(Builder &b) const = 0;                 // groups what this thread started
  virtual void asyncWait(Builder &b, unsigned pending) const = 0; // for all but the last `pending` groups

  // ---- signals in shared memory, and copies of boxes that count at them ----
  // Each is done by the threads for which the predicate holds. `arrivals`: of a phase.
  virtual void initSignal(Builder &b, llvm::Value *signal, unsigned arrivals,
                          llvm::Value *predicate) const = 0;
  virtual void publishSignals(Builder &b, llvm::Value *predicate) const = 0; // behind their beginning
  // An arrival that announces so many bytes (i32); so many arrivals.
  virtual void announceAtSignal(Builder &b, llvm::Value *signal, llvm::Value *bytes,
                                llvm::Value *predicate) const = 0;
  virtual void arriveAtSignal(Builder &b, llvm::Value *signal, unsigned arrivals,
                              llvm::Value *predicate) const = 0;
  virtual void endSignal(Builder &b, llvm::Value *signal, llvm::Value *predicate) const = 0;
  // i1: the phase of this parity (i32) has ended; false where it took long.
  virtual llvm::Value *trySignal(Builder &b, llvm::Value *signal, llvm::Value *parity) const = 0;
  // The address of `count` copy maps, one behind the other, of a launch's number for them (base/CopyMap.h), a
  // pointer that is null where there are none. Where `acts` holds, copies of this thread see what the host
  // wrote into them, and they are fetched.
  virtual llvm::Value *findCopyMaps(Builder &b, llvm::Value *told, unsigned count,
                                    llvm::Value *acts) const = 0;
  struct BoxCopy {
    llvm::Value *shared = nullptr, *map = nullptr, *signal = nullptr, *predicate = nullptr;
    llvm::Value *column = nullptr, *row = nullptr, *origin = nullptr; // i32, in the map's window; its place
  };
  virtual void copyBox(Builder &b, const BoxCopy &copy) const = 0;
  // The other way; it has no signal. A group of what this thread has started; and the wait until all
  // groups of this thread are read, or done.
  virtual void storeBox(Builder &b, const BoxCopy &copy) const = 0;
  virtual void commitStores(Builder &b, llvm::Value *predicate) const = 0;
  virtual void waitForStores(Builder &b, bool areDone) const = 0;
  virtual void fenceForStores(Builder &b) const = 0; // stores of boxes see what this thread has stored

  // ---- matrix instructions; reached by whole warps ----
  virtual bool hasMatrixLoad() const = 0;
  // `count` matrices (layout/MatrixAccess.h) as one i32 each, lane 8i + r at the address of row r of matrix
  // i.
  virtual Values matrixLoad(Builder &b, llvm::Value *address, unsigned count, bool isTransposed) const = 0;
  virtual bool hasMatrixStore() const = 0;
  // The same way back: the words of as many matrices.
  virtual void matrixStore(Builder &b, llvm::Value *address, llvm::ArrayRef<llvm::Value *> words,
                           bool isTransposed) const = 0;
  // c + a x b by the instruction `name`: operands as words (i32; f64 where elements have 64 bits) in the
  // order of the fragments' registers, c and the result as elements.
  virtual Values multiplyMatrices(Builder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> a,
                                  llvm::ArrayRef<llvm::Value *> bWords,
                                  llvm::ArrayRef<llvm::Value *> c) const = 0;
  // ---- matrix instructions of several warps; reached by whole groups of them ----
  // A product of some pieces of rows with all columns, in steps along K.
  struct GroupProduct {
    struct Piece {
      llvm::SmallVector<llvm::Value *>
          sums; // to add to, in the order of the instruction's registers; empty: from zero
      llvm::SmallVector<Values>
          a; // of each step the words of the fragment; or, in shared memory, its descriptor
    };
    llvm::StringRef name; // of the instruction
    unsigned columns = 0;
    llvm::SmallVector<Piece, 2> pieces;
    llvm::SmallVector<llvm::Value *> b; // of each step the descriptor
    bool isAInShared = false, isATransposed = false, isBTransposed = false;
  };
  // The word of a descriptor that says where an operand lies, and the one of `count` times `bytes` further
  // on.
  virtual llvm::Value *operandPlace(Builder &b, llvm::Value *address) const = 0;
  virtual llvm::Value *advancePlace(Builder &b, llvm::Value *place, llvm::Value *count,
                                    uint64_t bytes) const = 0;
  // The descriptor of an operand there, which lies as `tile` says, and the one `bytes` further on.
  virtual llvm::Value *operandDescriptor(Builder &b, llvm::Value *place,
                                         const layout::OperandTile &tile) const = 0;
  virtual llvm::Value *advanceDescriptor(Builder &b, llvm::Value *descriptor, uint64_t bytes) const = 0;
  // Starts it; the sums of all pieces, which are there when the group was waited for.
  virtual Values startProduct(Builder &b, const GroupProduct &product) const = 0;
  virtual void commitProducts(Builder &b) const = 0; // groups what was started since
  // For all but the last `pending` groups; gives the sums behind it.
  virtual Values waitForProducts(Builder &b, unsigned pending, llvm::ArrayRef<llvm::Value *> sums) const = 0;
  // The value in a register of its own, which the assembler sees defined here and nowhere else.
  virtual llvm::Value *defineAnew(Builder &b, llvm::Value *value) const = 0;
  // A barrier (0 is that of `barrier`) to which so many threads come, whole warps; those that do not wait go
  // on.
  virtual void namedBarrier(Builder &b, llvm::Value *number, unsigned threads, bool waits) const = 0;
  // What this thread wrote to shared memory, such instructions see behind the next barrier.
  virtual void fenceForProducts(Builder &b) const = 0;

  // An f32 rounded to what such an instruction looks at of it.
  virtual llvm::Value *roundForMatrix(Builder &b, llvm::Value *value) const = 0;

  // ---- to a person ----
  // Prints a line: C's format, where arguments are i32, i64 and double.
  virtual void print(Builder &b, llvm::StringRef format, llvm::ArrayRef<llvm::Value *> arguments) const = 0;
  // Ends the launch with an error.
  virtual void fail(Builder &b, llvm::StringRef message, llvm::StringRef file, unsigned line,
                    llvm::StringRef function) const = 0;
  // Ends the launch with an error without a text.
  virtual void failWordless(Builder &b) const = 0;

  // ---- arithmetic ----
  // A function ("exp2", "rsqrt", "tanh", "erf", "fdiv", "sqrt") of f32 by the machine's own
  // instructions, within the error that docs/language/math-functions.md allows; null where it has none. With
  // "fast_" before its name, within that of the fast functions.
  virtual llvm::Value *approximate(Builder &b, llvm::StringRef function,
                                   llvm::ArrayRef<llvm::Value *> arguments) const = 0;
  // Has the machine comparisons of bf16? Else they are of f32.
  virtual bool comparesBFloat() const = 0;
  // Arithmetic of f32 or f64, rounded once in a direction; null where the machine has no instruction for it.
  virtual llvm::Value *directed(Builder &b, tile::DirectedKind kind, tile::Direction direction,
                                llvm::ArrayRef<llvm::Value *> operands) const = 0;
  // `value` of type `from` as type `to`: rounded once, to nearest even or toward zero, saturating where `to`
  // is an integer (then NaN gives 0) or has 8 bits. Integers are si or ui; scalars or pairs. Null where the
  // machine has no instruction for it.
  virtual llvm::Value *convert(Builder &b, llvm::Value *value, mlir::Type from, mlir::Type to,
                               bool towardZero) const = 0;
};

} // namespace tegula::simt
