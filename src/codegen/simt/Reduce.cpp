// Reductions in three steps: the registers of a thread as a tree, a chain or a few sums; lanes by
// butterflies, or by one instruction for words, where the machine has it; warps by one trip through shared
// memory in which every thread reads all partial results, or, of many results, by two, with a part of them
// for each warp. Every thread ends with the results that the sliced layout gives it.
#include "codegen/simt/Elementwise.h"
#include "codegen/simt/WarpSlots.h"
#include "ir/simt/Costs.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Branches.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// An element of each operand; `valid` null: it exists along the axis; `isInside`: along the others.
struct Partial {
  Registers values;
  llvm::Value *valid = nullptr, *isInside = nullptr;
};

Partial combine(Emitter &e, ReduceOp op, const Partial &a, const Partial &b) {
  SmallVector<llvm::Value *> arguments(a.values.begin(), a.values.end());
  llvm::append_range(arguments, b.values);
  llvm::Value *exist = e.both(e.both(a.valid, b.valid), a.isInside);
  Partial result{e.emitCombineWhere(exist, op.getCombine(), arguments), nullptr, a.isInside};
  if (!a.valid && !b.valid)
    return result;
  // What lies outside of the extent takes no part.
  for (auto [value, left, right] : llvm::zip(result.values, a.values, b.values)) {
    if (b.valid)
      value = e.builder.CreateSelect(b.valid, value, left);
    if (a.valid)
      value = e.builder.CreateSelect(a.valid, value, right);
  }
  result.valid = a.valid && b.valid ? e.builder.CreateOr(a.valid, b.valid) : nullptr;
  return result;
}

Partial tree(Emitter &e, ReduceOp op, std::vector<Partial> parts) {
  while (parts.size() > 1) {
    std::vector<Partial> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(combine(e, op, parts[i], parts[i + 1]));
    if (parts.size() % 2)
      next.push_back(parts.back());
    parts = std::move(next);
  }
  return parts.front();
}

// One after the other: few of the parts, and few conditions, are needed at a time.
Partial chain(Emitter &e, ReduceOp op, const std::vector<Partial> &parts) {
  Partial result = parts.front();
  for (const Partial &part : llvm::drop_begin(parts))
    result = combine(e, op, result, part);
  return result;
}

// As many sums side by side as hide how long an addition takes.
constexpr size_t sumsAtOnce = 4;
// Of 32 parts and more a tree takes fewer registers beside what else a thread holds: gradients of norms whose
// rows have 32 or 64 elements a thread took 1.12 and 1.5 times as long without.
constexpr size_t mostSummed = 16;

// Is this a sum of floats that a few sums of its parts are better for than a tree? They take each product
// that is summed by one instruction together with its addition, and fewer registers at a time: in a tree half
// of the parts wait for the other half, and the assembler lets loads of a crowded trip wait for these.
// Kernels with products of tiles keep trees: their sums wait for few registers, and two of them spilled more
// without.
bool isSumOfMany(ReduceOp op, size_t parts) {
  Operation &first = op.getCombine().front().front();
  if (parts <= 2 * sumsAtOnce || parts > mostSummed || op.getNumOperands() != 1 ||
      !isa<arith::AddFOp>(first) || first.getNextNode() != op.getCombine().front().getTerminator())
    return false;
  return !op->getParentOfType<FuncOp>()
              ->walk([](Operation *each) {
                return isa<DotOp, DotAsyncOp>(each) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

Partial sumsSideBySide(Emitter &e, ReduceOp op, const std::vector<Partial> &parts) {
  std::vector<Partial> sums(parts.begin(), parts.begin() + sumsAtOnce);
  for (size_t i = sumsAtOnce; i != parts.size(); ++i)
    sums[i % sumsAtOnce] = combine(e, op, sums[i % sumsAtOnce], parts[i]);
  return tree(e, op, std::move(sums));
}

// Are the elements loaded one by one, each under a condition of its own, perhaps widened?
bool isLoadedUnderMasks(Value elements) {
  while (isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp, FpToFpOp>(elements.getDefiningOp()))
    elements = elements.getDefiningOp()->getOperand(0);
  auto load = elements.getDefiningOp<LoadOp>();
  auto width = load ? load->getAttrOfType<IntegerAttr>(widthName) : nullptr;
  return load && load.getMask() && width && width.getInt() == 1;
}

// Are several values only chosen by comparisons, as the greatest one and its place, as soon as they are
// loaded? In a tree the assembler, which has seven registers for conditions, compares elements as soon as two
// of them are there, and puts the loads of the others, whose masks are conditions, too, behind that. Elements
// that are there already are compared faster in a tree.
bool isChoiceOfLoaded(ReduceOp op) {
  return op.getNumOperands() > 1 && isLoadedUnderMasks(op.getOperands()[0]) &&
         llvm::all_of(op.getCombine().front().without_terminator(), [](Operation &each) {
           return isa<arith::CmpFOp, arith::CmpIOp, arith::SelectOp, arith::AndIOp, arith::OrIOp,
                      arith::XOrIOp, arith::ConstantOp>(each);
         });
}

// The pair that the two are the elements of, in order; null: of none.
llvm::Value *pairOf(llvm::Value *low, llvm::Value *high) {
  auto elementAt = [](llvm::Value *value, uint64_t place) -> llvm::Value * {
    auto taken = dyn_cast<llvm::ExtractElementInst>(value);
    auto index = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
    auto type = taken ? dyn_cast<llvm::FixedVectorType>(taken->getVectorOperandType()) : nullptr;
    return index && index->getZExtValue() == place && type->getNumElements() == 2 ? taken->getVectorOperand()
                                                                                  : nullptr;
  };
  llvm::Value *pair = elementAt(low, 0);
  return pair && pair == elementAt(high, 1) ? pair : nullptr;
}

// What a thread holds. Extrema of 16-bit floats, which no order changes, are of two at once as long as there
// are pairs.
Partial withinThread(Emitter &e, ReduceOp op, std::vector<Partial> parts) {
  if (isChoiceOfLoaded(op))
    return chain(e, op, parts);
  if (isSumOfMany(op, parts.size()))
    return sumsSideBySide(e, op, parts);
  Operation &first = op.getCombine().front().front();
  bool isExtremum = isa<arith::MaxNumFOp, arith::MinNumFOp, arith::MaximumFOp, arith::MinimumFOp>(first) &&
                    first.getNextNode() == op.getCombine().front().getTerminator() &&
                    op.getNumOperands() == 1;
  if (!isExtremum || !pairs(&first) || parts[0].valid)
    return tree(e, op, std::move(parts));
  std::vector<Partial> both, rest;
  for (size_t i = 0; i < parts.size(); ++i) {
    llvm::Value *pair = i + 1 < parts.size() ? pairOf(parts[i].values[0], parts[i + 1].values[0]) : nullptr;
    if (pair)
      both.push_back(Partial{{pair}, nullptr, parts[i++].isInside});
    else
      rest.push_back(parts[i]);
  }
  if (!both.empty()) {
    Partial last = tree(e, op, std::move(both));
    for (uint64_t k : {0, 1})
      rest.push_back(Partial{{e.builder.CreateExtractElement(last.values[0], k)}, nullptr, last.isInside});
  }
  return tree(e, op, std::move(rest));
}

Partial across(Emitter &e, ReduceOp op, const Partial &mine, unsigned laneMask) {
  Partial other;
  other.isInside = mine.isInside;
  for (llvm::Value *value : mine.values) {
    SmallVector<llvm::Value *, 2> words = toWords(e, value);
    for (llvm::Value *&word : words)
      word = e.hardware.shuffleXor(e.builder, word, laneMask);
    other.values.push_back(fromWords(e, words, value->getType()));
  }
  if (mine.valid) {
    llvm::Value *word = e.builder.CreateZExt(mine.valid, e.builder.getInt32Ty());
    other.valid =
        e.builder.CreateTrunc(e.hardware.shuffleXor(e.builder, word, laneMask), e.builder.getInt1Ty());
  }
  return combine(e, op, mine, other);
}

// The machine's name for a reduction of words by one op; empty: it is another one.
llvm::StringRef wordReduction(ReduceOp op) {
  Block &body = op.getCombine().front();
  Operation &first = body.front(), *last = body.getTerminator();
  bool takesBoth = first.getNumOperands() == 2 && first.getOperand(0) != first.getOperand(1) &&
                   llvm::all_of(first.getOperands(),
                                [&](Value each) { return llvm::is_contained(body.getArguments(), each); });
  if (op.getNumOperands() != 1 || first.getNextNode() != last || first.getNumResults() != 1 || !takesBoth ||
      last->getOperand(0) != first.getResult(0) || !first.getResult(0).getType().isInteger(32))
    return {};
  return llvm::TypeSwitch<Operation *, llvm::StringRef>(&first)
      .Case([](arith::AddIOp) { return "add"; })
      .Case([](arith::MinSIOp) { return "min"; })
      .Case([](arith::MaxSIOp) { return "max"; })
      .Case([](arith::MinUIOp) { return "umin"; })
      .Case([](arith::MaxUIOp) { return "umax"; })
      .Case([](arith::AndIOp) { return "and"; })
      .Case([](arith::OrIOp) { return "or"; })
      .Case([](arith::XOrIOp) { return "xor"; })
      .Default([](Operation *) { return ""; });
}

// Combines what the lanes hold, `bits` of whose number lie along the axis. All lanes at once, if the machine
// can.
Partial acrossLanes(Emitter &e, ReduceOp op, Partial part, unsigned bits) {
  llvm::StringRef name = wordReduction(op);
  if (bits == (1u << layout::laneBits) - 1 && !name.empty() && !part.valid)
    if (llvm::Value *word = e.hardware.reduceWarp(e.builder, name, part.values[0])) {
      part.values[0] = word;
      return part;
    }
  for (unsigned i = layout::laneBits; i-- != 0;)
    if (bits & (1u << i))
      part = across(e, op, part, 1u << i);
  return part;
}

// Do as many neighbouring lanes as `count`, a power of two, hold the same result?
bool isSharedByLanes(const Layout &result, unsigned count) {
  for (unsigned i = 0; (1u << i) < count; ++i)
    if (i == result.bases(Axis::Lane).size() || result.bases(Axis::Lane)[i] != 0)
      return false;
  return true;
}

// What all warps wrote of the slots' results, combined.
std::vector<Partial> combined(Emitter &e, ReduceOp op, WarpSlots &slots, ArrayRef<uint64_t> offsets,
                              ArrayRef<llvm::Type *> types, size_t count) {
  std::vector<std::vector<Partial>> all(count);
  for (auto [offset, type] : llvm::zip(offsets, types))
    for (auto [found, partials] : llvm::zip(slots.read(offset, type), all)) {
      partials.resize(found.size());
      for (auto [value, partial] : llvm::zip(found, partials))
        partial.values.push_back(value);
    }
  std::vector<Partial> results;
  for (std::vector<Partial> &partials : all)
    results.push_back(tree(e, op, std::move(partials)));
  return results;
}

// As acrossWarps, but each thread combines a part of all results, and the others read them from there
// (ReduceScratch::part): of more than threads, up to as many neighbours as one access moves.
void acrossWarpsInParts(Emitter &e, ReduceOp op, const Layout &result, std::vector<Partial> &parts,
                        ArrayRef<std::pair<uint32_t, uint32_t>> threads, llvm::Value *writes) {
  ReduceScratch scratch(op);
  unsigned ownBits = llvm::Log2_32(scratch.part), near = std::min(ownBits, 2u),
           far = near + unsigned(threads.size());
  SmallVector<uint32_t> all, own;
  for (unsigned reg = 0; reg != parts.size(); ++reg)
    all.push_back(result.apply(reg, 0, 0));
  for (unsigned i = 0; i != scratch.part; ++i)
    own.push_back((i & ((1u << near) - 1)) | (i >> near) << far);
  SmallVector<std::pair<uint32_t, uint32_t>> sharing, whole;
  for (auto [i, thread] : llvm::enumerate(threads)) {
    whole.push_back({thread.first, 0});
    sharing.push_back({near + i < result.totalBits() ? 1u << (near + i) : 0, 0});
  }
  unsigned count = 1u << result.totalBits(), operands = unsigned(parts[0].values.size());
  SmallVector<llvm::Type *> types;
  for (llvm::Value *value : parts[0].values)
    types.push_back(value->getType());
  auto write = [&](WarpSlots &slots, ArrayRef<uint64_t> offsets, ArrayRef<Partial> from,
                   llvm::Value *predicate) {
    for (unsigned i = 0; i != operands; ++i) {
      SmallVector<llvm::Value *> values;
      for (const Partial &part : from)
        values.push_back(part.values[i]);
      slots.write(offsets[i], values, predicate);
    }
  };
  WarpSlots given(e, op, count, scratch.warps, threads, all, true);
  write(given, scratch.offsets, parts, writes);
  e.hardware.barrier(e.builder);
  WarpSlots shared(e, op, count, scratch.warps, sharing, own, true), found(e, op, count, 1, sharing, own);
  llvm::Value *combines =
      count >> threads.size() ? nullptr : e.builder.CreateICmpULT(e.thread(), e.builder.getInt32(count));
  write(found, scratch.whole, combined(e, op, shared, scratch.offsets, types, own.size()), combines);
  e.hardware.barrier(e.builder);
  WarpSlots taken(e, op, count, 1, whole, all);
  parts = combined(e, op, taken, scratch.whole, types, all.size());
}

// All partial results of the warps that share a result, read back by every thread.
void acrossWarps(Emitter &e, ReduceOp op, const Layout &source, const Layout &result,
                 std::vector<Partial> &parts) {
  auto &b = e.builder;
  ReduceScratch scratch(op);
  // Which result, and which of its warps: its bits along the axis, packed.
  std::vector<std::pair<uint32_t, uint32_t>> threads;
  for (uint32_t basis : result.bases(Axis::Lane))
    threads.push_back({basis, 0});
  threads.resize(layout::laneBits);
  for (unsigned i = 0, next = 1; i != source.bases(Axis::Warp).size(); ++i) {
    bool along = scratch.warpBits & (1u << i);
    threads.push_back({result.bases(Axis::Warp)[i], along ? next : 0});
    next <<= along;
  }
  // One lane of those that hold the same result writes.
  llvm::Value *writes = nullptr;
  uint32_t skip = 0;
  for (unsigned i = 0; i != source.bases(Axis::Lane).size(); ++i)
    if (result.bases(Axis::Lane)[i] == 0 || (result.freeBits(Axis::Lane) >> i & 1))
      skip |= 1u << i;
  for (unsigned i = 0; i != source.bases(Axis::Warp).size(); ++i)
    if (!(scratch.warpBits & (1u << i)) && (result.freeBits(Axis::Warp) >> i & 1))
      skip |= 32u << i;
  if (skip)
    writes = b.CreateICmpEQ(b.CreateAnd(e.thread(), skip), b.getInt32(0));
  if (scratch.part)
    return acrossWarpsInParts(e, op, result, parts, threads, writes);
  SmallVector<unsigned> live;
  SmallVector<uint32_t> of;
  for (unsigned reg = 0; reg != parts.size(); ++reg)
    if (parts[reg].values[0]) {
      live.push_back(reg);
      of.push_back(result.apply(reg, 0, 0));
    }
  WarpSlots slots(e, op, 1u << result.totalBits(), scratch.warps, threads, of);
  bool haveValid = parts[live[0]].valid;
  unsigned operands = unsigned(parts[live[0]].values.size());
  for (unsigned i = 0; i != operands + haveValid; ++i) {
    SmallVector<llvm::Value *> values;
    for (unsigned reg : live)
      values.push_back(i == operands ? parts[reg].valid : parts[reg].values[i]);
    slots.write(scratch.offsets[i], values, writes);
  }
  e.hardware.barrier(b);
  if (scratch.warps >= e.costs.gatheringWarps && parts.size() == 1 && !haveValid &&
      isSharedByLanes(result, scratch.warps)) {
    // A lane reads one partial result, and lanes combine them: fewer instructions than each thread's own
    // tree.
    Partial mine;
    mine.isInside = parts[0].isInside;
    llvm::Value *lane = b.CreateAnd(e.thread(), b.getInt32(scratch.warps - 1));
    for (unsigned i = 0; i != operands; ++i)
      mine.values.push_back(slots.readOne(scratch.offsets[i], parts[0].values[i]->getType(), lane));
    for (unsigned mask = scratch.warps / 2; mask != 0; mask /= 2)
      mine = across(e, op, mine, mask);
    parts[0] = std::move(mine);
    return;
  }
  std::vector<std::vector<Partial>> all(live.size());
  for (auto [k, reg] : llvm::enumerate(live))
    all[k].assign(scratch.warps, Partial{{}, nullptr, parts[reg].isInside});
  for (unsigned i = 0; i != operands + haveValid; ++i) {
    llvm::Type *type = i == operands ? b.getInt1Ty() : parts[live[0]].values[i]->getType();
    for (auto [found, partials] : llvm::zip(slots.read(scratch.offsets[i], type), all))
      for (auto [value, partial] : llvm::zip(found, partials))
        if (i == operands)
          partial.valid = value;
        else
          partial.values.push_back(value);
  }
  for (auto [k, reg] : llvm::enumerate(live))
    parts[reg] = tree(e, op, std::move(all[k]));
}

} // namespace

void emitReduce(Emitter &e, ReduceOp op) {
  unsigned axis = unsigned(op.getAxis());
  Layout source = layoutOf(op.getOperands()[0]), result = source.sliced(axis);
  bool branches = runsOneByOne(op.getCombine());
  bool bounded = source.extents()[axis] != source.hull(axis);
  // Registers by the result that they contribute to.
  llvm::DenseMap<uint32_t, unsigned> resultRegister;
  for (unsigned reg = result.size(Axis::Register); reg-- != 0;)
    resultRegister[result.apply(reg, 0, 0)] = reg;
  std::vector<std::vector<Partial>> groups(result.size(Axis::Register));
  for (unsigned reg = 0; reg != source.size(Axis::Register); ++reg) {
    if (!source.isLive(reg) || (reg & source.freeBits(Axis::Register))) // each element takes part once
      continue;
    std::vector<int64_t> at = source.coordinates(source.apply(reg, 0, 0));
    at.erase(at.begin() + axis);
    Partial part;
    for (Value operand : op.getOperands())
      part.values.push_back(e.registers(operand)[reg]);
    if (bounded)
      part.valid = e.builder.CreateICmpULT(e.coordinate(source, axis, reg),
                                           e.builder.getInt32(uint32_t(source.extents()[axis])));
    if (branches)
      part.isInside = e.isInside(source, reg, axis);
    groups[resultRegister.at(result.flatten(at))].push_back(std::move(part));
  }
  ReduceScratch scratch(op);
  std::vector<Partial> parts;
  for (std::vector<Partial> &group : groups) {
    if (group.empty()) { // outside of another extent
      parts.push_back({Registers(op.getNumOperands(), nullptr)});
      continue;
    }
    parts.push_back(acrossLanes(e, op, withinThread(e, op, std::move(group)), scratch.laneBits));
  }
  if (scratch.warps > 1)
    acrossWarps(e, op, source, result, parts);
  for (unsigned i = 0; i != op.getNumResults(); ++i) {
    Registers values;
    for (const Partial &part : parts)
      values.push_back(part.values[i]);
    e.set(op.getResult(i), std::move(values));
  }
}

} // namespace tegula::simt
