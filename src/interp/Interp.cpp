// The entry: binds arguments, runs the grid's programs in row order, one after another.
#include "interp/Interp.h"
#include "interp/Interpreter.h"
#include "runtime/FloatState.h"

namespace tegula::interp {

namespace {

// Deeper regions than any front end makes; each level is a few frames of the host's stack.
constexpr unsigned maxDepth = 1000;

template <class... Ops> void addTileOps(Table &table) {
  (table.try_emplace(
       Ops::getOperationName(),
       [](Interpreter &machine, mlir::Operation *op) { return execute(machine, mlir::cast<Ops>(op)); }),
   ...);
}

} // namespace

const Table &allOps() {
  static const Table *table = [] {
    auto *all = new Table;
    addTileOps<
#define GET_OP_LIST
#include "ir/tile/Ops.cpp.inc"
        >(*all);
    addElementwise(*all);
    addIntegers(*all);
    addCasts(*all);
    addMath(*all);
    addControl(*all);
    return all;
  }();
  return *table;
}

void Interpreter::define(mlir::Value value, Tile tile) {
  std::unique_ptr<Tile> &slot = values_[value];
  if (slot)
    *slot = std::move(tile);
  else
    slot = std::make_unique<Tile>(std::move(tile));
}

Tile Interpreter::make(mlir::Type type) {
  Tile tile;
  tile.element = elementOf(type).value_or(Element::I1);
  llvm::ArrayRef<int64_t> shape = tile::shapeOf(type);
  tile.shape.assign(shape.begin(), shape.end());
  size_t count = 1;
  for (int64_t extent : shape)
    count *= size_t(extent);
  tile.bits.resize(count);
  return tile;
}

bool Interpreter::fail(mlir::Operation *op, StatusCode code, const llvm::Twine &text) {
  std::string place = tile::locationText(op->getLoc());
  status_ = Status::error(code, place + (place.empty() ? "" : ": ") + text.str());
  return false;
}

// Looked up once a kind of op: this is where unknown ops and types are refused.
Handler Interpreter::handlerOf(mlir::Operation *op) {
  auto row = table_.find(op->getName().getStringRef());
  if (row == table_.end()) {
    fail(op, StatusCode::Unsupported, "the interpreter does not know `" + op->getName().getStringRef() + "`");
    return nullptr;
  }
  return row->second;
}

bool Interpreter::spend(mlir::Operation *op) {
  if (!limited_)
    return true;
  if (left_ == 0)
    return fail(op, StatusCode::Resource, "the program runs longer than the given limit of operations");
  --left_;
  return true;
}

bool Interpreter::runOp(mlir::Operation *op) {
  if (!spend(op))
    return false;
  Handler &handler = handlers_[op->getName()];
  if (!handler && !(handler = handlerOf(op)))
    return false;
  for (mlir::Type type : op->getResultTypes())
    if (!elementOf(type))
      return fail(op, StatusCode::Unsupported,
                  "the interpreter does not know the type of this operation's result");
  return handler(*this, op);
}

bool Interpreter::runBlock(mlir::Block &block) {
  if (depth_ == maxDepth)
    return fail(block.getParentOp(), StatusCode::Resource, "regions are nested too deeply");
  ++depth_;
  bool ok = spend(block.getParentOp()); // a loop of nothing must meet the limit, too
  for (auto op = block.begin(), end = std::prev(block.end()); ok && op != end; ++op)
    ok = runOp(&*op);
  --depth_;
  return ok;
}

bool Interpreter::runBlock(mlir::Block &block, llvm::SmallVectorImpl<Tile> &&arguments,
                           llvm::SmallVectorImpl<Tile> &results, unsigned skip) {
  for (auto [argument, tile] : llvm::zip_equal(block.getArguments(), arguments))
    define(argument, std::move(tile));
  if (!runBlock(block))
    return false;
  results = copy(block.getTerminator()->getOperands().drop_front(skip));
  return true;
}

llvm::SmallVector<Tile, 4> Interpreter::copy(mlir::ValueRange values) const {
  llvm::SmallVector<Tile, 4> tiles;
  for (mlir::Value each : values)
    tiles.push_back(value(each));
  return tiles;
}

static Status bindArguments(Interpreter &machine, tile::FuncOp function,
                            std::span<const uint64_t> arguments) {
  if (function.getNumArguments() != arguments.size())
    return Status::error(StatusCode::Launch, "the kernel has " + std::to_string(function.getNumArguments()) +
                                                 " parameters, " + std::to_string(arguments.size()) +
                                                 " were given");
  for (auto [parameter, bits] : llvm::zip_equal(function.getArguments(), arguments)) {
    auto element = elementOf(parameter.getType());
    if (!element || mlir::isa<mlir::ShapedType>(parameter.getType()))
      return Status::error(StatusCode::Unsupported, "the interpreter does not know the type of a parameter");
    machine.define(parameter, Interpreter::scalar(*element, truncate(bits, widthOf(*element))));
  }
  return Status::success();
}

Status run(mlir::ModuleOp module, std::span<const uint64_t> arguments, const runtime::Grid &grid,
           uint64_t maxOps) {
  auto functions = module.getOps<tile::FuncOp>();
  if (!llvm::hasSingleElement(functions) || (*functions.begin()).isExternal())
    return Status::error(StatusCode::Internal, "a module to run has one kernel");
  Result<int64_t> programs = runtime::programCount(grid);
  if (!programs)
    return programs.status();
  runtime::FloatState defaults;
  tile::FuncOp function = *functions.begin();
  Interpreter machine(allOps(), grid, maxOps);
  if (Status status = bindArguments(machine, function, arguments); !status.ok())
    return status;
  for (int64_t program = 0; program < *programs; ++program) {
    machine.program = {program % grid.extent[0], program / grid.extent[0] % grid.extent[1],
                       program / grid.extent[0] / grid.extent[1]};
    if (!machine.runOp(function))
      return machine.status();
  }
  return Status::success();
}

} // namespace tegula::interp
