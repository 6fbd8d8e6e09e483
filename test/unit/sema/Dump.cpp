// tegula_sema_dump: the front end alone, for tests.
//   FILE.py::KERNEL [--signature 'x=*f32:16,n=i32,B=64']   prints tile IR, or diagnostics (exit 1)
//   --eval                                    reads constant expressions from stdin, one a line, and
//                                             prints repr of each, or "error: KIND"
// A signature value is a type (`*` for a pointer, `:16` for divisibility) or a constant.
#include "ir/tile/Tile.h"
#include "sema/ConstEvaluate.h"
#include "sema/Sema.h"
#include "syntax/Parser.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tegula;

namespace {

std::shared_ptr<const syntax::Tree> parseText(const std::string &path, std::string text, diag::Sink &sink) {
  return syntax::parse(std::make_shared<diag::Source>(path, std::move(text)), sink);
}

std::optional<sema::Const> constantOf(const std::string &text, sema::ConstFailure &failure) {
  diag::Sink sink;
  auto tree = parseText("<expression>", text + "\n", sink);
  auto *statement = tree->body.empty() ? nullptr : syntax::as<syntax::ExprStmt>(tree->body[0]);
  if (!statement || sink.hasErrors())
    return failure.error.set(diag::Kind::NotConstant, {"syntax"});
  auto resolve = [](const syntax::Name &name) -> std::optional<sema::Const> {
    if (name.id == "math")
      return sema::Const{sema::ModuleRef{"math"}};
    return sema::findBuiltin("builtins." + name.id);
  };
  return sema::evaluateExpression(statement->value, resolve, failure);
}

int evaluateLines() {
  for (std::string line; std::getline(std::cin, line);) {
    sema::ConstFailure failure;
    auto value = constantOf(line, failure);
    std::cout << (value ? sema::repr(*value) : "error: " + std::string(diag::name(failure.error.kind)))
              << "\n";
  }
  return 0;
}

sema::ArgumentSpec argument(const std::string &name, std::string text) {
  sema::ArgumentSpec spec{name, sema::Type{}, 1};
  size_t colon = text.find(':');
  std::string typeName = text.substr(0, colon);
  bool isPointer = typeName.starts_with("*");
  if (auto type = dtypeFromName(typeName.substr(isPointer))) {
    spec.value = sema::Type{*type, isPointer, false, {}};
    if (colon != std::string::npos)
      spec.divisibility = static_cast<unsigned>(std::stoul(text.substr(colon + 1)));
    return spec;
  }
  sema::ConstFailure failure;
  auto constant = constantOf(text, failure);
  spec.value = constant ? *constant : sema::Const{text};
  return spec;
}

std::vector<sema::ArgumentSpec> arguments(const std::string &signature) {
  std::vector<sema::ArgumentSpec> result;
  std::istringstream stream(signature);
  for (std::string part; std::getline(stream, part, ',');)
    if (size_t equals = part.find('='); equals != std::string::npos)
      result.push_back(argument(part.substr(0, equals), part.substr(equals + 1)));
  return result;
}

} // namespace

int main(int argc, char **argv) {
  std::string target, signature;
  unsigned repeats = 1;
  bool debug = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--eval")
      return evaluateLines();
    if (word == "--debug")
      debug = true;
    else if (word == "--signature" && i + 1 < argc)
      signature = argv[++i];
    else if (word == "--time" && i + 1 < argc)
      repeats = static_cast<unsigned>(std::stoul(argv[++i]));
    else
      target = word;
  }
  size_t split = target.rfind("::");
  std::string path = target.substr(0, split),
              kernel = split == std::string::npos ? "" : target.substr(split + 2);
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  diag::Sink sink;
  int result = 1;
  for (unsigned i = 0; i < repeats && !sink.hasErrors(); ++i) {
    auto begin = std::chrono::steady_clock::now();
    auto tree = parseText(path, text.str(), sink);
    auto env = sema::makeModuleEnv(tree);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    tile::loadDialects(context);
    auto loaded = std::chrono::steady_clock::now();
    for (auto &function : sema::kernelsOf(tree, env)) {
      if (function->definition->name != kernel || sink.hasErrors())
        continue;
      sema::LanguageOptions options;
      options.debug = debug;
      auto module = sema::specialize(context, {function, arguments(signature), options}, sink);
      auto end = std::chrono::steady_clock::now();
      result = module && !sink.hasErrors() ? 0 : 1;
      if (repeats > 1)
        std::cerr << "parse and load " << std::chrono::duration<double, std::micro>(loaded - begin).count()
                  << " us, sema " << std::chrono::duration<double, std::micro>(end - loaded).count()
                  << " us\n";
      if (module && i + 1 == repeats) {
        std::string ir;
        llvm::raw_string_ostream stream(ir);
        mlir::OpPrintingFlags flags;
        module->print(stream, flags.enableDebugInfo(getenv("TEGULA_DUMP_LOCATIONS") != nullptr, false));
        std::cout << ir;
      }
    }
  }
  std::cerr << diag::render(sink.all());
  if (result && !sink.hasErrors())
    std::cerr << "no kernel `" << kernel << "` in " << path << "\n";
  return result;
}
