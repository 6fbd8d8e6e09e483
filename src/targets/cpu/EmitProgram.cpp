// The entry: arguments, the loop over programs, and the steps of each block.
#include "ir/tile/Tile.h"
#include "ir/tile/Volatile.h"
#include "targets/cpu/FreshOutputs.h"
#include "targets/cpu/Ops.h"
#include "targets/cpu/Streaming.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tegula::tile;
using namespace tegula::analysis;

namespace tegula::cpu {

ProgramEmitter::ProgramEmitter(llvm::Module &module, const CpuModel &machine, NestPlan &plan,
                               AccessAnalysis &access, std::vector<diag::Remark> &remarks)
    : module(module), context(module.getContext()), builder(context), machine(machine), plan(plan),
      access(access), remarks_(remarks) {
  // a·b + c may round once (docs/language/numerical-contract.md).
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  builder.setFastMathFlags(flags);
}

// ---- types and constants ----------------------------------------------------------------

llvm::Type *ProgramEmitter::type(Type element) {
  if (isa<PointerType>(element))
    return builder.getPtrTy();
  if (isa<IndexType>(element))
    return builder.getInt64Ty();
  if (auto integer = dyn_cast<IntegerType>(element))
    return builder.getIntNTy(integer.getWidth());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return builder.getInt8Ty(); // 8-bit floats are bits between ops
  if (element.isF16())
    return builder.getHalfTy();
  if (element.isBF16())
    return builder.getBFloatTy();
  return element.isF64() ? builder.getDoubleTy() : builder.getFloatTy();
}

llvm::Type *ProgramEmitter::lanesOf(llvm::Type *element, unsigned lanes) {
  return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
}

llvm::Value *ProgramEmitter::splat(llvm::Value *value, unsigned lanes) {
  if (lanes == 1 || value->getType()->isVectorTy())
    return value;
  if (!value->getType()->isBFloatTy())
    return builder.CreateVectorSplat(lanes, value);
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt16Ty()); // as `select` does
  return builder.CreateBitCast(builder.CreateVectorSplat(lanes, bits), lanesOf(value->getType(), lanes));
}

llvm::Value *ProgramEmitter::constant(Attribute value, Type wholeType) {
  llvm::Type *element = type(elementType(wholeType));
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    value = dense.getSplatValue<Attribute>();
  if (auto floating = dyn_cast<FloatAttr>(value); floating && element->isIntegerTy())
    return llvm::ConstantInt::get(element, floating.getValue().bitcastToAPInt());
  if (auto floating = dyn_cast<FloatAttr>(value))
    return llvm::ConstantFP::get(element, floating.getValue());
  return llvm::ConstantInt::get(element, cast<IntegerAttr>(value).getValue());
}

llvm::Value *ProgramEmitter::scalar(Value value) {
  auto it = scalars_.find(value);
  if (it != scalars_.end())
    return it->second;
  auto constantOp = value.getDefiningOp<arith::ConstantOp>();
  assert(constantOp && "a scalar is emitted before its uses");
  return constant(constantOp.getValue(), value.getType());
}

llvm::AllocaInst *ProgramEmitter::temporary(llvm::Type *type, const llvm::Twine &name) {
  llvm::IRBuilder<> entry(entry_, entry_->getFirstInsertionPt());
  return entry.CreateAlloca(type, nullptr, name);
}

llvm::Value *ProgramEmitter::scratchAt(int64_t offset) {
  return builder.CreateConstGEP1_64(builder.getInt8Ty(), scratch_, offset);
}

llvm::Value *ProgramEmitter::zeros() {
  if (!zeros_) {
    auto *type = llvm::ArrayType::get(builder.getInt8Ty(), uint64_t(machine.lanes()) * 8);
    zeros_ = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantAggregateZero::get(type), "zeros");
    zeros_->setAlignment(llvm::Align(64));
  }
  return zeros_;
}

llvm::Value *ProgramEmitter::programId(unsigned axis) {
  return builder.CreateTrunc(builder.CreateLoad(builder.getInt64Ty(), ids_[axis]), builder.getInt32Ty());
}

llvm::Value *ProgramEmitter::numPrograms(unsigned axis) {
  llvm::Value *slot = builder.CreateConstGEP1_64(builder.getInt64Ty(), grid_, axis);
  return builder.CreateTrunc(builder.CreateLoad(builder.getInt64Ty(), slot), builder.getInt32Ty());
}

// ---- control flow -----------------------------------------------------------------------

llvm::BasicBlock *ProgramEmitter::newBlock(const llvm::Twine &name) {
  return llvm::BasicBlock::Create(context, name, function_);
}

void ProgramEmitter::loop(llvm::Value *begin, llvm::Value *end, int64_t step, StringRef name,
                          const std::function<void(llvm::Value *)> &body) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first && last && first->getSExtValue() >= last->getSExtValue())
    return;
  llvm::BasicBlock *before = builder.GetInsertBlock(), *inside = newBlock(name),
                   *after = newBlock(name + ".end");
  builder.CreateCondBr(builder.CreateICmpSLT(begin, end), inside, after);
  builder.SetInsertPoint(inside);
  llvm::PHINode *index = builder.CreatePHI(builder.getInt64Ty(), 2, name + ".i");
  index->addIncoming(begin, before);
  body(index);
  llvm::Value *next = builder.CreateNSWAdd(index, builder.getInt64(step));
  index->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, end), inside, after);
  builder.SetInsertPoint(after);
}

void ProgramEmitter::branch(llvm::Value *condition, const std::function<void()> &then,
                            const std::function<void()> &orelse, bool likely) {
  llvm::BasicBlock *yes = newBlock("then"), *no = newBlock("else"), *after = newBlock("endif");
  llvm::Instruction *jump = builder.CreateCondBr(condition, yes, no);
  if (likely)
    jump->setMetadata(llvm::LLVMContext::MD_prof, llvm::MDBuilder(context).createLikelyBranchWeights());
  builder.SetInsertPoint(yes);
  then();
  builder.CreateBr(after);
  builder.SetInsertPoint(no);
  orelse();
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

void ProgramEmitter::leave() {
  if (!leave_) {
    llvm::IRBuilderBase::InsertPointGuard guard(builder);
    leave_ = newBlock("leave");
    builder.SetInsertPoint(leave_);
    builder.CreateRetVoid();
  }
  builder.CreateBr(leave_);
  builder.SetInsertPoint(newBlock("unreached"));
}

// ---- the entry --------------------------------------------------------------------------

void ProgramEmitter::emit(Operation *op, const std::string &symbol) {
  auto kernel = cast<FuncOp>(op);
  llvm::Type *ptr = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  auto *signature = llvm::FunctionType::get(builder.getVoidTy(), {ptr, ptr, i64, i64, ptr}, false);
  function_ = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, symbol, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // Scratch is this thread's own: nothing that the kernel's arguments reach is in it.
  function_->addParamAttr(4, llvm::Attribute::NoAlias);
  function_->addParamAttr(4, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  for (unsigned i : {0u, 1u}) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
    function_->addParamAttr(i, llvm::Attribute::ReadOnly);
  }

  debug_ = std::make_unique<llvm::DIBuilder>(module);
  auto position = llvm::dyn_cast<FileLineColLoc>(LocationAttr(op->getLoc()));
  StringRef path = position ? position.getFilename().getValue() : StringRef("kernel");
  unsigned line = position ? position.getLine() : 0;
  llvm::DIFile *file =
      debug_->createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
  llvm::DICompileUnit *unit =
      debug_->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_Python), file, "tegula", true,
                                "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  subprogram_ = debug_->createFunction(unit, kernel.getSymName(), symbol, file, line,
                                       debug_->createSubroutineType(debug_->getOrCreateTypeArray({})), line,
                                       llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function_->setSubprogram(subprogram_);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);

  entry_ = newBlock("entry");
  builder.SetInsertPoint(entry_);
  setLocation(op->getLoc());
  grid_ = function_->getArg(1);
  scratch_ = function_->getArg(4);
  for (auto [i, argument] : llvm::enumerate(kernel.getBody().getArguments())) {
    llvm::Value *slot = builder.CreateConstGEP1_64(i64, function_->getArg(0), i);
    setScalar(argument, builder.CreateLoad(type(argument.getType()), slot, "arg"));
  }
  programs_ = builder.getInt64(1);
  for (unsigned axis = 0; axis < 3; ++axis)
    programs_ =
        builder.CreateMul(programs_, builder.CreateLoad(i64, builder.CreateConstGEP1_64(i64, grid_, axis)));
  llvm::Value *first = function_->getArg(2);
  for (auto *&id : ids_)
    id = builder.CreateAlloca(i64, nullptr, "pid");
  // Program 0 runs ahead of all others of its launch.
  branch(builder.CreateICmpEQ(first, builder.getInt64(0)), [&] { emitFreshOutputs(*this, kernel); }, [] {});
  llvm::Value *rest = first;
  for (unsigned axis = 0; axis < 3; ++axis) {
    llvm::Value *extent = builder.CreateLoad(i64, builder.CreateConstGEP1_64(i64, grid_, axis));
    builder.CreateStore(builder.CreateURem(rest, extent), ids_[axis]);
    rest = builder.CreateUDiv(rest, extent);
  }
  llvm::BasicBlock *start = newBlock("programs");
  builder.CreateBr(start);
  builder.SetInsertPoint(start);
  loop(first, function_->getArg(3), 1, "program", [&](llvm::Value *) {
    emitBlock(&kernel.getBody().front());
    advanceIds();
  });
  if (hasStreams)
    fenceStreams(*this);
  builder.CreateRetVoid();
  debug_->finalize();
}

// Row order: axis 0 is fastest.
void ProgramEmitter::advanceIds() {
  llvm::Value *carry = builder.getTrue();
  for (unsigned axis = 0; axis < 3; ++axis) {
    llvm::Type *i64 = builder.getInt64Ty();
    llvm::Value *id = builder.CreateLoad(i64, ids_[axis]);
    llvm::Value *next = builder.CreateAdd(id, builder.CreateZExt(carry, i64));
    llvm::Value *extent = builder.CreateLoad(i64, builder.CreateConstGEP1_64(i64, grid_, axis));
    carry = builder.CreateICmpEQ(next, extent);
    builder.CreateStore(builder.CreateSelect(carry, builder.getInt64(0), next), ids_[axis]);
  }
}

// ---- steps ------------------------------------------------------------------------------

void ProgramEmitter::emitBlock(Block *block) {
  for (const NestStep &step : plan.steps(block))
    emitStep(step);
}

void ProgramEmitter::emitStep(const NestStep &step) {
  if (step.op)
    setLocation(step.op->getLoc());
  if (step.kind == StepKind::Nest)
    return emitNest(step.nest);
  if (auto emission = ops().find(step.op)->lowering.step)
    return emission(*this, step.op);
  llvm::SmallVector<llvm::Value *, 3> operands;
  for (Value operand : step.op->getOperands())
    operands.push_back(scalar(operand));
  setScalar(step.op->getResult(0), lowerOp(*this, step.op, operands));
}

void ProgramEmitter::emitUnsplat(Operation *op) {
  Evaluator evaluator(*this, 1, true);
  evaluator.pushLevel();
  Coordinates first(shapeOf(op->getOperand(0).getType()).size(), evaluator.zero());
  setScalar(op->getResult(0), evaluator.evaluate(op->getOperand(0), first));
}

// Another program that meets the element gets the whole of it (M10). LLVM 22 stores the halves of an integer
// that is put together of a float and an integer one by one, also in an atomic store (CodeGenPrepare,
// splitMergedValStore); only `volatile` keeps it from that. Monotonic: an access that other programs poll
// (M21).
void ProgramEmitter::emitScalarMemory(Operation *op) {
  auto alignOf = [&](llvm::Type *type) {
    return llvm::Align(type->isPointerTy() ? 8 : (type->getScalarSizeInBits() + 7) / 8);
  };
  if (auto load = dyn_cast<LoadOp>(op)) {
    llvm::Type *element = type(load.getType());
    llvm::AllocaInst *slot = temporary(element);
    auto read = [&] {
      llvm::LoadInst *loaded =
          builder.CreateAlignedLoad(element, scalar(load.getPtr()), alignOf(element), isVolatile(op));
      if (isVolatile(op))
        loaded->setAtomic(llvm::AtomicOrdering::Monotonic);
      builder.CreateStore(loaded, slot);
    };
    auto skip = [&] {
      builder.CreateStore(load.getOther() ? scalar(load.getOther()) : llvm::Constant::getNullValue(element),
                          slot);
    };
    if (load.getMask())
      branch(scalar(load.getMask()), read, skip);
    else
      read();
    setScalar(load, builder.CreateLoad(element, slot));
    return;
  }
  auto store = cast<StoreOp>(op);
  auto write = [&] {
    llvm::Value *value = scalar(store.getValue());
    bool mayBeSplit = value->getType()->isIntegerTy() && value->getType()->getIntegerBitWidth() > 8;
    llvm::StoreInst *stored = builder.CreateAlignedStore(
        value, scalar(store.getPtr()), alignOf(value->getType()), isVolatile(op) || mayBeSplit);
    if (isVolatile(op))
      stored->setAtomic(llvm::AtomicOrdering::Monotonic);
  };
  if (store.getMask())
    branch(scalar(store.getMask()), write, [] {});
  else
    write();
}

// ---- telling ----------------------------------------------------------------------------

void ProgramEmitter::setLocation(Location location) {
  auto line = location->findInstanceOf<FileLineColLoc>();
  if (!line || !subprogram_)
    return;
  llvm::DIScope *scope = subprogram_;
  StringRef path = line.getFilename().getValue();
  llvm::DIFile *own = subprogram_->getFile();
  if (llvm::sys::path::filename(path) != own->getFilename())
    scope = debug_->createLexicalBlockFile(
        subprogram_, debug_->createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path)));
  builder.SetCurrentDebugLocation(llvm::DILocation::get(context, line.getLine(), line.getColumn(), scope));
}

std::string ProgramEmitter::locationOf(Operation *op) {
  return op ? locationText(op->getLoc()) : std::string();
}

void ProgramEmitter::remark(Operation *op, StringRef kind, std::string text) {
  std::string where = locationOf(op);
  if (said_.insert(where + '\0' + kind.str() + '\0' + text).second)
    remarks_.push_back({where, kind.str(), std::move(text)});
}

} // namespace tegula::cpu
