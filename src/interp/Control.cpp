// Kernels, the grid, loops and branches. Terminators are read by the op that owns the block.
#include "interp/Maps.h"
#include "runtime/Report.h"

namespace tegula::interp {

namespace {

using mlir::Operation;
namespace scf = mlir::scf;

void defineAll(Interpreter &machine, mlir::ValueRange values, llvm::SmallVectorImpl<Tile> &tiles) {
  for (auto [value, tile] : llvm::zip_equal(values, tiles))
    machine.define(value, std::move(tile));
}

// The next index of a loop, unless it leaves its type: then the loop is over.
bool advance(uint64_t &index, uint64_t step, unsigned width, bool isUnsigned) {
  if (isUnsigned) {
    bool over = __builtin_add_overflow(index, step, &index);
    return !over && truncate(index, width) == index;
  }
  int64_t next;
  if (__builtin_add_overflow(int64_t(index), int64_t(step), &next) ||
      signExtend(uint64_t(next), width) != next)
    return false;
  index = uint64_t(next);
  return true;
}

bool forLoop(Interpreter &machine, Operation *op) {
  auto loop = mlir::cast<scf::ForOp>(op);
  const bool isUnsigned = loop.getUnsignedCmp();
  const Element element = machine.value(loop.getLowerBound()).element;
  auto bound = [&](mlir::Value value) {
    const Tile &tile = machine.value(value);
    return isUnsigned ? tile.bits[0] : uint64_t(tile.asSigned());
  };
  uint64_t index = bound(loop.getLowerBound());
  const uint64_t end = bound(loop.getUpperBound()), step = bound(loop.getStep());
  if (step == 0 || (!isUnsigned && int64_t(step) < 0))
    return machine.fail(op, StatusCode::Data,
                        "the step of a loop is " + llvm::Twine(int64_t(step)) + "; it must be positive");
  llvm::SmallVector<Tile, 4> carried = machine.copy(loop.getInitArgs());
  auto more = [&] { return isUnsigned ? index < end : int64_t(index) < int64_t(end); };
  while (more()) {
    llvm::SmallVector<Tile, 4> arguments;
    arguments.push_back(Interpreter::scalar(element, truncate(index, widthOf(element))));
    std::move(carried.begin(), carried.end(), std::back_inserter(arguments));
    if (!machine.runBlock(*loop.getBody(), std::move(arguments), carried))
      return false;
    if (!advance(index, step, widthOf(element), isUnsigned))
      break;
  }
  defineAll(machine, op->getResults(), carried);
  return true;
}

bool whileLoop(Interpreter &machine, Operation *op) {
  auto loop = mlir::cast<scf::WhileOp>(op);
  llvm::SmallVector<Tile, 4> carried = machine.copy(loop.getInits()), passed;
  constexpr uint64_t tripsBetween = 256; // looks for the user's interrupt
  uint64_t trips = 0;
  for (;;) {
    if (!machine.runBlock(*loop.getBeforeBody(), std::move(carried), passed, /*skip=*/1))
      return false;
    if (!machine.value(loop.getConditionOp().getCondition()).bits[0])
      break;
    if (!machine.runBlock(*loop.getAfterBody(), std::move(passed), carried))
      return false;
    if (++trips % tripsBetween == 0 && machine.interrupt.hasCome())
      return machine.fail(op, StatusCode::Launch, runtime::interruptedText(""));
  }
  defineAll(machine, op->getResults(), passed);
  return true;
}

bool branch(Interpreter &machine, Operation *op) {
  auto branch = mlir::cast<scf::IfOp>(op);
  mlir::Region &taken =
      machine.value(branch.getCondition()).bits[0] ? branch.getThenRegion() : branch.getElseRegion();
  llvm::SmallVector<Tile, 4> results;
  if (!taken.empty() && !machine.runBlock(taken.front(), llvm::SmallVector<Tile, 0>(), results))
    return false;
  defineAll(machine, op->getResults(), results);
  return true;
}

bool executeRegion(Interpreter &machine, Operation *op) {
  mlir::Region &region = op->getRegion(0);
  if (!region.hasOneBlock())
    return machine.fail(op, StatusCode::Unsupported, "the interpreter runs regions of one block only");
  llvm::SmallVector<Tile, 4> results;
  if (!machine.runBlock(region.front(), llvm::SmallVector<Tile, 0>(), results))
    return false;
  defineAll(machine, op->getResults(), results);
  return true;
}

} // namespace

void addControl(Table &table) {
  table["scf.for"] = forLoop;
  table["scf.while"] = whileLoop;
  table["scf.if"] = branch;
  table["scf.execute_region"] = executeRegion;
  table["scf.condition"] = table["scf.yield"] = [](Interpreter &, Operation *) { return true; };
}

template <> bool execute(Interpreter &machine, tile::FuncOp op) {
  if (!op.getBody().hasOneBlock())
    return machine.fail(op, StatusCode::Unsupported, "the interpreter runs kernels of one block only");
  return machine.runBlock(op.getBody().front());
}

template <> bool execute(Interpreter &, tile::ReturnOp) { return true; }

template <> bool execute(Interpreter &machine, tile::GetProgramIdOp op) {
  machine.define(op.getResult(), Interpreter::scalar(Element::I32, uint32_t(machine.program[op.getAxis()])));
  return true;
}

template <> bool execute(Interpreter &machine, tile::GetNumProgramsOp op) {
  machine.define(op.getResult(),
                 Interpreter::scalar(Element::I32, uint32_t(machine.grid.extent[op.getAxis()])));
  return true;
}

} // namespace tegula::interp
