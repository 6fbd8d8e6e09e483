#include "jit/Configurations.h"
#include "compiler/Literal.h"
#include "compiler/Targets.h"
#include "sema/ConstEvaluate.h"
#include "sema/Decorators.h"
#include "syntax/Parser.h"

#include <map>

namespace tegula::jit {
namespace {

using namespace syntax;
using sema::Const;

constexpr size_t mostConfigurations = 10'000;

std::nullopt_t refuse(const std::string &what, const std::string &hint, diag::Location place,
                      diag::Sink &sink) {
  compiler::reportStatus(Status::error(StatusCode::Launch, what + "; hint: " + hint), "", std::move(place),
                         sink);
  return std::nullopt;
}

// A text of its own, parsed as one expression; the tree keeps it. Null: it is none.
std::shared_ptr<const Tree> parseText(const std::string &text, const Expr *&expression) {
  diag::Sink unheard;
  std::shared_ptr<const Tree> tree = parse(std::make_shared<diag::Source>("<configuration>", text), unheard);
  auto *statement = tree->body.size() == 1 ? as<ExprStmt>(tree->body.front()) : nullptr;
  expression = statement && !unheard.hasErrors() ? statement->value : nullptr;
  return expression ? tree : nullptr;
}

// The text of a constant as Python writes it.
std::string textOf(const Const &value) {
  if (auto *text = sema::get<std::string>(value))
    return "'" + *text + "'";
  sema::ConstError error;
  return sema::formatConst(value, "", error).value_or("?");
}

void finish(Configuration &configuration) { configuration.name = nameOf(configuration); }

// Reads the list of one decorator. Its names are those of loops in the list, then those of the file.
class Reader {
public:
  Reader(const sema::Function &function, diag::Sink &sink) : function_(function), sink_(sink) {}

  bool readDecorator() {
    const Expr *node = sema::decorator(*function_.definition, "autotune");
    auto *call = as<Call>(node);
    if (!call) {
      refuse("kernel `" + function_.definition->name + "` has no @autotune that lists configurations",
             "name them: --config BLOCK=64,num_warps=4", function_.tree->at(function_.definition->nameRange),
             sink_);
      return false;
    }
    const Expr *list = call->arguments.empty() ? nullptr : call->arguments.front();
    for (const Keyword &keyword : call->keywords)
      if (keyword.name == "configs")
        list = keyword.value;
    return list ? readList(list, 0) : unknown(node);
  }
  std::vector<Configuration> configurations;

private:
  bool unknown(const Node *node) {
    refuse("the configurations of `" + function_.definition->name + "` are known only to Python",
           "name them: --config BLOCK=64,num_warps=4; or tune the kernel from Python",
           function_.tree->at(node->range), sink_);
    return false;
  }
  std::optional<Const> evaluate(const Expr *node) {
    sema::ConstFailure failure;
    return sema::evaluateExpression(
        node,
        [&](const Name &name) -> std::optional<Const> {
          if (auto known = variables_.find(name.id); known != variables_.end())
            return known->second;
          std::optional<sema::HostAnswer> answer = function_.env->lookup(name.id);
          return answer ? std::optional(answer->value) : std::nullopt;
        },
        failure);
  }
  // The last value that the file gives a name, or what a function of it returns that does nothing else.
  const Expr *behind(const Expr *node) const {
    auto *call = as<Call>(node);
    if (call && (!call->arguments.empty() || !call->keywords.empty()))
      return nullptr;
    auto *name = as<Name>(call ? call->callee : node);
    const Expr *found = nullptr;
    for (const Stmt *statement : function_.tree->body) {
      if (auto *assign = as<Assign>(statement); assign && !call && name)
        for (const Expr *target : assign->targets)
          if (auto *bound = as<Name>(target); bound && bound->id == name->id)
            found = assign->value;
      if (auto *definition = as<FunctionDef>(statement);
          definition && call && name && definition->name == name->id) {
        auto *result = definition->body.size() == 1 ? as<Return>(definition->body.front()) : nullptr;
        found = result ? result->value : nullptr;
      }
    }
    return found;
  }

  bool readList(const Expr *node, unsigned depth) {
    if (depth > 20)
      return unknown(node);
    if (auto *list = as<List>(node)) {
      for (const Expr *element : list->elements)
        if (!readOne(element))
          return false;
      return true;
    }
    if (auto *list = as<ListComp>(node))
      return readLoops(*list, 0);
    if (auto *sum = as<Binary>(node); sum && sum->op == BinaryOperator::Add)
      return readList(sum->left, depth + 1) && readList(sum->right, depth + 1);
    const Expr *other = behind(node);
    return other ? readList(other, depth + 1) : unknown(node);
  }

  bool readLoops(const ListComp &list, size_t level) {
    if (level == list.generators.size())
      return readOne(list.element);
    const Comprehension &loop = list.generators[level];
    std::optional<Const> values = evaluate(loop.iterable);
    const sema::ConstTuple *items = values ? sema::tupleOf(*values) : nullptr;
    if (!items)
      return unknown(loop.iterable);
    for (const Const &item : *items) {
      if (!bind(loop.target, item))
        return unknown(loop.target);
      bool isWanted = true;
      for (const Expr *condition : loop.conditions) {
        std::optional<Const> holds = evaluate(condition);
        if (!holds)
          return unknown(condition);
        isWanted &= sema::isTrue(*holds);
      }
      if (isWanted && !readLoops(list, level + 1))
        return false;
    }
    return true;
  }
  bool bind(const Expr *target, const Const &value) {
    if (auto *name = as<Name>(target))
      return variables_[name->id] = value, true;
    auto *tuple = as<Tuple>(target);
    const sema::ConstTuple *items = sema::tupleOf(value);
    if (!tuple || !items || items->size() != tuple->elements.size())
      return false;
    for (size_t i = 0; i != items->size(); ++i)
      if (!bind(tuple->elements[i], (*items)[i]))
        return false;
    return true;
  }

  // Config({...}, num_warps=4, ...)
  bool readOne(const Expr *node) {
    auto *call = as<Call>(node);
    if (!call || sema::lastWord(call) != "Config" || configurations.size() == mostConfigurations)
      return unknown(node);
    static constexpr const char *positions[] = {"kwargs", "num_warps", "num_stages", "num_ctas", "maxnreg"};
    if (call->arguments.size() > std::size(positions))
      return unknown(node);
    Configuration configuration;
    for (size_t i = 0; i != call->arguments.size(); ++i)
      if (!readPart(positions[i], call->arguments[i], configuration))
        return false;
    for (const Keyword &keyword : call->keywords)
      if (!readPart(keyword.name, keyword.value, configuration))
        return false;
    finish(configuration);
    configurations.push_back(std::move(configuration));
    return true;
  }
  bool readPart(const std::string &name, const Expr *node, Configuration &out) {
    if (name == "kwargs")
      return readConstants(node, out);
    std::optional<Const> value = evaluate(node);
    if (!value || name.empty() || (name == "pre_hook" && !sema::get<sema::NoneValue>(*value)))
      return unknown(node);
    if (!sema::get<sema::NoneValue>(*value))
      out.values.emplace_back(name, std::move(*value));
    return true;
  }
  // {"BLOCK": 64, ...}. The tree has no dictionaries, since kernels have none; between other brackets the
  // text is that of a subscript with slices.
  bool readConstants(const Expr *node, Configuration &out) {
    std::string text(
        function_.tree->source->text().substr(node->range.begin, node->range.end - node->range.begin));
    if (text.size() < 2 || text.front() != '{' || text.back() != '}')
      return unknown(node);
    if (text.find_first_not_of("{} \t\r\n") == text.npos)
      return true;
    text.front() = '[', text.back() = ']';
    const Expr *expression = nullptr;
    std::shared_ptr<const Tree> tree = parseText("_" + text, expression);
    auto *subscript = as<Subscript>(expression);
    if (!subscript)
      return unknown(node);
    std::vector<const Expr *> parts{subscript->index};
    if (auto *several = as<Tuple>(subscript->index))
      parts.assign(several->elements.begin(), several->elements.end());
    for (const Expr *part : parts) {
      auto *slice = as<Slice>(part);
      auto *key = slice ? as<StringLiteral>(slice->lower) : nullptr;
      std::optional<Const> value =
          key && slice->upper && !slice->step ? evaluate(slice->upper) : std::nullopt;
      if (!value)
        return unknown(node);
      out.values.emplace_back(key->value, std::move(*value));
    }
    return true;
  }

  const sema::Function &function_;
  diag::Sink &sink_;
  std::map<std::string, Const> variables_;
};

} // namespace

std::string nameOf(const Configuration &configuration) {
  std::string text;
  for (const auto &[name, value] : configuration.values)
    text += (text.empty() ? "" : ", ") + name + "=" + textOf(value);
  return text;
}

std::optional<std::vector<Configuration>> configurationsOf(const sema::Function &function, diag::Sink &sink) {
  Reader reader(function, sink);
  return reader.readDecorator() ? std::optional(std::move(reader.configurations)) : std::nullopt;
}

std::optional<Configuration> parseConfiguration(std::string_view text, diag::Sink &sink) {
  // Keyword arguments of a call.
  const Expr *expression = nullptr;
  std::shared_ptr<const Tree> tree = parseText("_(" + std::string(text) + ")", expression);
  auto *call = as<Call>(expression);
  Configuration configuration;
  bool isWhole = call && call->arguments.empty() && !call->keywords.empty();
  for (size_t i = 0; isWhole && i != call->keywords.size(); ++i) {
    const Keyword &keyword = call->keywords[i];
    std::string_view written = tree->source->text();
    std::optional<Const> value = compiler::parseLiteral(
        written.substr(keyword.value->range.begin, keyword.value->range.end - keyword.value->range.begin));
    isWhole = value && !keyword.name.empty();
    if (isWhole)
      configuration.values.emplace_back(keyword.name, std::move(*value));
  }
  if (!isWhole)
    return refuse("`" + std::string(text) + "` is no configuration", "write BLOCK=64,num_warps=4", {}, sink);
  finish(configuration);
  return configuration;
}

std::optional<std::vector<int64_t>> evaluateGrid(std::string_view text, ValueOf valueOf, diag::Sink &sink) {
  auto refuseGrid = [&](const std::string &why) {
    return refuse("the grid `" + std::string(text) + "` " + why,
                  "write one to three integers, separated by commas, of the arguments: cdiv(n, BLOCK), 1", {},
                  sink);
  };
  const Expr *expression = nullptr;
  std::shared_ptr<const Tree> tree = parseText(std::string(text), expression);
  if (!tree)
    return refuseGrid("is no expression");
  std::string unknown;
  auto resolve = [&](const Name &name) -> std::optional<Const> {
    if (std::optional<Const> value = valueOf(name.id))
      return value;
    if (name.id == "triton" || name.id == "tegula")
      return Const{sema::ModuleRef{"triton"}};
    if (std::optional<Const> function = sema::moduleAttribute({"triton"}, name.id))
      return function;
    unknown = unknown.empty() ? name.id : unknown;
    return std::nullopt;
  };
  sema::ConstFailure failure;
  std::optional<Const> value = sema::evaluateExpression(expression, resolve, failure);
  if (!value)
    return refuseGrid(unknown.empty() ? "has no value for these arguments"
                                      : "names `" + unknown + "`, which is no argument");
  std::vector<Const> parts{*value};
  if (const sema::ConstTuple *several = sema::tupleOf(*value))
    parts = *several;
  std::vector<int64_t> grid;
  for (const Const &part : parts) {
    llvm::APInt number = sema::isInteger(part) ? sema::integerOf(part) : llvm::APInt(64, 0);
    if (!sema::isInteger(part) || !number.isSignedIntN(63))
      return refuseGrid("has an entry that is no integer");
    grid.push_back(number.getSExtValue());
  }
  return grid;
}

} // namespace tegula::jit
