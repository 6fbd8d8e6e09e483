// The instructions of an NVIDIA GPU behind simt::Hardware. Where LLVM has an intrinsic it is used,
// so that the optimizer knows what it does; predicated accesses are inline assembly.
// Source: PTX ISA, "Data Movement and Conversion Instructions".
#pragma once
#include "codegen/simt/Hardware.h"

namespace tegula::nvidia {

// Loads under a predicate are inline assembly that only reads: while LLVM optimizes, equal ones become
// one. Its code generator orders assembly by side effects alone: called before it, so that no load
// passes a store.
void orderAccesses(llvm::Function &function);

class NvidiaHardware : public simt::Hardware {
public:
  NvidiaHardware(unsigned computeCapability, unsigned warps)
      : capability_(computeCapability), warps_(warps) {}

  llvm::Value *threadIndex(Builder &b) const override;
  llvm::Value *threadIndexHere(Builder &b) const override;
  llvm::Value *zeroOfLane(Builder &b) const override;
  llvm::Value *programId(Builder &b, unsigned axis) const override;
  llvm::Value *programCount(Builder &b, unsigned axis) const override;
  void barrier(Builder &b) const override;
  void warpBarrier(Builder &b) const override;
  llvm::Value *shuffleXor(Builder &b, llvm::Value *word, unsigned mask) const override;
  llvm::Value *shuffleIndex(Builder &b, llvm::Value *word, llvm::Value *lane) const override;
  llvm::Value *electLane(Builder &b) const override;
  llvm::Value *shuffleUp(Builder &b, llvm::Value *word, unsigned delta) const override;
  llvm::Value *reduceWarp(Builder &b, llvm::StringRef op, llvm::Value *word) const override;
  llvm::Value *holdsInLane(Builder &b, llvm::Value *condition) const override;
  Values load(Builder &b, const simt::Access &access, llvm::ArrayRef<llvm::Value *> others) const override;
  void store(Builder &b, const simt::Access &access, llvm::ArrayRef<llvm::Value *> values) const override;
  llvm::Value *atomicRmw(Builder &b, const simt::Atomic &atomic, tile::AtomicKind kind,
                         llvm::Value *value) const override;
  void fence(Builder &b, tile::MemScope scope) const override;
  unsigned atomicAddWidth(llvm::Type *element) const override;
  void atomicAdd(Builder &b, const simt::Atomic &atomic, llvm::ArrayRef<llvm::Value *> values) const override;
  llvm::Value *atomicCas(Builder &b, const simt::Atomic &atomic, llvm::Value *expected,
                         llvm::Value *value) const override;
  void asyncCopy(Builder &b, llvm::Value *to, const simt::Access &from) const override;
  void asyncCommit(Builder &b) const override;
  void asyncWait(Builder &b, unsigned pending) const override;
  void initSignal(Builder &b, llvm::Value *signal, unsigned arrivals, llvm::Value *predicate) const override;
  void publishSignals(Builder &b, llvm::Value *predicate) const override;
  void announceAtSignal(Builder &b, llvm::Value *signal, llvm::Value *bytes,
                        llvm::Value *predicate) const override;
  void arriveAtSignal(Builder &b, llvm::Value *signal, unsigned arrivals,
                      llvm::Value *predicate) const override;
  void endSignal(Builder &b, llvm::Value *signal, llvm::Value *predicate) const override;
  llvm::Value *trySignal(Builder &b, llvm::Value *signal, llvm::Value *parity) const override;
  llvm::Value *findCopyMaps(Builder &b, llvm::Value *told, unsigned count, llvm::Value *acts) const override;
  void copyBox(Builder &b, const BoxCopy &copy) const override;
  void storeBox(Builder &b, const BoxCopy &copy) const override;
  void commitStores(Builder &b, llvm::Value *predicate) const override;
  void waitForStores(Builder &b, bool areDone) const override;
  void fenceForStores(Builder &b) const override;
  bool hasMatrixLoad() const override { return capability_ >= 75; }
  Values matrixLoad(Builder &b, llvm::Value *address, unsigned count, bool isTransposed) const override;
  bool hasMatrixStore() const override { return capability_ >= 90; }
  void matrixStore(Builder &b, llvm::Value *address, llvm::ArrayRef<llvm::Value *> words,
                   bool isTransposed) const override;
  Values multiplyMatrices(Builder &b, llvm::StringRef name, llvm::ArrayRef<llvm::Value *> a,
                          llvm::ArrayRef<llvm::Value *> bWords,
                          llvm::ArrayRef<llvm::Value *> c) const override;
  llvm::Value *operandPlace(Builder &b, llvm::Value *address) const override;
  llvm::Value *advancePlace(Builder &b, llvm::Value *place, llvm::Value *count,
                            uint64_t bytes) const override;
  llvm::Value *operandDescriptor(Builder &b, llvm::Value *place,
                                 const layout::OperandTile &tile) const override;
  llvm::Value *advanceDescriptor(Builder &b, llvm::Value *descriptor, uint64_t bytes) const override;
  Values startProduct(Builder &b, const GroupProduct &product) const override;
  void commitProducts(Builder &b) const override;
  Values waitForProducts(Builder &b, unsigned pending, llvm::ArrayRef<llvm::Value *> sums) const override;
  llvm::Value *defineAnew(Builder &b, llvm::Value *value) const override;
  void namedBarrier(Builder &b, llvm::Value *number, unsigned threads, bool waits) const override;
  void fenceForProducts(Builder &b) const override;
  llvm::Value *roundForMatrix(Builder &b, llvm::Value *value) const override;
  void print(Builder &b, llvm::StringRef format, llvm::ArrayRef<llvm::Value *> arguments) const override;
  void fail(Builder &b, llvm::StringRef message, llvm::StringRef file, unsigned line,
            llvm::StringRef function) const override;
  void failWordless(Builder &b) const override;
  llvm::Value *approximate(Builder &b, llvm::StringRef function,
                           llvm::ArrayRef<llvm::Value *> arguments) const override;
  bool comparesBFloat() const override { return capability_ >= 90; }
  llvm::Value *directed(Builder &b, tile::DirectedKind kind, tile::Direction direction,
                        llvm::ArrayRef<llvm::Value *> operands) const override;
  llvm::Value *convert(Builder &b, llvm::Value *value, mlir::Type from, mlir::Type to,
                       bool towardZero) const override;

private:
  unsigned capability_; // 90 for sm_90
  unsigned warps_;
};

} // namespace tegula::nvidia
