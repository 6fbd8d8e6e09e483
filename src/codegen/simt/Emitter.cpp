#include "codegen/simt/Emitter.h"

#include "ir/tile/Branches.h"
#include "ir/tile/ProgramOrder.h"

#include "llvm/IR/CallingConv.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

Emitter::Emitter(llvm::Module &module, const Hardware &hardware, const OpTable &ops, const Costs &costs,
                 unsigned warps)
    : module(module), hardware(hardware), ops(ops), costs(costs), warps(warps), builder(module.getContext()) {
}

llvm::Type *Emitter::type(Type scalar) {
  if (isa<PointerType>(scalar))
    return builder.getPtrTy(1);
  if (isa<Float32Type>(scalar))
    return builder.getFloatTy();
  if (isa<Float64Type>(scalar))
    return builder.getDoubleTy();
  if (isa<Float16Type>(scalar))
    return builder.getHalfTy();
  if (isa<BFloat16Type>(scalar))
    return builder.getBFloatTy();
  return builder.getIntNTy(scalar.isIndex() ? 32 : scalar.getIntOrFloatBitWidth()); // integers, 8-bit floats
}

llvm::Function *Emitter::emit(FuncOp function, llvm::StringRef name) {
  SmallVector<llvm::Type *> parameters;
  for (Type argument : function.getArgumentTypes())
    parameters.push_back(argument.isInteger(1) ? builder.getInt8Ty() : type(argument));
  parameters.append(2, builder.getPtrTy(1)); // global and profile scratch
  function_ = llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), parameters, false),
                                     llvm::GlobalValue::ExternalLinkage, name, module);
  debug_ = std::make_unique<llvm::DIBuilder>(module);
  auto at = function.getLoc()->findInstanceOf<FileLineColLoc>();
  unit_ =
      debug_->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_Python),
                                file(at ? at.getFilename().strref() : "kernel"), "tegula",
                                /*isOptimized=*/true, "", 0, "", llvm::DICompileUnit::DebugDirectivesOnly);
  kernelScope_ = subprogram(name, at);
  function_->setSubprogram(kernelScope_);

  // Products that read buffers themselves want patterns that start at multiples of their size.
  function.walk([&](DotAsyncOp) { sharedAlignment_ = 1024; });
  prologue_ = llvm::BasicBlock::Create(builder.getContext(), "prologue", function_);
  llvm::BasicBlock *body = newBlock("body");
  builder.SetInsertPoint(prologue_);
  builder.CreateBr(body);
  builder.SetInsertPoint(body);
  place(function.getLoc());
  for (auto [argument, parameter] : llvm::zip(function.getBody().getArguments(), function_->args())) {
    llvm::Value *value = &parameter;
    if (argument.getType().isInteger(1))
      value = builder.CreateTrunc(value, builder.getInt1Ty());
    if (auto divisor = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tt.divisibility");
        divisor && isa<PointerType>(argument.getType()))
      parameter.addAttr(
          llvm::Attribute::getWithAlignment(builder.getContext(), llvm::Align(uint64_t(divisor.getInt()))));
    set(argument, {value});
  }
  longestFirst_ = tile::longestFirst(function);
  findCopyMaps(function->getParentOfType<ModuleOp>());
  emitBlock(function.getBody().front());
  builder.CreateRetVoid();
  debug_->finalize();
  return function_;
}

llvm::Value *Emitter::toldOfCopyMaps() { return function_->getArg(unsigned(function_->arg_size()) - 2); }

// At the beginning of the kernel, so that its maps are on their way.
void Emitter::findCopyMaps(ModuleOp module) {
  auto count = unsigned(copyMapsOf(module).size());
  if (count == 0)
    return;
  llvm::Value *acts = both(builder.CreateICmpEQ(thread(), builder.getInt32(0)), hasCopyMaps());
  copyMaps_ = hardware.findCopyMaps(builder, toldOfCopyMaps(), count, acts);
}

llvm::BasicBlock *Emitter::newBlock(const llvm::Twine &name) {
  return llvm::BasicBlock::Create(builder.getContext(), name, function_);
}

// ---- where a program is ----

namespace {

// Sizes of groups as powers of two (docs/decisions/0029): as many programs as keep a machine busy, of two
// indices of the other axis at least, so that multiprocessors that hold two programs are even, and of 16 at
// most: more programs that do the same at the same time ask memory for all of it at once.
constexpr unsigned programBits = 8, fewestBits = 1, mostBits = 4;

} // namespace

llvm::Value *Emitter::programId(unsigned axis) {
  if (!places_[0]) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(function_->getEntryBlock().getTerminator());
    for (unsigned d : {0u, 1u, 2u})
      places_[d] = hardware.programId(builder, d);
    if (longestFirst_)
      startLongestFirst(*longestFirst_);
  }
  return places_[axis];
}

// Programs start in the order of their places, the first axis fastest. 2^bits indices of the axis behind
// `axis` make a group, in which the largest index of `axis` comes first, with each of theirs. Indices that
// fill no group are the first ones and go one by one. All of it are shifts: a division would take what
// depends on places out of uniform registers.
void Emitter::startLongestFirst(unsigned axis) {
  auto &b = builder;
  llvm::Value *extent = hardware.programCount(b, axis);
  llvm::Value *last = b.CreateSub(extent, b.getInt32(1)), *row = places_[axis];
  if (axis != 2) {
    auto bitsOf = [&](llvm::Value *number) { // floor(log2(number))
      return b.CreateSub(b.getInt32(31), b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, number, b.getTrue()));
    };
    llvm::Value *behind = hardware.programCount(b, axis + 1), *&column = places_[axis + 1];
    llvm::Value *programs = extent;
    if (axis == 1)
      programs = b.CreateOr(b.CreateMul(extent, hardware.programCount(b, 0)), extent); // not 0 where it wraps
    llvm::Value *bits =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, b.getInt32(programBits), bitsOf(programs));
    bits = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bits, b.getInt32(fewestBits));
    bits = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bits, b.getInt32(mostBits));
    bits = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bits, bitsOf(behind));
    llvm::Value *mask = b.CreateSub(b.CreateShl(b.getInt32(1), bits), b.getInt32(1));
    llvm::Value *rest = b.CreateAnd(behind, mask), *isInGroup = b.CreateICmpUGE(column, rest);
    llvm::Value *fromFirst = b.CreateSub(column, rest), *inGroup = b.CreateAnd(fromFirst, mask);
    llvm::Value *number = b.CreateAdd(row, b.CreateMul(extent, inGroup)); // in the group
    row = b.CreateSelect(isInGroup, b.CreateLShr(number, bits), row);
    column = b.CreateSelect(isInGroup, b.CreateAdd(b.CreateSub(column, inGroup), b.CreateAnd(number, mask)),
                            column);
  }
  places_[axis] = b.CreateSub(last, row);
}

// ---- where a thread is ----

llvm::Value *Emitter::thread() {
  if (!thread_) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(prologue_, prologue_->begin());
    thread_ = hardware.threadIndex(builder);
  }
  return thread_;
}

llvm::Value *Emitter::zeroOfLane() {
  if (!zeroOfLane_) {
    llvm::IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(prologue_->getTerminator());
    zeroOfLane_ = hardware.zeroOfLane(builder);
  }
  return zeroOfLane_;
}

llvm::Value *Emitter::lane() { return linear({1, 2, 4, 8, 16}); }

llvm::Value *Emitter::warp() {
  std::vector<uint32_t> bases(5, 0);
  for (unsigned bit = 1; bit < warps; bit *= 2)
    bases.push_back(bit);
  return linear(bases);
}

llvm::Value *Emitter::uniformWarp() {
  if (!uniformWarp_) {
    llvm::Value *number = warp();
    llvm::IRBuilder<>::InsertPointGuard guard(builder);
    builder.SetInsertPoint(prologue_->getTerminator());
    uniformWarp_ = hardware.shuffleIndex(builder, number, builder.getInt32(0));
  }
  return uniformWarp_;
}

llvm::Value *Emitter::linear(ArrayRef<uint32_t> bases) {
  llvm::Value *&known = linear_[bases.vec()];
  if (known)
    return known;
  llvm::Value *index = thread();
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  builder.SetInsertPoint(prologue_->getTerminator());
  return known = linearOf(index, bases);
}

llvm::Value *Emitter::linearOf(llvm::Value *index, ArrayRef<uint32_t> bases) {
  // Runs of bits that move together are one mask and one shift.
  llvm::Value *sum = nullptr;
  uint32_t used = 0;
  for (unsigned i = 0; i != bases.size();) {
    if (bases[i] == 0) {
      ++i;
      continue;
    }
    unsigned end = i + 1;
    bool single = llvm::isPowerOf2_32(bases[i]);
    while (single && end != bases.size() && bases[end] == bases[i] << (end - i) && bases[end] != 0)
      ++end;
    llvm::Value *part;
    uint32_t image;
    if (single) {
      uint32_t bits = ((1u << (end - i)) - 1) << i;
      int shift = int(llvm::Log2_32(bases[i])) - int(i);
      part = builder.CreateAnd(index, bits);
      if (shift > 0)
        part = builder.CreateShl(part, uint64_t(shift), "", true, true);
      else if (shift < 0)
        part = builder.CreateLShr(part, uint64_t(-shift));
      image = shift > 0 ? bits << shift : bits >> -shift;
    } else {
      llvm::Value *bit = builder.CreateICmpNE(builder.CreateAnd(index, 1u << i), builder.getInt32(0));
      part = builder.CreateSelect(bit, builder.getInt32(bases[i]), builder.getInt32(0));
      image = bases[i];
      end = i + 1;
    }
    if (!sum)
      sum = part;
    else if (used & image)
      sum = builder.CreateXor(sum, part);
    else
      sum = builder.CreateOr(sum, part, "", /*IsDisjoint=*/true);
    used |= image;
    i = end;
  }
  return sum ? sum : builder.getInt32(0);
}

llvm::Value *Emitter::threadPart(const Layout &layout, unsigned shift, uint32_t mask) {
  std::vector<uint32_t> bases = layout.bases(Axis::Lane);
  bases.resize(5, 0);
  llvm::append_range(bases, layout.bases(Axis::Warp));
  for (uint32_t &basis : bases)
    basis = (basis >> shift) & mask;
  return linear(bases);
}

// base ^ constant, as an `or` where no bits meet.
static llvm::Value *add(llvm::IRBuilder<> &builder, llvm::Value *base, uint32_t constant, uint32_t baseBits) {
  if (constant == 0)
    return base;
  if (constant & baseBits)
    return builder.CreateXor(base, constant);
  return builder.CreateOr(base, builder.getInt32(constant), "", /*IsDisjoint=*/true);
}

static uint32_t threadBits(const Layout &layout) {
  uint32_t bits = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (uint32_t basis : layout.bases(axis))
      bits |= basis;
  return bits;
}

llvm::Value *Emitter::coordinate(const Layout &layout, unsigned dim, unsigned reg) {
  unsigned shift = 0;
  for (unsigned d = dim + 1; d != layout.rank(); ++d)
    shift += layout.hullBits(d);
  uint32_t mask = uint32_t((uint64_t(1) << layout.hullBits(dim)) - 1);
  uint32_t constant = (layout.apply(reg, 0, 0) >> shift) & mask;
  return add(builder, threadPart(layout, shift, mask), constant, (threadBits(layout) >> shift) & mask);
}

llvm::Value *Emitter::flatCoordinate(const Layout &layout, unsigned reg) {
  return add(builder, threadPart(layout, 0, ~0u), layout.apply(reg, 0, 0), threadBits(layout));
}

llvm::Value *Emitter::inside(const Layout &layout, unsigned reg) {
  llvm::Value *result = nullptr;
  for (unsigned d = 0; d != layout.rank(); ++d)
    if (layout.extents()[d] != layout.hull(d))
      result = both(result, builder.CreateICmpULT(coordinate(layout, d, reg),
                                                  builder.getInt32(uint32_t(layout.extents()[d]))));
  return result;
}

llvm::Value *Emitter::isFirstCopy(const Layout &layout) {
  uint32_t free = layout.freeBits(Axis::Lane) | layout.freeBits(Axis::Warp) << 5;
  if (layout.bases(Axis::Lane).size() < 5)
    free |= 31u & ~((1u << layout.bases(Axis::Lane).size()) - 1);
  if ((1u << layout.bases(Axis::Warp).size()) < warps)
    free |= (warps - 1) << 5 & ~(((1u << layout.bases(Axis::Warp).size()) - 1) << 5);
  if (free == 0)
    return nullptr;
  return builder.CreateICmpEQ(builder.CreateAnd(thread(), free), builder.getInt32(0));
}

llvm::Value *Emitter::both(llvm::Value *a, llvm::Value *b) {
  if (!a || !b)
    return a ? a : b;
  return builder.CreateAnd(a, b);
}

llvm::Value *Emitter::shared(unsigned offset) {
  if (!shared_) {
    shared_ = new llvm::GlobalVariable(module, llvm::ArrayType::get(builder.getInt8Ty(), 0), false,
                                       llvm::GlobalValue::ExternalLinkage, nullptr, "shared_memory", nullptr,
                                       llvm::GlobalValue::NotThreadLocal, 3);
    shared_->setAlignment(llvm::Align(sharedAlignment_));
  }
  return builder.CreateConstInBoundsGEP1_32(builder.getInt8Ty(), shared_, offset);
}

llvm::Value *Emitter::scratch(Operation *op, llvm::Value *bytes) {
  return builder.CreateInBoundsPtrAdd(shared(unsigned(op->getAttrOfType<IntegerAttr>(scratchName).getInt())),
                                      bytes);
}

// ---- code ----

void Emitter::when(llvm::Value *condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  llvm::BasicBlock *then = newBlock("then"), *end = newBlock("end");
  builder.CreateCondBr(condition, then, end);
  builder.SetInsertPoint(then);
  body();
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
}

void keepRolled(llvm::BranchInst *latch) {
  llvm::LLVMContext &context = latch->getContext();
  auto *disable = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.unroll.disable")});
  auto *loop = llvm::MDNode::getDistinct(context, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  latch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

Registers Emitter::emitCombine(Region &region, ArrayRef<llvm::Value *> arguments) {
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    set(argument, {value});
  for (Operation &op : block.without_terminator())
    emitOp(&op);
  Registers results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(scalar(value));
  return results;
}

Registers Emitter::emitCombineWhere(llvm::Value *condition, Region &region,
                                    ArrayRef<llvm::Value *> arguments) {
  if (!condition || !runsOneByOne(region))
    return emitCombine(region, arguments);
  llvm::BasicBlock *before = builder.GetInsertBlock(), *after = nullptr;
  Registers results;
  when(condition, [&] {
    results = emitCombine(region, arguments);
    after = builder.GetInsertBlock();
  });
  for (llvm::Value *&result : results) {
    llvm::PHINode *phi = builder.CreatePHI(result->getType(), 2);
    phi->addIncoming(result, after);
    phi->addIncoming(llvm::Constant::getNullValue(result->getType()), before);
    result = phi;
  }
  return results;
}

llvm::Value *Emitter::isInside(const Layout &layout, unsigned reg, std::optional<unsigned> except) {
  llvm::Value *result = nullptr;
  for (unsigned d = 0; d != layout.rank(); ++d)
    if (d != except && layout.extents()[d] != layout.hull(d))
      result = both(result, builder.CreateICmpULT(coordinate(layout, d, reg),
                                                  builder.getInt32(uint32_t(layout.extents()[d]))));
  return result;
}

void Emitter::emitOp(Operation *op) {
  const Lowering &lowering = ops.find(op)->lowering;
  if (lowering.emit)
    lowering.emit(*this, op);
  else if (lowering.element)
    emitElementwise(op);
}

void Emitter::emitAny(AnyOp op) {
  llvm::Value *any = llvm::PoisonValue::get(type(elementType(op.getType())));
  set(op, Registers(layoutOf(op).size(Axis::Register), any));
}

void Emitter::emitInlineAsm(ElementwiseInlineAsmOp op) {
  Scalars scalars{builder, module, hardware};
  SmallVector<llvm::Type *> elements;
  for (Value result : op.getResults())
    elements.push_back(type(elementType(result.getType())));
  unsigned packed = unsigned(op.getPackedElement());
  unsigned count = isTile(op.getResult(0)) ? layoutOf(op.getResult(0)).size(Axis::Register) : 1;
  std::vector<Registers> results(op.getNumResults(), Registers(count, nullptr));
  for (unsigned reg = 0; reg < count; reg += packed) {
    SmallVector<llvm::Value *> operands;
    for (Value operand : op.getOperands()) {
      const Registers &all = registers(operand);
      for (unsigned k = 0; k != packed; ++k) { // a pack that is not full repeats its last element
        llvm::Value *element = all.size() == 1 ? all[0] : all[std::min<size_t>(reg + k, all.size() - 1)];
        operands.push_back(element ? element : llvm::PoisonValue::get(type(elementType(operand.getType()))));
      }
    }
    auto made = lowerInlineAsm(scalars, op, operands, elements);
    for (unsigned i = 0; i != results.size(); ++i)
      for (unsigned k = 0; k != packed && reg + k < count; ++k)
        results[i][reg + k] = made[i * packed + k];
  }
  for (auto [result, values] : llvm::zip(op.getResults(), results))
    set(result, std::move(values));
}

} // namespace tegula::simt
