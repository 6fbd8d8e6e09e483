// Scans, level by level from the lowest stride along the axis to the highest (Scratch.h): registers one
// after the other, lanes by shuffles that double the reach, warps by one trip through shared memory.
// A level finds for each block of elements what comes before it, and the block's total; elements are
// combined with what comes before all of their blocks once, in the end. In reverse everything
// runs from the highest coordinate down, so that what lies outside of the extent comes first and takes no
// part.
#include "codegen/simt/WarpSlots.h"
#include "ir/simt/Scratch.h"
#include "ir/tile/Branches.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// An element of each operand; without values there is none, `valid` null: there is one in each thread.
struct Part {
  Registers values;
  llvm::Value *valid = nullptr;
};

// Registers that a thread scans by itself, in order, and what comes before them.
struct Group {
  SmallVector<unsigned> registers;
  Part before;
};

// Elements whose total is known: those of some groups, of all threads that differ in the levels done.
struct Block {
  SmallVector<unsigned> groups;
  Part total;
  uint32_t key; // the flat coordinate of the thread 0's first
};

// The bits of `value` under `mask`, side by side.
uint32_t squeeze(uint32_t value, uint32_t mask) {
  uint32_t result = 0;
  for (unsigned bit = 0, to = 0; bit != 32; ++bit)
    if (mask >> bit & 1)
      result |= (value >> bit & 1) << to++;
  return result;
}

// Of a thread and warp, from which on they are read warp by warp.
constexpr size_t manyTotals = 4;

class Scan {
public:
  Scan(Emitter &e, ScanOp op)
      : e_(e), b_(e.builder), op_(op), layout_(layoutOf(op.getOperands()[0])), scratch_(op),
        reverse_(op.getReverse()) {}

  void emit() {
    collect();
    for (size_t i = 0; i != scratch_.levels.size(); ++i) {
      const ScanLevel &level = scratch_.levels[i];
      const ScanLevel *next = i + 1 == scratch_.levels.size() ? nullptr : &scratch_.levels[i + 1];
      if (level.axis == Axis::Register)
        overRegisters(level);
      else if (level.axis == Axis::Lane)
        overLanes(level, next && next->axis == Axis::Register);
      else
        overWarps(level, !next);
    }
    for (const Group &group : groups_)
      for (unsigned reg : group.registers)
        elements_[reg] = combine(group.before, elements_[reg]);
    finish();
  }

private:
  // ---- elements ----

  void collect() {
    unsigned axis = unsigned(op_.getAxis());
    bool bounded = reverse_ && layout_.extents()[axis] != layout_.hull(axis);
    bool oneByOne = runsOneByOne(op_.getCombine()); // and then never outside of the tile
    elements_.resize(layout_.size(Axis::Register));
    for (unsigned reg = 0; reg != elements_.size(); ++reg) {
      if (!layout_.isLive(reg) || (reg & layout_.freeBits(Axis::Register)))
        continue;
      Part part;
      for (Value operand : op_.getOperands())
        part.values.push_back(e_.registers(operand)[reg]);
      if (oneByOne)
        part.valid = e_.isInside(layout_, reg);
      else if (bounded)
        part.valid = b_.CreateICmpULT(e_.coordinate(layout_, axis, reg),
                                      b_.getInt32(uint32_t(layout_.extents()[axis])));
      elements_[reg] = part;
      groups_.push_back({{reg}, {}});
      blocks_.push_back({{unsigned(groups_.size() - 1)}, std::move(part), layout_.apply(reg, 0, 0)});
    }
  }

  void finish() {
    llvm::DenseMap<uint32_t, unsigned> held; // coordinate -> its first register
    for (const Group &group : groups_)
      for (unsigned reg : group.registers)
        held[layout_.apply(reg, 0, 0)] = reg;
    for (unsigned i = 0; i != op_.getNumResults(); ++i) {
      Registers values(elements_.size(), nullptr);
      for (unsigned reg = 0; reg != elements_.size(); ++reg)
        if (layout_.isLive(reg))
          values[reg] = elements_[held.at(layout_.apply(reg, 0, 0))].values[i];
      e_.set(op_.getResult(i), std::move(values));
    }
  }

  // `used`: where the result is looked at; null: everywhere.
  Part combine(const Part &first, const Part &next, llvm::Value *used = nullptr) {
    if (first.values.empty() || next.values.empty())
      return first.values.empty() ? next : first;
    SmallVector<llvm::Value *> arguments(first.values.begin(), first.values.end());
    llvm::append_range(arguments, next.values);
    llvm::Value *where = e_.both(e_.both(first.valid, next.valid), used);
    Part both{e_.emitCombineWhere(where, op_.getCombine(), arguments), nullptr};
    for (auto [value, a, b] : llvm::zip(both.values, first.values, next.values)) {
      if (first.valid)
        value = b_.CreateSelect(first.valid, value, b);
      if (next.valid)
        value = b_.CreateSelect(next.valid, value, a);
    }
    if (first.valid && next.valid)
      both.valid = b_.CreateOr(first.valid, next.valid);
    return both;
  }

  Part select(llvm::Value *condition, const Part &yes, const Part &no) {
    Part result;
    for (auto [a, b] : llvm::zip(yes.values, no.values))
      result.values.push_back(b_.CreateSelect(condition, a, b));
    auto valid = [&](const Part &part) { return part.valid ? part.valid : b_.getTrue(); };
    if (yes.valid || no.valid)
      result.valid = b_.CreateSelect(condition, valid(yes), valid(no));
    return result;
  }

  // ---- registers ----

  void overRegisters(const ScanLevel &level) {
    std::map<uint32_t, std::vector<Block>> lines;
    for (Block &block : blocks_)
      lines[block.key & ~level.image].push_back(std::move(block));
    blocks_.clear();
    bool isLowest = level.below == 0;
    for (auto &[key, line] : lines) {
      llvm::sort(line,
                 [&](const Block &a, const Block &b) { return reverse_ ? a.key > b.key : a.key < b.key; });
      Block whole{{}, {}, key};
      for (Block &block : line) {
        if (!isLowest)
          for (unsigned group : block.groups)
            groups_[group].before = combine(whole.total, groups_[group].before);
        whole.total = combine(whole.total, block.total);
        if (isLowest)
          join(whole, block);
        else
          whole.groups.append(block.groups);
      }
      blocks_.push_back(std::move(whole));
    }
  }

  // The next register of a thread's own run: what is known up to it is its result.
  void join(Block &whole, const Block &block) {
    Group &next = groups_[block.groups[0]];
    elements_[next.registers[0]] = whole.total;
    if (whole.groups.empty()) {
      whole.groups = block.groups;
      return;
    }
    groups_[whole.groups[0]].registers.push_back(next.registers[0]);
    next.registers.clear();
  }

  // ---- lanes ----

  Part shuffle(const Part &part, llvm::Value *source) {
    auto move = [&](llvm::Value *value) {
      SmallVector<llvm::Value *, 2> words = toWords(e_, value);
      for (llvm::Value *&word : words)
        word = e_.hardware.shuffleIndex(b_, word, source);
      return fromWords(e_, words, value->getType());
    };
    Part result;
    for (llvm::Value *value : part.values)
      result.values.push_back(move(value));
    if (part.valid)
      result.valid = move(part.valid);
    return result;
  }

  // The lane with the bits `ones` set and `zeros` cleared.
  llvm::Value *laneWith(unsigned ones, unsigned zeros) {
    return b_.CreateAnd(b_.CreateOr(e_.lane(), b_.getInt32(ones)), b_.getInt32(31 & ~zeros));
  }

  // The lane before this one along the axis, counted in the level's bits alone; of the first lane any. Lanes
  // of a transposed tile may count along the axis in another order than by their bits.
  llvm::Value *neighbour(const ScanLevel &level) {
    llvm::Value *lane = e_.lane();
    unsigned mask = level.mask();
    if (llvm::is_sorted(level.bits)) {
      llvm::Value *moved = reverse_ ? b_.CreateAdd(b_.CreateOr(lane, 31 & ~mask), b_.getInt32(1))
                                    : b_.CreateSub(b_.CreateAnd(lane, mask), b_.getInt32(1));
      return b_.CreateOr(b_.CreateAnd(moved, mask), b_.CreateAnd(lane, 31 & ~mask));
    }
    // A step changes the lowest bit, and the next one where that one was crossed.
    llvm::Value *flips = b_.getInt32(level.bits[0]);
    llvm::Value *crosses = b_.getTrue();
    for (unsigned i = 1; i != level.bits.size(); ++i) {
      llvm::Value *isSet = b_.CreateICmpNE(b_.CreateAnd(lane, level.bits[i - 1]), b_.getInt32(0));
      crosses = b_.CreateAnd(crosses, reverse_ ? isSet : b_.CreateNot(isSet));
      flips = b_.CreateOr(flips, b_.CreateSelect(crosses, b_.getInt32(level.bits[i]), b_.getInt32(0)));
    }
    return b_.CreateXor(lane, flips);
  }

  void overLanes(const ScanLevel &level, bool allNeedTotal) {
    unsigned mask = level.mask();
    llvm::Value *lane = e_.lane();
    for (Block &block : blocks_) {
      Part sum = block.total;
      for (unsigned lower = 0; unsigned bit : level.bits) {
        Part other = shuffle(sum, reverse_ ? laneWith(bit, lower) : laneWith(lower, bit));
        llvm::Value *set = b_.CreateICmpNE(b_.CreateAnd(lane, bit), b_.getInt32(0));
        Part both = combine(other, sum, reverse_ ? b_.CreateNot(set) : set);
        sum = reverse_ ? select(set, sum, both) : select(set, both, sum);
        lower |= bit;
      }
      Group &first = groups_[block.groups[0]];
      if (block.groups.size() == 1 && first.registers.size() == 1 && first.before.values.empty()) {
        elements_[first.registers[0]] = sum;
      } else {
        Part before = shuffle(sum, neighbour(level));
        before.valid = e_.both(before.valid,
                               b_.CreateICmpNE(b_.CreateAnd(lane, mask), b_.getInt32(reverse_ ? mask : 0)));
        for (unsigned group : block.groups)
          groups_[group].before = combine(before, groups_[group].before);
      }
      // The total is in the last lane.
      block.total =
          allNeedTotal ? shuffle(sum, reverse_ ? laneWith(0, mask) : laneWith(mask, 0)) : std::move(sum);
    }
  }

  // ---- warps ----

  // One thread of those that know a total writes it.
  llvm::Value *writes(const ScanLevel &level) {
    unsigned lanes = 0, warps = 0;
    for (const ScanLevel &lower : scratch_.levels) {
      if (lower.image & ~level.below)
        break;
      (lower.axis == Axis::Lane ? lanes : warps) |= lower.axis == Axis::Register ? 0 : lower.mask();
    }
    uint32_t care = lanes | warps << layout::laneBits, wanted = reverse_ ? 0 : lanes;
    llvm::Value *last =
        care ? b_.CreateICmpEQ(b_.CreateAnd(e_.thread(), care), b_.getInt32(wanted)) : nullptr;
    return e_.both(last, e_.isFirstCopy(layout_));
  }

  void overWarps(const ScanLevel &level, bool isLast) {
    uint32_t blocks = scratch_.allBits & ~level.below & ~level.image;
    std::vector<std::pair<uint32_t, uint32_t>> threads;
    for (Axis axis : {Axis::Lane, Axis::Warp}) {
      for (uint32_t basis : layout_.bases(axis))
        threads.push_back({squeeze(basis, blocks), squeeze(basis, level.image)});
      if (axis == Axis::Lane)
        threads.resize(layout::laneBits);
    }
    SmallVector<uint32_t> of;
    for (const Block &block : blocks_)
      of.push_back(squeeze(block.key, blocks));
    unsigned warps = 1u << level.bits.size();
    WarpSlots slots(e_, op_, 1u << llvm::popcount(blocks), warps, threads, of);
    unsigned operands = unsigned(blocks_[0].total.values.size());
    llvm::Value *predicate = writes(level);
    for (unsigned i = 0; i != operands + scratch_.hasValidity; ++i) {
      SmallVector<llvm::Value *> values;
      for (const Block &block : blocks_)
        values.push_back(i < operands        ? block.total.values[i]
                         : block.total.valid ? block.total.valid
                                             : b_.getTrue());
      slots.write(level.offsets[i], values, predicate);
    }
    e_.hardware.barrier(b_);
    if (isLast && !scratch_.hasValidity && blocks_.size() * operands >= manyTotals && warps > 2)
      return readWarpsBefore(level, slots, warps, ownWarp(level));
    std::vector<std::vector<Part>> totals(blocks_.size(), std::vector<Part>(warps));
    for (unsigned i = 0; i != operands + scratch_.hasValidity; ++i) {
      llvm::Type *type = i < operands ? blocks_[0].total.values[i]->getType() : b_.getInt1Ty();
      for (auto [found, parts] : llvm::zip(slots.read(level.offsets[i], type), totals))
        for (auto [value, part] : llvm::zip(found, parts))
          if (i < operands)
            part.values.push_back(value);
          else
            part.valid = value;
    }
    llvm::Value *own = ownWarp(level);
    for (auto [block, parts] : llvm::zip(blocks_, totals))
      overWarps(block, parts, own);
  }

  // The number of the thread's warp, counted in the level's bits alone.
  llvm::Value *ownWarp(const ScanLevel &level) {
    std::vector<uint32_t> index(layout::laneBits, 0);
    for (uint32_t basis : layout_.bases(Axis::Warp))
      index.push_back(squeeze(basis & level.image, level.image));
    return e_.linear(index);
  }

  // A thread that has many totals to read of each warp, and needs that of all for nothing, reads them warp by
  // warp, and none but those before its own. Reading all and choosing takes twice the instructions, and more
  // registers.
  void readWarpsBefore(const ScanLevel &level, WarpSlots &slots, unsigned warps, llvm::Value *own) {
    const unsigned operands = unsigned(blocks_[0].total.values.size());
    llvm::Value *passed = reverse_ ? b_.CreateSub(b_.getInt32(warps - 1), own) : own; // warps before this one
    llvm::BasicBlock *end = e_.newBlock("scan.end"), *none = b_.GetInsertBlock();
    std::vector<std::vector<Registers>> known; // by number of warps before, block and operand
    std::vector<llvm::BasicBlock *> from;
    llvm::BasicBlock *next = e_.newBlock("scan.warp");
    b_.CreateCondBr(b_.CreateICmpEQ(passed, b_.getInt32(0)), end, next);
    for (unsigned i = 1; i != warps; ++i) {
      b_.SetInsertPoint(next);
      std::vector<Registers> totals(blocks_.size());
      for (unsigned k = 0; k != operands; ++k)
        for (auto [total, value] :
             llvm::zip(totals, slots.readWarp(level.offsets[k], blocks_[0].total.values[k]->getType(),
                                              reverse_ ? warps - i : i - 1)))
          total.push_back(value);
      if (i > 1)
        for (auto [total, before] : llvm::zip(totals, known.back()))
          total = combine(Part{before}, Part{total}).values;
      known.push_back(std::move(totals));
      from.push_back(b_.GetInsertBlock());
      next = i + 1 == warps ? nullptr : e_.newBlock("scan.warp");
      if (next)
        b_.CreateCondBr(b_.CreateICmpEQ(passed, b_.getInt32(i)), end, next);
      else
        b_.CreateBr(end);
    }
    b_.SetInsertPoint(end);
    std::vector<Part> before(blocks_.size());
    for (auto [n, block] : llvm::enumerate(blocks_))
      for (unsigned k = 0; k != operands; ++k) {
        llvm::Type *type = block.total.values[k]->getType();
        llvm::PHINode *phi = b_.CreatePHI(type, warps);
        phi->addIncoming(llvm::Constant::getNullValue(type), none); // what combines it must be defined
        for (unsigned i = 0; i + 1 != warps; ++i)
          phi->addIncoming(known[i][n][k], from[i]);
        before[n].values.push_back(phi);
      }
    llvm::Value *isFirst = b_.CreateICmpEQ(passed, b_.getInt32(0));
    for (auto [part, block] : llvm::zip(before, blocks_)) {
      part.valid = b_.CreateNot(isFirst);
      for (unsigned group : block.groups)
        groups_[group].before = combine(part, groups_[group].before);
    }
  }

  // Finds the total of a block and the total before it from those of all warps; `own`: the number of this
  // one.
  void overWarps(Block &block, ArrayRef<Part> totals, llvm::Value *own) {
    Part before;
    block.total = {};
    for (unsigned i = 0, warps = unsigned(totals.size()); i != warps; ++i) {
      unsigned warp = reverse_ ? warps - 1 - i : i;
      if (i == 1)
        before = block.total;
      else if (i > 1)
        before = select(b_.CreateICmpEQ(own, b_.getInt32(warp)), block.total, before);
      block.total = combine(block.total, totals[warp]);
    }
    uint32_t first = reverse_ ? uint32_t(totals.size()) - 1 : 0;
    before.valid = e_.both(before.valid, b_.CreateICmpNE(own, b_.getInt32(first)));
    for (unsigned group : block.groups)
      groups_[group].before = combine(before, groups_[group].before);
  }

  Emitter &e_;
  llvm::IRBuilder<> &b_;
  ScanOp op_;
  Layout layout_;
  ScanScratch scratch_;
  bool reverse_;
  std::vector<Part> elements_; // by register
  std::vector<Group> groups_;
  std::vector<Block> blocks_;
};

} // namespace

void emitScan(Emitter &e, ScanOp op) { Scan(e, op).emit(); }

} // namespace tegula::simt
