// Types as values: what makes them.
#include "sema/builtins/Call.h"

namespace tegula::sema::builtins {

std::optional<Value> call_pointer_type(Call &call) {
  enum { Element, AddressSpace, IsConst };
  auto *constant = call[Element].constant(); // packed elements, too
  auto *element = constant ? std::get_if<TypeRef>(&constant->value) : nullptr;
  if (!element || element->pointer || element->whole)
    return call.wrong(Element, "a dtype");
  auto space = call.integer(AddressSpace);
  auto isConst = space ? call.flag(IsConst) : std::nullopt;
  if (!isConst)
    return std::nullopt;
  if (*space != 1)
    return call.wrong(AddressSpace, "1, global memory");
  return Value(Const{TypeRef{element->element, true, *isConst}});
}

std::optional<Value> call_block_type(Call &call) {
  auto element = call.type(0);
  auto shape = element ? call.shape(1) : std::nullopt;
  if (shape && (!element->isScalar() || shape->empty()))
    return element->isScalar() ? call.wrong(1, "at least one extent") : call.wrong(0, "the type of a scalar");
  return shape ? std::optional<Value>(makeType(element->withShape(*shape))) : std::nullopt;
}

// With the fields to replace as keywords, which no row of the table can name, the visitor answers.
std::optional<Value> call_aggregate_replace(Call &call) { return call.wrong(0, "an aggregate"); }

std::optional<Value> call_dtype(Call &call) {
  auto text = call.text(0);
  auto type = text ? dtypeFromName(*text) : std::nullopt;
  if (text && !type)
    return call.wrong(0, "the name of a dtype");
  return type ? std::optional<Value>(Const{TypeRef{*type}}) : std::nullopt;
}

std::optional<Value> call_get_int_dtype(Call &call) {
  auto bits = call.integer(0);
  auto isSigned = bits ? call.flag(1) : std::nullopt;
  if (!isSigned)
    return std::nullopt;
  auto type = dtypeFromName((*isSigned || *bits == 1 ? "int" : "uint") + std::to_string(*bits));
  if (!type)
    return call.wrong(0, "1, 8, 16, 32 or 64");
  return Value(Const{TypeRef{*type}});
}

std::optional<Value> call_tuple(Call &call) {
  auto elements = elementsOf(call[0]);
  return elements ? std::optional(makeValueTuple(std::move(*elements))) : call.wrong(0, "a tuple");
}

std::optional<Value> call__log2(Call &call) {
  auto value = call.integer(0);
  if (value && *value <= 0)
    return call.wrong(0, "a positive integer");
  return value ? std::optional<Value>(makeInt(int64_t(llvm::Log2_64(uint64_t(*value))))) : std::nullopt;
}

std::optional<Value> call_next_power_of_2(Call &call) {
  auto value = call.integer(0);
  if (value && (*value < 0 || *value > int64_t(1) << 62))
    return call.wrong(0, "an integer from 0 to 2^62");
  return value ? std::optional<Value>(makeInt(int64_t(llvm::PowerOf2Ceil(uint64_t(*value))))) : std::nullopt;
}

} // namespace tegula::sema::builtins
