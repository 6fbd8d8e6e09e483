// A module file as a host: what its top-level names mean, found on the tree and never by
// running it. A name that is bound in a way that only Python could follow is answered as
// an opaque object whose text says what it is.
#include "sema/ConstEvaluate.h"
#include "sema/Decorators.h"
#include "sema/Sema.h"
#include "sema/Session.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <mutex>

namespace tegula::sema {

using syntax::as;

namespace {

std::shared_ptr<const Function> makeFunction(const std::shared_ptr<const syntax::Tree> &tree,
                                             const syntax::FunctionDef &definition,
                                             std::shared_ptr<HostEnv> env) {
  auto function = std::make_shared<Function>();
  function->tree = tree;
  function->definition = &definition;
  function->env = std::move(env);
  function->noinline_ = saysNoinline(definition);
  function->qualifiedName = tree->source->path() + "::" + definition.name;
  return function;
}

// Where a top-level name gets its value. `element` is a position in an unpacked tuple.
struct Binding {
  const syntax::Stmt *statement = nullptr;
  const syntax::ImportedName *import = nullptr;
  std::optional<size_t> element;
  bool isConditional = false; // inside an if, a try, a loop: only Python knows
};

class ModuleEnv final : public HostEnv, public std::enable_shared_from_this<ModuleEnv> {
public:
  explicit ModuleEnv(std::shared_ptr<const syntax::Tree> tree) : tree_(std::move(tree)), language_(*tree_) {
    collect(tree_->body, /*isConditional=*/false);
  }

  std::optional<HostAnswer> lookup(std::string_view name) override {
    std::lock_guard guard(mutex_); // kernels of one file may be compiled by several threads
    auto known = answers_.find(name);
    if (known != answers_.end())
      return known->second;
    auto binding = bindings_.find(name);
    std::optional<HostAnswer> answer;
    if (binding != bindings_.end() && inProgress_.insert(name).second) {
      answer = resolve(name, binding->second);
      inProgress_.erase(name);
    } else if (binding != bindings_.end()) {
      return opaque("defined by itself");
    } else {
      answer = fromStarImports(name);
    }
    // A Function holds this environment: kept here, neither would ever be freed.
    if (!answer || !get<std::shared_ptr<const Function>>(answer->value))
      answers_[name] = answer;
    return answer;
  }

private:
  // ---- which statement binds a name; the last one wins, as it does when a file has run ----

  void bind(std::string_view name, Binding binding) {
    auto [place, isNew] = bindings_.try_emplace(name, binding);
    if (isNew)
      return;
    // try: import a.b as x / except: import c.d as x — the first is the file's wish.
    bool isFallback = binding.isConditional && binding.import && place->second.import;
    if (!isFallback)
      place->second = binding;
  }

  void bindTarget(const syntax::Expr *target, Binding binding) {
    if (auto *name = as<syntax::Name>(target)) {
      bind(name->id, binding);
      return;
    }
    auto bindElements = [&](const std::vector<syntax::Expr *> &elements) {
      for (size_t i = 0; i < elements.size(); ++i) {
        Binding part = binding;
        part.isConditional |= binding.element.has_value(); // nested unpacking
        part.element = i;
        bindTarget(elements[i], part);
      }
    };
    if (auto *tuple = as<syntax::Tuple>(target))
      bindElements(tuple->elements);
    if (auto *list = as<syntax::List>(target))
      bindElements(list->elements);
  }

  void collect(const syntax::Block &block, bool isConditional) {
    for (const syntax::Stmt *statement : block)
      collect(statement, isConditional);
  }

  void collect(const syntax::Stmt *statement, bool isConditional) {
    Binding binding{statement, nullptr, std::nullopt, isConditional};
    auto both = [&](const syntax::Block &body, const syntax::Block &orelse) {
      collect(body, true);
      collect(orelse, true);
    };
    if (auto *function = as<syntax::FunctionDef>(statement))
      bind(function->name, binding);
    if (auto *classDef = as<syntax::ClassDef>(statement))
      bind(classDef->name, binding);
    if (auto *assign = as<syntax::Assign>(statement))
      for (const syntax::Expr *target : assign->targets)
        bindTarget(target, binding);
    if (auto *annotated = as<syntax::AnnAssign>(statement); annotated && annotated->value)
      bindTarget(annotated->target, binding);
    if (auto *augmented = as<syntax::AugAssign>(statement))
      bindTarget(augmented->target, binding);
    if (auto *import = as<syntax::Import>(statement))
      collectImport(*import, binding);
    if (auto *import = as<syntax::ImportFrom>(statement))
      collectImport(*import, binding);
    if (auto *branch = as<syntax::If>(statement))
      both(branch->body, branch->orelse);
    if (auto *loop = as<syntax::While>(statement))
      both(loop->body, loop->orelse);
    if (auto *loop = as<syntax::For>(statement)) {
      binding.isConditional = true;
      bindTarget(loop->target, binding);
      both(loop->body, loop->orelse);
    }
    if (auto *with = as<syntax::With>(statement))
      collect(with->body, isConditional);
    if (auto *other = as<syntax::UnsupportedStmt>(statement))
      collect(other->body, true);
  }

  void collectImport(const syntax::Import &import, Binding binding) {
    for (const syntax::ImportedName &name : import.names) {
      binding.import = &name;
      bool isRenamed = name.asName != name.name;
      bind(isRenamed ? name.asName : name.name.substr(0, name.name.find('.')), binding);
    }
  }

  void collectImport(const syntax::ImportFrom &import, Binding binding) {
    for (const syntax::ImportedName &name : import.names) {
      binding.import = &name;
      if (name.name == "*")
        stars_.push_back(canonical(import.module));
      else
        bind(name.asName, binding);
    }
  }

  // ---- what the statement makes of it ---------------------------------------------------

  static HostAnswer opaque(std::string what) { return {Const{OpaqueRef{0, std::move(what)}}, false}; }

  static std::string canonical(llvm::StringRef module) {
    if (module == "tegula" || module.starts_with("tegula."))
      return ("triton" + module.drop_front(6)).str();
    return module.str();
  }

  static HostAnswer moduleAnswer(const std::string &name) {
    if (name == "math" || name == "triton")
      return {Const{ModuleRef{name}}, false};
    if (llvm::StringRef(name).starts_with("triton."))
      if (auto known = findBuiltin(name))
        return {std::move(*known), false};
    return opaque("the Python module `" + name + "`");
  }

  std::optional<HostAnswer> resolve(std::string_view name, const Binding &binding) {
    if (as<syntax::Import>(binding.statement)) {
      bool isRenamed = binding.import->asName != binding.import->name;
      return moduleAnswer(canonical(isRenamed ? binding.import->name : std::string(name)));
    }
    if (auto *import = as<syntax::ImportFrom>(binding.statement))
      return imported(*import, *binding.import);
    if (binding.isConditional)
      return opaque("bound inside a statement that only Python can follow");
    if (auto *function = as<syntax::FunctionDef>(binding.statement))
      return functionAnswer(*function);
    if (as<syntax::ClassDef>(binding.statement))
      return opaque("a class");
    if (auto *annotated = as<syntax::AnnAssign>(binding.statement))
      return assigned(annotated->value, std::nullopt, namesConstexpr(annotated->annotation));
    if (auto *assign = as<syntax::Assign>(binding.statement))
      return assigned(assign->value, binding.element, /*isConstexpr=*/false);
    return opaque("changed by an augmented assignment");
  }

  static HostAnswer imported(const syntax::ImportFrom &import, const syntax::ImportedName &name) {
    std::string module = import.level ? "" : canonical(import.module);
    if (auto known = module == "math" ? moduleAttribute(ModuleRef{"math"}, name.name) : std::nullopt)
      return {std::move(*known), false};
    if (module == "triton" || llvm::StringRef(module).starts_with("triton."))
      if (auto known = findBuiltin(module + "." + name.name))
        return {std::move(*known), false};
    // Packages hand the language on under its usual names: `from vllm.triton_utils import tl, triton`.
    if (name.name == "tl" || name.name == "triton")
      return moduleAnswer(name.name == "tl" ? "triton.language" : "triton");
    return opaque("imported from `" + std::string(import.level, '.') + import.module +
                  "`, which is outside this file");
  }

  HostAnswer functionAnswer(const syntax::FunctionDef &definition) {
    if (language_.isKernel(definition))
      return {Const{makeFunction(tree_, definition, shared_from_this())}, true};
    if (decorator(definition, "constexpr_function"))
      return opaque("a constexpr_function, which needs a Python interpreter");
    return opaque("a Python function without @triton.jit");
  }

  HostAnswer assigned(const syntax::Expr *value, std::optional<size_t> element, bool isConstexpr) {
    ConstFailure failure;
    auto resolveName = [&](const syntax::Name &name) -> std::optional<Const> {
      if (auto answer = lookup(name.id))
        return get<OpaqueRef>(answer->value) ? std::nullopt : std::optional(answer->value);
      return findBuiltin("builtins." + name.id);
    };
    auto constant = evaluateExpression(value, resolveName, failure);
    if (!constant)
      return opaque(describe(value));
    isConstexpr |= lastWord(value) == "constexpr" && as<syntax::Call>(value);
    if (!element)
      return {std::move(*constant), isConstexpr || isAlias(value)};
    auto *tuple = tupleOf(*constant);
    if (!tuple || *element >= tuple->size())
      return opaque("unpacked from a value that has no such element");
    const syntax::Expr *part = nullptr;
    if (auto *node = as<syntax::Tuple>(value))
      part = node->elements[*element];
    bool isWrapped = part && as<syntax::Call>(part) && lastWord(part) == "constexpr";
    return {(*tuple)[*element], isWrapped};
  }

  // Y = X where X is a tl.constexpr.
  bool isAlias(const syntax::Expr *value) {
    auto *name = as<syntax::Name>(value);
    auto answer = name ? lookup(name->id) : std::nullopt;
    return answer && answer->isConstexpr;
  }

  static std::string describe(const syntax::Expr *value) {
    if (auto *other = as<syntax::UnsupportedExpr>(value))
      return "the value of " + other->what;
    if (as<syntax::Call>(value))
      return "the result of a Python call, known only when the file runs";
    return "a value known only when the file runs";
  }

  std::optional<HostAnswer> fromStarImports(std::string_view name) {
    for (const std::string &module : stars_)
      if (auto known = findBuiltin(module + "." + std::string(name)))
        return HostAnswer{std::move(*known), false};
    if (findBuiltin("builtins." + std::string(name)))
      return std::nullopt;
    for (const std::string &module : stars_)
      if (module != "math" && module != "triton" && !llvm::StringRef(module).starts_with("triton."))
        return opaque("perhaps imported from `" + module + "` by `*`, which is outside this file");
    return std::nullopt;
  }

  std::recursive_mutex mutex_; // a constant is made of others
  std::shared_ptr<const syntax::Tree> tree_;
  LanguageNames language_;
  llvm::StringMap<Binding> bindings_;
  llvm::StringMap<std::optional<HostAnswer>> answers_;
  llvm::StringSet<> inProgress_;
  std::vector<std::string> stars_;
};

} // namespace

std::shared_ptr<HostEnv> makeModuleEnv(std::shared_ptr<const syntax::Tree> tree) {
  return std::make_shared<ModuleEnv>(std::move(tree));
}

std::vector<std::shared_ptr<const Function>> kernelsOf(const std::shared_ptr<const syntax::Tree> &tree,
                                                       const std::shared_ptr<HostEnv> &env) {
  std::vector<std::shared_ptr<const Function>> kernels;
  LanguageNames language(*tree);
  for (const syntax::Stmt *statement : tree->body)
    if (auto *definition = as<syntax::FunctionDef>(statement))
      if (language.isKernel(*definition))
        kernels.push_back(makeFunction(tree, *definition, env));
  return kernels;
}

} // namespace tegula::sema
