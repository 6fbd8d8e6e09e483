#include "sema/builtins/Combine.h"

#include "llvm/ADT/SetVector.h"

namespace tegula::sema::builtins {
namespace {

// The function's results as scalars of the inputs' types.
std::optional<std::vector<Tensor>> asScalars(Call &call, const Value &result, llvm::ArrayRef<Tensor> like) {
  auto elements = elementsOf(result);
  if (!elements)
    elements = std::vector<Value>{result};
  std::vector<Tensor> scalars;
  bool fits = elements->size() == like.size();
  for (size_t e = 0; fits && e < like.size(); ++e) {
    const Value &element = (*elements)[e];
    if (!element.tensor() && !isNumber(element)) // of a function without `return`, say
      return call.fail(diag::Kind::CombineResult,
                       {describe(element), like.size() == 1 ? "one number" : "a tuple of numbers"});
    auto scalar = toTensor(call.session, element);
    if (!scalar)
      return std::nullopt;
    fits = scalar->type == like[e].type;
    scalars.push_back(*scalar);
  }
  if (fits)
    return scalars;
  std::string got, want;
  for (const Value &element : *elements)
    got += (got.empty() ? "" : ", ") + describe(element);
  for (const Tensor &tensor : like)
    want += (want.empty() ? "" : ", ") + spelling(tensor.type);
  return call.fail(diag::Kind::CombineResult, {got, want});
}

} // namespace

std::optional<Value> callArgument(Call &call, size_t i, std::span<const Value> arguments) {
  if (auto *constant = call[i].constant()) {
    if (auto *function = std::get_if<std::shared_ptr<const Function>>(&constant->value))
      return call.session.functions.callFunction(**function, arguments, {});
    if (auto *builtin = std::get_if<BuiltinRef>(&constant->value))
      return callBuiltin(call.session, builtin->name, arguments, {});
  }
  return call.wrong(i, "a function of the language");
}

// The ops of a region that its results, its effects and what its branches yield are computed by. The others
// are of no matter: a function may make a tile of its scalar to ask for its type.
static llvm::SetVector<mlir::Operation *> opsThatCount(mlir::Region &region, llvm::ArrayRef<Tensor> results) {
  llvm::SetVector<mlir::Operation *> ops;
  auto add = [&](mlir::Value value) {
    if (mlir::Operation *op = value.getDefiningOp(); op && region.isAncestor(op->getParentRegion()))
      ops.insert(op);
  };
  for (const Tensor &result : results)
    add(result.value);
  region.walk([&](mlir::Operation *op) {
    if (!mlir::isMemoryEffectFree(op) || op->hasTrait<mlir::OpTrait::IsTerminator>())
      ops.insert(op);
  });
  for (unsigned i = 0; i != ops.size(); ++i)
    llvm::for_each(ops[i]->getOperands(), add);
  return ops;
}

bool checkScalarFunction(Call &call, mlir::Region &region, llvm::ArrayRef<Tensor> results, bool mayComplain) {
  using namespace tile;
  mlir::Operation *wrong = nullptr;
  for (mlir::Operation *op : opsThatCount(region, results)) {
    bool hasTile = llvm::any_of(op->getResultTypes(), llvm::IsaPred<mlir::RankedTensorType>) ||
                   llvm::any_of(op->getOperandTypes(), llvm::IsaPred<mlir::RankedTensorType>);
    bool isAllowed =
        op->getNumRegions() != 0 || mlir::isMemoryEffectFree(op) || // what it holds is asked itself
        llvm::isa<ElementwiseInlineAsmOp>(op) || (mayComplain && llvm::isa<AssertOp, PrintOp>(op));
    if (!wrong && (hasTile || !isAllowed))
      wrong = op;
  }
  if (!wrong)
    return true;
  auto at = wrong->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  std::string does =
      mlir::isMemoryEffectFree(wrong) ? "computes with tiles" : "touches memory or has other effects";
  call.fail(diag::Kind::CombineResult,
            {"what " + does + (at ? " (line " + std::to_string(at.getLine()) + ")" : ""),
             "what it computes from its scalars alone"});
  return false;
}

bool buildCombine(Session &session, mlir::Region &region, llvm::ArrayRef<Type> types, Combine combine,
                  llvm::function_ref<void(mlir::ValueRange)> finish) {
  mlir::OpBuilder::InsertionGuard guard(session.builder);
  mlir::Block *block = session.builder.createBlock(&region);
  std::vector<Tensor> scalars;
  for (int side = 0; side < 2; ++side)
    for (const Type &type : types)
      scalars.push_back({block->addArgument(lower(type, session.builder.getContext()), session.loc()), type});
  llvm::ArrayRef<Tensor> all(scalars);
  auto results = combine(all.take_front(types.size()), all.drop_front(types.size()));
  if (!results)
    return false;
  // The number of the program is no element's matter.
  region.walk([&](mlir::Operation *op) {
    if (llvm::isa<tile::GetProgramIdOp, tile::GetNumProgramsOp>(op))
      op->moveBefore(region.getParentOp());
  });
  llvm::SmallVector<mlir::Value> values;
  for (const Tensor &result : *results)
    values.push_back(result.value);
  finish(values);
  return true;
}

std::optional<std::vector<Tensor>> combinedInputs(Call &call) {
  auto elements = elementsOf(call[0]);
  if (!elements)
    elements = std::vector<Value>{call[0]};
  std::vector<Tensor> tiles;
  for (const Value &element : *elements) {
    if (!element.tensor() || element.tensor()->type.isScalar())
      return call.wrong(0, "a tile, or a tuple of tiles");
    tiles.push_back(*element.tensor());
    if (tiles.back().type.shape != tiles[0].type.shape)
      return call.wrong(0, "tiles of one shape");
  }
  if (tiles.empty())
    return call.wrong(0, "a tile, or a tuple of tiles");
  return tiles;
}

std::optional<std::vector<Tensor>> callCombine(Call &call, size_t i, llvm::ArrayRef<Tensor> accumulated,
                                               llvm::ArrayRef<Tensor> next) {
  std::vector<Value> arguments(accumulated.begin(), accumulated.end());
  arguments.insert(arguments.end(), next.begin(), next.end());
  mlir::Region &region = *call.session.builder.getInsertionBlock()->getParent();
  auto combined = callArgument(call, i, arguments);
  auto scalars = combined ? asScalars(call, *combined, accumulated) : std::nullopt;
  return scalars && checkScalarFunction(call, region, *scalars, /*mayComplain=*/true) ? scalars
                                                                                      : std::nullopt;
}

Value likeInputs(Call &call, std::vector<Tensor> results) {
  if (!elementsOf(call[0]))
    return results[0];
  return makeValueTuple({results.begin(), results.end()});
}

DType accumulatorType(DType element) {
  return isFloat(element) && bitWidth(element) < 32 ? DType::F32 : element;
}

DType sumType(DType element) {
  if (isFloat(element) || bitWidth(element) >= 32)
    return element;
  return isSigned(element) ? DType::I32 : DType::U32;
}

} // namespace tegula::sema::builtins
