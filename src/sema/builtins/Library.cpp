// Builtins that are written in the language: sema/library/*.py, part of the program as
// text, parsed on first use.
#include "sema/builtins/Table.h"
#include "syntax/Parser.h"

#include <atomic>
#include <cassert>
#include <map>

namespace tegula::sema::builtins {
namespace {

struct File {
  std::string_view name, text;
};

constexpr File files[] = {
#include "sema/builtins/LibraryText.inc"
};

using Trees = std::vector<std::shared_ptr<const syntax::Tree>>;

// Trees never change, so all threads share them.
const Trees &trees() {
  static const Trees all = [] {
    Trees parsed;
    for (const File &file : files) {
      diag::Sink sink;
      auto source =
          std::make_shared<diag::Source>("<tegula>/" + std::string(file.name), std::string(file.text));
      parsed.push_back(syntax::parse(std::move(source), sink));
      assert(!sink.hasErrors() && "the library of the language does not parse");
    }
    return parsed;
  }();
  return all;
}

using Functions = std::map<std::string, std::shared_ptr<const Function>, std::less<>>;

Functions collect() {
  Functions functions;
  for (const auto &tree : trees()) {
    auto env = makeModuleEnv(tree);
    env->isOfLanguage = true;
    for (const syntax::Stmt *statement : tree->body)
      if (auto *definition = syntax::as<syntax::FunctionDef>(statement)) {
        auto function = std::make_shared<Function>();
        function->tree = tree;
        function->definition = definition;
        function->env = env;
        function->qualifiedName = "triton.language." + definition->name;
        functions[definition->name] = std::move(function);
      }
  }
  return functions;
}

std::atomic<FindFunction> shared{nullptr}; // of another library, whose functions are used

} // namespace

void shareLibrary(FindFunction find) { shared = find; }

std::shared_ptr<const Function> findLibraryFunction(std::string_view name) {
  if (FindFunction find = shared.load(std::memory_order_acquire))
    return find(name);
  // An environment remembers its answers and is not for two threads.
  thread_local const Functions functions = collect();
  auto found = functions.find(name);
  assert(found != functions.end() && "a LIBRARY row without a function in sema/library");
  return found->second;
}

} // namespace tegula::sema::builtins
