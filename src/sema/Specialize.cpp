// A kernel and what is known of its arguments -> a module with one tt.func. Binds the
// parameters, walks the body, and cleans up: canonicalization and CSE drop what constants
// decided and what loops did not need to carry.
#include "sema/Visitor.h"

#include "ir/tile/Canonicalizer.h"
#include "ir/tile/EqualOps.h"
#include "ir/tile/Tile.h"

#include "mlir/IR/Verifier.h"

namespace tegula::sema {

using diag::Kind;

namespace {

struct OperationCount final : mlir::OpBuilder::Listener {
  unsigned *count = nullptr;
  void notifyOperationInserted(mlir::Operation *, mlir::OpBuilder::InsertPoint) override { ++*count; }
};

class Specializer {
public:
  Specializer(mlir::MLIRContext &context, const Request &request, diag::Sink &sink)
      : request_(request), kernel_(*request.kernel), builder_(&context),
        visitor_(builder_, sink, request.options, request.record ? *request.record : unasked_) {
    for (const ArgumentSpec &argument : request.arguments)
      specs_.try_emplace(argument.name, &argument);
    listener_.count = &visitor_.operations;
    builder_.setListener(&listener_);
  }

  mlir::OwningOpRef<mlir::ModuleOp> run() {
    visitor_.session.place = {kernel_.tree->source, kernel_.definition->nameRange};
    mlir::Location loc = visitor_.session.loc();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
    if (!bindParameters())
      return nullptr;
    builder_.setInsertionPointToEnd(module->getBody());
    auto type = builder_.getFunctionType(types_, {});
    auto function = tile::FuncOp::create(builder_, loc, nameInCode(request_), type);
    mlir::Block *entry =
        function.getBody().empty() ? &function.getBody().emplaceBlock() : &function.getBody().front();
    addArguments(function, *entry);
    builder_.setInsertionPointToEnd(entry);
    if (!makeDescriptors())
      return nullptr;
    if (!visitor_.visitKernel(kernel_, std::move(locals_)))
      return nullptr;
    tile::ReturnOp::create(builder_, loc);
    if (request_.asWritten)
      request_.asWritten(*module);
    return cleanUp(*module) ? std::move(module) : nullptr;
  }

private:
  bool fail(Kind kind, std::initializer_list<std::string_view> arguments) {
    visitor_.session.fail(kind, arguments);
    return false;
  }

  // Constants are bound at once; run-time parameters get the function's arguments later.
  bool bindParameters() {
    const std::string &name = kernel_.definition->name;
    for (const syntax::Parameter &parameter : kernel_.definition->parameters) {
      visitor_.session.place.range = parameter.range;
      if (!bindParameter(name, parameter))
        return false;
    }
    visitor_.session.place.range = kernel_.definition->nameRange;
    for (const ArgumentSpec &argument : request_.arguments)
      if (!locals_.contains(argument.name))
        return fail(Kind::UnknownKeyword, {name, argument.name});
    return true;
  }

  bool bindParameter(const std::string &name, const syntax::Parameter &parameter) {
    if (parameter.kind == syntax::Parameter::KwArgs)
      return fail(Kind::UnsupportedConstruct,
                  {"`**kwargs` in the parameters of a kernel", "name each parameter, or take `*args`"});
    bool isConstexpr = parameter.annotation && namesConstexpr(parameter.annotation);
    Local &local = locals_[parameter.name];
    local.line = kernel_.tree->source->position(parameter.range.begin).line;
    const ArgumentSpec *spec = specs_.lookup(parameter.name);
    if (!spec && parameter.kind == syntax::Parameter::VarArgs) {
      local.value = makeTupleValue({});
      return true;
    }
    if (!spec && !parameter.defaultValue)
      return fail(isConstexpr ? Kind::MissingConstexpr : Kind::MissingArgument, {name, parameter.name});
    if (!spec) {
      auto value = visitor_.defaultValue(kernel_, parameter);
      if (value)
        local.value = std::move(*value);
      return value.has_value();
    }
    local.value = valueOf(parameter, *spec);
    if (!isConstexpr || local.value.constant())
      return true;
    return fail(Kind::ConstexprParameter, {name, parameter.name, describeType(local.value)});
  }

  // The value of a parameter, or of an element of one; run-time values in it get the function's arguments
  // later.
  Value valueOf(const syntax::Parameter &parameter, const ArgumentSpec &spec) {
    if (spec.elements) {
      ValueTuple tuple;
      tuple.type = spec.tupleClass;
      for (const ArgumentSpec &element : *spec.elements)
        tuple.push_back(valueOf(parameter, element));
      return makeTupleValue(std::move(tuple));
    }
    if (auto *constant = std::get_if<Const>(&spec.value))
      return Value(*constant);
    const Type &type = std::get<Type>(spec.value);
    types_.push_back(lower(type, builder_.getContext()));
    runTime_.push_back({&parameter, &spec});
    return Value(Tensor{nullptr, type});
  }

  void addArguments(tile::FuncOp function, mlir::Block &entry) {
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<mlir::DictionaryAttr> attributes; // set together: each setting copies those of all
    for (size_t i = 0; i < runTime_.size(); ++i) {
      const auto &[parameter, spec] = runTime_[i];
      visitor_.session.place.range = parameter->range;
      mlir::Value value = entry.getNumArguments() > i ? entry.getArgument(i)
                                                      : entry.addArgument(types_[i], visitor_.session.loc());
      value.setLoc(visitor_.session.loc());
      llvm::SmallVector<mlir::NamedAttribute, 2> known{
          builder_.getNamedAttr("tt.name", builder_.getStringAttr(spec->name))};
      if (spec->divisibility > 1)
        known.push_back(builder_.getNamedAttr(
            "tt.divisibility", builder_.getI32IntegerAttr(static_cast<int32_t>(spec->divisibility))));
      attributes.push_back(builder_.getDictionaryAttr(known));
      values.push_back(value);
    }
    function.setAllArgAttrs(attributes);
    mlir::ValueRange left = values;
    for (const syntax::Parameter &parameter : kernel_.definition->parameters)
      locals_[parameter.name].value = rebuild(locals_[parameter.name].value, left);
  }

  // A host hands a tensor descriptor over as its parts, in a tuple of a class with this name.
  static bool isDescriptor(const ValueTuple &tuple) {
    return tuple.type && tuple.type->name == "triton.language.tensor_descriptor";
  }

  std::optional<Value> descriptorOf(const ValueTuple &parts) {
    constexpr size_t strides = 2, multiple = 5; // places; the last one need not be there
    if (parts.size() <= multiple || !parts[strides].tuple())
      return callBuiltin(visitor_.session, "triton.language.make_tensor_descriptor", parts, {});
    for (const Value &stride : *parts[strides].tuple())
      if (!stride.constant() && !callBuiltin(visitor_.session, "triton.language.multiple_of",
                                             std::array{stride, parts[multiple]}, {}))
        return std::nullopt;
    return callBuiltin(visitor_.session, "triton.language.make_tensor_descriptor",
                       std::span(parts).first(multiple), {});
  }

  // `value` with descriptors in the place of their parts; nothing after a diagnostic.
  std::optional<Value> withDescriptors(const Value &value) {
    const ValueTuple *parts = value.tuple();
    if (!parts)
      return value;
    if (isDescriptor(*parts))
      return descriptorOf(*parts);
    ValueTuple all;
    all.type = parts->type;
    for (const Value &part : *parts) {
      std::optional<Value> made = withDescriptors(part);
      if (!made)
        return std::nullopt;
      all.push_back(std::move(*made));
    }
    return makeTupleValue(std::move(all));
  }

  bool makeDescriptors() {
    for (const syntax::Parameter &parameter : kernel_.definition->parameters) {
      visitor_.session.place.range = parameter.range;
      Value &value = locals_[parameter.name].value;
      if (!value.tuple() || value.constant())
        continue;
      std::optional<Value> made = withDescriptors(value);
      if (!made)
        return false;
      value = std::move(*made);
    }
    visitor_.session.place.range = kernel_.definition->nameRange;
    return true;
  }

  bool cleanUp(mlir::ModuleOp module) {
    std::string problem;
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (problem.empty())
        problem = diagnostic.str();
      return mlir::success();
    });
    if (mlir::failed(mlir::verify(module)))
      return fail(Kind::InternalCompilerError, {problem});
    tile::canonicalize(module);
    if (mlir::failed(mlir::verify(module)))
      return fail(Kind::InternalCompilerError, {problem});
    tile::eliminateEqualOps(module);
    return true;
  }

  struct RunTimeParameter {
    const syntax::Parameter *parameter;
    const ArgumentSpec *spec;
  };

  HostRecord unasked_; // of a caller who does not want it
  const Request &request_;
  const Function &kernel_;
  mlir::OpBuilder builder_;
  OperationCount listener_;
  Visitor visitor_;
  llvm::StringMap<const ArgumentSpec *> specs_; // by name; the first of a name counts
  llvm::StringMap<Local> locals_;
  llvm::SmallVector<mlir::Type> types_;
  std::vector<RunTimeParameter> runTime_;
};

} // namespace

std::string nameInCode(const Request &request) {
  std::string name;
  for (char c : request.name.empty() ? request.kernel->definition->name : request.name)
    name += llvm::isAlnum(c) || c == '_' || c == '$' ? std::string(1, c) : "_$_";
  return llvm::isDigit(name.front()) ? "_" + name : name;
}

mlir::OwningOpRef<mlir::ModuleOp> specialize(mlir::MLIRContext &context, const Request &request,
                                             diag::Sink &sink) {
  return Specializer(context, request, sink).run();
}

} // namespace tegula::sema
