// wgmma: four warps multiply matrices while they go on. A (64 x K) comes from shared memory or registers, B
// (N x K) from shared memory; the sums are added to registers. Each warp has its part: rows 16 w to 16 w + 15
// of A and of the result, and all of B. It may happen at any time between the issue and the moment when the
// warp has waited for its group (Launch::copies), in the order of issue; until then the registers of the
// result hold poison. PTX ISA manual, "Asynchronous Warpgroup Level Matrix Instructions".
//
// Readings of the manual, the stricter each: a wait speaks for the warp that executes it, not for the other
// three; every access between the issue and the wait, reads of A's registers by others than wgmma among them,
// is an error; so is an end without a wait.
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/MatrixShapes.h"
#include "ptxvm/exec/ProductOperand.h"
#include "ptxvm/exec/Warp.h"
#include "ptxvm/float/MatrixSum.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr unsigned warpsOfGroup = 4, rowsOfWarp = 16, chunksOfK = 2, wordsOfA = 4;
constexpr uint32_t poison = 0xffffffff; // a NaN

enum Slot : unsigned { OfD, OfA, OfB }; // of Instruction::types

// ---- the four warps execute the same ----

void add(Warp &w, FindingKind kind, std::string message, uint32_t instruction,
         std::optional<Site> other = std::nullopt) {
  w.block->findings().add(kind, std::move(message), siteOf(w, instruction), other);
}

void stepOfGroup(Warp &w, const GroupStep &step) {
  Block &block = *w.block;
  unsigned first = w.index / warpsOfGroup * warpsOfGroup;
  WarpGroup &group = block.groups[w.index / warpsOfGroup];
  if (first + warpsOfGroup > block.warps.size())
    return add(w, FindingKind::UnalignedWarp,
               "its block has no four warps from warp " + std::to_string(first), step.instruction);
  size_t at = w.groupSteps++;
  if (at == group.steps.size()) {
    for (unsigned other = first; other < first + warpsOfGroup; ++other)
      if (!block.warps[other].live && block.warps[other].groupSteps <= at)
        add(w, FindingKind::UnalignedWarp,
            "warp " + std::to_string(other) + " of its four has ended without it", step.instruction);
    group.steps.push_back(step);
  } else if (group.steps[at].instruction != step.instruction) {
    add(w, FindingKind::UnalignedWarp, "another warp of its four executes another wgmma instead",
        step.instruction, siteOf(w, group.steps[at].instruction));
  } else if (group.steps[at] != step) {
    add(w, FindingKind::BadOperand, "another warp of its four has another descriptor or scale",
        step.instruction);
  }
}

template <class T> T sameInLanes(Warp &w, const Op &op, const T *values, const char *what) {
  for (unsigned lane = 1; lane < warpSize; ++lane)
    if (values[lane] != values[0]) {
      add(w, FindingKind::BadOperand, std::string("lanes of a warp have different ") + what, op.instruction);
      break;
    }
  return values[0];
}

// ---- operands ----

// The pieces of `rows` rows from row `first` on: by row and then along K, or, transposed, along K first.
std::vector<uint64_t> piecesOf(Warp &w, const Op &op, uint64_t bits, unsigned first, unsigned rows,
                               unsigned k, bool isTransposed) {
  OperandDescriptor descriptor(bits);
  uint64_t alongK = isTransposed ? 0 : descriptor.start % descriptor.swizzle;
  if ((descriptor.start - alongK) & descriptor.rowBits())
    add(w, FindingKind::Misaligned,
        "a descriptor starts at byte " + std::to_string(descriptor.start) +
            " of shared memory, in the middle of its swizzle of " + std::to_string(descriptor.swizzle) +
            " bytes",
        op.instruction);
  if (descriptor.baseOffset)
    add(w, FindingKind::BadOperand, "this machine knows no base offset of a descriptor", op.instruction);
  std::vector<uint64_t> pieces;
  if (isTransposed)
    for (unsigned at = 0; at < k; ++at)
      for (unsigned eight = first / 8; eight < (first + rows) / 8; ++eight)
        pieces.push_back(descriptor.transposed(eight, at));
  else
    for (unsigned row = first; row < first + rows; ++row)
      for (unsigned chunk = 0; chunk < chunksOfK; ++chunk)
        pieces.push_back(descriptor.straight(row, chunk));
  uint64_t size = w.block->shared.size();
  auto outside =
      std::find_if(pieces.begin(), pieces.end(), [&](uint64_t at) { return at + pieceBytes > size; });
  if (outside != pieces.end())
    add(w, FindingKind::OutOfBounds,
        "reads 16 bytes at byte " + std::to_string(*outside) + " of shared memory, which has " +
            std::to_string(size),
        op.instruction);
  return pieces;
}

// Elements by row and K.
std::vector<uint32_t> elementsOf(const Block &block, std::span<const uint64_t> pieces, unsigned rows,
                                 unsigned k, unsigned bits, bool isTransposed) {
  std::vector<uint32_t> elements(size_t(rows) * k);
  unsigned perPiece = pieceBytes * 8 / bits;
  for (size_t p = 0; p < pieces.size(); ++p) {
    std::byte bytes[pieceBytes] = {};
    if (pieces[p] + pieceBytes <= block.shared.size())
      std::memcpy(bytes, block.shared.data() + pieces[p], pieceBytes);
    for (unsigned i = 0; i < perPiece; ++i) {
      uint32_t element = 0;
      std::memcpy(&element, bytes + i * bits / 8, bits / 8);
      size_t row = isTransposed ? p % (rows / 8) * 8 + i : p / chunksOfK;
      size_t at = isTransposed ? p / (rows / 8) : p % chunksOfK * perPiece + i;
      elements[row * k + at] = element;
    }
  }
  return elements;
}

// The rows of A that the registers of a warp hold.
std::vector<uint32_t> elementsOfA(const Product &product) {
  const ProductOp &op = *product.op;
  const MatrixShape *shape =
      std::find_if(std::begin(matrixShapes), std::end(matrixShapes), [&](const MatrixShape &s) {
        return s.m == rowsOfWarp && s.k == op.k && s.elementBits == op.bits && s.sumBits == 32;
      });
  std::vector<uint32_t> elements(size_t(rowsOfWarp) * op.k);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned reg = 0; reg < wordsOfA; ++reg)
      for (unsigned i = 0; i < 32u / op.bits; ++i) {
        FragmentElement at = elementOfA(*shape, lane, reg, i);
        uint64_t mask = (uint64_t(1) << op.bits) - 1;
        elements[at.row * op.k + at.column] =
            uint32_t(product.aWords[reg * warpSize + lane] >> at.shift & mask);
      }
  return elements;
}

// ---- the product itself ----

// Calls f(register, lane, row, column) for the elements of a warp's part of the result.
template <class F> void forResults(const ProductOp &op, F f) {
  for (unsigned reg = 0; reg < op.columns / 2u; ++reg)
    for (unsigned lane = 0; lane < warpSize; ++lane)
      f(reg, lane, lane / 4 + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * (lane % 4) + reg % 2);
}

void multiplyFloats(Warp &w, const Product &product, std::span<const uint32_t> a,
                    std::span<const uint32_t> b) {
  const ProductOp &op = *product.op;
  SumModel model = productModelOf(op.a);
  auto termsOf = [&](Type type, std::span<const uint32_t> elements, bool negates) {
    std::vector<MatrixTerm> terms;
    for (uint32_t element : elements) {
      terms.push_back(matrixTerm(type, element, model));
      if (negates)
        terms.back().significand = -terms.back().significand;
    }
    return terms;
  };
  std::vector<MatrixTerm> rows = termsOf(op.a, a, op.negatesA), columns = termsOf(op.b, b, op.negatesB);
  int fraction = fractionBits(op.a, model) + fractionBits(op.b, model);
  forResults(op, [&](unsigned reg, unsigned lane, unsigned row, unsigned column) {
    uint32_t &sum = w.accumulators[op.d[reg]].values[lane];
    sum = sumOfProducts({&rows[row * op.k], op.k}, {&columns[column * op.k], op.k}, product.scaleD ? sum : 0,
                        false, model, fraction);
  });
}

void multiplyIntegers(Warp &w, const Product &product, std::span<const uint32_t> a,
                      std::span<const uint32_t> b) {
  const ProductOp &op = *product.op;
  auto value = [](Type type, uint32_t bits) {
    return type == Type::S8 ? int64_t(int8_t(bits)) : int64_t(bits);
  };
  forResults(op, [&](unsigned reg, unsigned lane, unsigned row, unsigned column) {
    uint32_t &c = w.accumulators[op.d[reg]].values[lane];
    int64_t sum = product.scaleD ? int32_t(c) : 0;
    for (unsigned k = 0; k < op.k; ++k)
      sum += value(op.a, a[row * op.k + k]) * value(op.b, b[column * op.k + k]);
    c = uint32_t(op.saturates ? std::clamp<int64_t>(sum, INT_MIN, INT_MAX) : sum);
  });
}

void land(Warp &w, Product &product) {
  if (product.landed)
    return;
  product.landed = true;
  const ProductOp &op = *product.op;
  std::vector<uint32_t> a =
      op.isAInRegisters ? elementsOfA(product)
                        : elementsOf(*w.block, product.aPieces, rowsOfWarp, op.k, op.bits, op.transposesA);
  std::vector<uint32_t> b = elementsOf(*w.block, product.bPieces, op.columns, op.k, op.bits, op.transposesB);
  if (op.isInteger)
    multiplyIntegers(w, product, a, b);
  else
    multiplyFloats(w, product, a, b);
  for (uint32_t place : op.d) {
    Accumulator &sums = w.accumulators[place];
    if (--sums.pending)
      continue;
    std::copy(sums.values.begin(), sums.values.end(), w.lanes<uint32_t>(place));
    w.accumulators.erase(place);
  }
}

// ---- registers ----

// wgmma itself may add to what one of the same shape adds to, and read what another reads.
void checkRegisters(Warp &w, const Op &op, const ProductOp &product) {
  auto report = [&](FindingKind kind, const std::string &message) { add(w, kind, message, op.instruction); };
  bool isSame = true;
  for (const Product &other : w.products)
    if (std::any_of(other.op->d.begin(), other.op->d.end(), [&](uint32_t place) {
          return std::find(product.d.begin(), product.d.end(), place) != product.d.end();
        }))
      isSame &= other.op->d == product.d && other.op->k == product.k && other.op->a == product.a;
  if (!isSame)
    report(FindingKind::RegisterUnderWay,
           "adds to registers of a product of another shape that is under way");
  auto isAny = [&](const std::vector<uint32_t> &numbers, const auto &of) {
    return std::any_of(numbers.begin(), numbers.end(), [&](uint32_t number) { return of[number] != 0; });
  };
  if (isAny(product.numbersOfA, w.writers))
    report(FindingKind::RegisterUnderWay, "takes A from registers that a product under way writes");
  if (isAny(product.numbersOfD, w.readers))
    report(FindingKind::RegisterUnderWay, "writes registers that a product under way reads A from");
  if (isAny(product.numbersOfD, w.touched) || isAny(product.numbersOfA, w.touched))
    report(FindingKind::MissingFence,
           "no wgmma.fence lies between an access to its registers and the product");
}

void countUsers(Warp &w, const ProductOp &product, uint32_t by) {
  for (uint32_t number : product.numbersOfD)
    w.writers[number] += by;
  for (uint32_t number : product.numbersOfA)
    w.readers[number] += by;
}

// ---- the instructions ----

ProductEvent eventOf(const Product &product, std::vector<uint64_t> &pieces, uint64_t sharedBytes) {
  pieces = product.aPieces;
  pieces.insert(pieces.end(), product.bPieces.begin(), product.bPieces.end());
  std::erase_if(pieces, [&](uint64_t at) { return at + pieceBytes > sharedBytes; });
  return {product.instruction, product.number, pieces};
}

void tellIssue(Warp &w, const Product &product) {
  if (w.block->observers().empty())
    return;
  std::vector<uint64_t> pieces;
  ProductEvent issued = eventOf(product, pieces, w.block->shared.size());
  for (size_t begin = 0; begin < pieces.size(); begin += warpSize) {
    size_t count = std::min<size_t>(warpSize, pieces.size() - begin);
    uint64_t addresses[warpSize] = {};
    std::byte *bytes[warpSize] = {};
    for (size_t i = 0; i < count; ++i) {
      addresses[i] = pieces[begin + i];
      bytes[i] = w.block->shared.data() + addresses[i];
    }
    MemoryEvent event;
    event.instruction = product.instruction;
    event.space = Space::Shared;
    event.byWarp = event.isOperand = true;
    event.width = pieceBytes;
    event.mask = count == warpSize ? allLanes : (1u << count) - 1;
    event.addresses = addresses;
    event.bytes = bytes;
    for (Observer *observer : w.block->observers())
      observer->memory(idOf(w), event);
  }
  for (Observer *observer : w.block->observers())
    observer->productIssued(idOf(w), issued);
}

void issue(Warp &w, const Op &op, uint32_t) {
  Block &block = *w.block;
  const ProductOp &form = block.program().products[op.detail];
  Product product;
  product.instruction = op.instruction;
  product.op = &form;
  product.number = block.nextProduct++;
  product.group = w.committedProducts;
  uint32_t scales = w.predicates[op.p] ^ (op.flag ? allLanes : 0);
  if (scales != 0 && scales != allLanes)
    add(w, FindingKind::BadOperand, "lanes of a warp have different scales", op.instruction);
  product.scaleD = scales & 1;
  product.bDescriptor = sameInLanes(w, op, w.lanes<uint64_t>(form.bDescriptor), "descriptors");
  product.bPieces = piecesOf(w, op, product.bDescriptor, 0, form.columns, form.k, form.transposesB);
  if (form.isAInRegisters) {
    for (uint32_t place : form.aRegisters)
      product.aWords.insert(product.aWords.end(), w.lanes<uint32_t>(place),
                            w.lanes<uint32_t>(place) + warpSize);
  } else {
    product.aDescriptor = sameInLanes(w, op, w.lanes<uint64_t>(form.aDescriptor), "descriptors");
    unsigned first = w.index % warpsOfGroup * rowsOfWarp;
    product.aPieces = piecesOf(w, op, product.aDescriptor, first, rowsOfWarp, form.k, form.transposesA);
  }
  stepOfGroup(w, {op.instruction, product.aDescriptor, product.bDescriptor, product.scaleD});
  checkRegisters(w, op, form);
  countUsers(w, form, 1);
  for (uint32_t place : form.d) {
    auto [sums, isNew] = w.accumulators.try_emplace(place);
    uint32_t *values = w.lanes<uint32_t>(place);
    if (isNew)
      std::copy(values, values + warpSize, sums->second.values.begin());
    ++sums->second.pending;
    std::fill(values, values + warpSize, poison);
  }
  tellIssue(w, product);
  w.products.push_back(std::move(product));
  if (block.worker->run.launch.copies == Copies::AtOnce)
    land(w, w.products.back());
}

void fence(Warp &w, const Op &op, uint32_t) {
  stepOfGroup(w, {op.instruction});
  w.touched.assign(w.touched.size(), false);
}

void commit(Warp &w, const Op &op, uint32_t) {
  stepOfGroup(w, {op.instruction});
  ++w.committedProducts;
}

// op.value: how many of the last groups may go on.
void wait(Warp &w, const Op &op, uint32_t) {
  stepOfGroup(w, {op.instruction});
  auto isDone = [&](const Product &product) { return w.committedProducts - product.group > op.value; };
  for (Product &product : w.products) {
    if (!isDone(product))
      break;
    land(w, product);
    countUsers(w, *product.op, uint32_t(-1));
    std::vector<uint64_t> pieces;
    ProductEvent event = eventOf(product, pieces, w.block->shared.size());
    for (Observer *observer : w.block->observers())
      observer->productCompletes(idOf(w), event);
  }
  std::erase_if(w.products, isDone);
}

} // namespace

void landSomeProducts(Block &block) {
  if (block.worker->run.launch.copies != Copies::Random)
    return;
  for (Warp &warp : block.warps)
    for (Product &product : warp.products) {
      if (nextRandom(block.copyRandom) % 4 == 0)
        break;
      land(warp, product);
    }
}

void beginProducts(Warp &w) {
  uint32_t registers = w.block->program().productRegisters;
  w.products.clear();
  w.accumulators.clear();
  w.committedProducts = 0;
  w.groupSteps = 0;
  w.touched.assign(registers, true); // by whatever ran before the kernel
  w.readers.assign(registers, 0);
  w.writers.assign(registers, 0);
}

void abandonProducts(Warp &w) {
  if (!w.products.empty())
    add(w, FindingKind::ProductUnfinished, "its warp ends and has not waited for it",
        w.products.front().instruction);
  w.products.clear();
  const WarpGroup &group = w.block->groups[w.index / warpsOfGroup];
  if (w.groupSteps < group.steps.size())
    add(w, FindingKind::UnalignedWarp,
        "warp " + std::to_string(w.index) + " ends without it, others of its four have come to it",
        group.steps[w.groupSteps].instruction);
}

void touchProductRegisters(Warp &w, const Op &op) {
  for (uint32_t number : w.block->program().touched[op.touched]) {
    if (w.readers[number] || w.writers[number]) {
      auto uses = [&](const Product &product) {
        const auto &d = product.op->numbersOfD, &a = product.op->numbersOfA;
        return std::find(d.begin(), d.end(), number) != d.end() ||
               std::find(a.begin(), a.end(), number) != a.end();
      };
      auto product = std::find_if(w.products.begin(), w.products.end(), uses);
      add(w, FindingKind::RegisterUnderWay,
          std::string("touches a register of a product under way that ") +
              (w.writers[number] ? "writes it" : "reads it") + ": no wgmma.wait_group lies between",
          op.instruction, siteOf(w, product->instruction));
    }
    w.touched[number] = true;
  }
}

void lowerProduct(Lowering &l) {
  ProductOp product;
  product.columns = l.instruction.columns;
  product.a = l.type(OfA);
  product.b = l.type(OfB);
  product.isInteger = isInteger(product.a);
  product.saturates = l.has(Modifier::satfinite);
  product.bits = product.a == Type::TF32 ? 32 : uint8_t(bitWidth(product.a));
  product.k = uint8_t(chunksOfK * pieceBytes * 8 / product.bits);
  const Operand &d = l.operand(0), &a = l.operand(1);
  for (uint32_t i = 0; i < d.count; ++i)
    product.d.push_back(l.place(l.kernel().parts[d.first + i], Type::B32));
  product.isAInRegisters = a.kind == OperandKind::Vector;
  if (product.isAInRegisters)
    for (uint32_t i = 0; i < wordsOfA; ++i)
      product.aRegisters[i] = l.place(l.kernel().parts[a.first + i], Type::B32);
  else
    product.aDescriptor = l.place(a, Type::B64);
  product.bDescriptor = l.place(2, Type::B64);
  l.op.p = l.predicate(l.operand(3), l.op.flag);
  auto constant = [&](unsigned i) { return i < l.operandCount() ? l.operand(i).value : 0; };
  product.negatesA = constant(4) == -1;
  product.negatesB = constant(5) == -1;
  product.transposesA = !product.isAInRegisters && constant(6) == 1;
  product.transposesB = constant(product.isAInRegisters ? 6 : 7) == 1;
  l.op.run = issue;
  l.op.control = Control::Aligned;
  l.op.detail = uint32_t(l.program.products.size());
  l.program.products.push_back(std::move(product));
}
void lowerProductFence(Lowering &l) {
  l.op.run = fence;
  l.op.control = Control::Aligned;
}
void lowerProductCommit(Lowering &l) {
  l.op.run = commit;
  l.op.control = Control::Aligned;
}
void lowerProductWait(Lowering &l) {
  l.op.value = uint64_t(l.operand(0).value);
  l.op.run = wait;
  l.op.control = Control::Aligned;
}

} // namespace tegula::ptxvm
