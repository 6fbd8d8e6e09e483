#include "sema/LibraryKinds.h"

#include "sema/Const.h"

#include "llvm/ADT/StringRef.h"

namespace tegula::sema {

namespace {

using syntax::as;

bool isNumberOf(const Value &value, bool (*accepts)(DType)) {
  auto *tensor = value.tensor();
  return tensor && !tensor->type.pointer && accepts(tensor->type.element);
}

bool isAny(DType) { return true; }
bool isTile(const Value &value) { return value.tensor() && !value.tensor()->type.isScalar(); }
bool isIntegerValue(const Value &value) {
  return value.constant() ? isInteger(*value.constant())
                          : isNumberOf(value, [](DType type) { return isInteger(type); });
}
// Any number that is a constant can be a float.
bool isRealValue(const Value &value) {
  return value.constant() ? isNumber(*value.constant())
                          : isNumberOf(value, [](DType type) { return isFloat(type); });
}
bool isNumberValue(const Value &value) {
  return value.constant() ? isNumber(*value.constant()) : isNumberOf(value, isAny);
}
bool isCount(const Value &value) { return value.constant() && asInt64(*value.constant()); }

struct Kind {
  const char *name, *expected;
  bool isConstant;
  bool (*accepts)(const Value &);
};

constexpr Kind kinds[] = {
    {"integer", "an integer or a tile of integers", false, isIntegerValue},
    {"real", "a float or a tile of floats", false, isRealValue},
    {"number", "a number or a tile of numbers", false, isNumberValue},
    {"tile", "a tile of numbers", false,
     [](const Value &value) { return isTile(value) && isNumberOf(value, isAny); }},
    {"real_tile", "a tile of floats", false,
     [](const Value &value) { return isTile(value) && isRealValue(value); }},
    {"count", "an integer", true, isCount},
    {"flag", "True or False", true, [](const Value &value) { return value.isNone() || isCount(value); }},
    {"axis", "an integer or None", true, [](const Value &value) { return value.isNone() || isCount(value); }},
};

const Kind *kindOf(const syntax::Expr *annotation) {
  auto *name = as<syntax::Name>(annotation);
  for (const Kind &kind : kinds)
    if (name && name->id == kind.name)
      return &kind;
  return nullptr;
}

// "tl.rand", "libdevice.rint", of the names that the library has.
std::string nameForUsers(const Function &function) {
  llvm::StringRef name = function.definition->name;
  return name.consume_front("libdevice_") ? "libdevice." + name.str() : "tl." + name.str();
}

std::string describeArgument(const Value &value) {
  if (auto *tensor = value.tensor())
    return spelling(tensor->type);
  if (auto *record = value.record())
    return spelling(record->type);
  return value.constant() ? describeType(*value.constant()) : "a tuple";
}

} // namespace

bool isOfLibrary(const Function &function) { return function.tree->source->path().starts_with("<tegula>/"); }

bool isConstantKind(const syntax::Expr *annotation) {
  const Kind *kind = kindOf(annotation);
  return kind && kind->isConstant;
}

bool checkKind(Session &session, const Function &callee, const syntax::Parameter &parameter,
               const Value &argument) {
  const Kind *kind = isOfLibrary(callee) ? kindOf(parameter.annotation) : nullptr;
  bool isLate = kind && kind->isConstant && !argument.constant(); // reported as a constant that is missing
  if (!kind || isLate || kind->accepts(argument))
    return true;
  session.fail(diag::Kind::BuiltinWrongArgument,
               {nameForUsers(callee), parameter.name, kind->expected, describeArgument(argument)});
  return false;
}

} // namespace tegula::sema
