#include "pipeline/GivenStage.h"
#include "ir/tile/Tile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tegula::pipeline {
namespace {

using codegen::GivenFile;

Status refuse(const GivenFile &given, const std::string &reason) {
  return Status::error(StatusCode::Unsupported, "`" + given.path + "` " + reason);
}

template <class T> std::string textOf(const T &value) {
  std::string text;
  llvm::raw_string_ostream out(text);
  value.print(out);
  return text;
}

// ---- PTX -----------------------------------------------------------------------------------

struct PtxEntry {
  std::string name;
  llvm::SmallVector<unsigned> bits; // of each parameter
  uint64_t threads = 0;             // 0: not said
};

std::string withoutComments(llvm::StringRef text) {
  std::string code;
  while (!text.empty()) {
    size_t start = std::min(text.find("//"), text.find("/*"));
    code += text.take_front(start);
    text = text.drop_front(std::min(start, text.size()));
    bool isLine = text.starts_with("//");
    size_t end = isLine ? text.find('\n') : text.find("*/", 2);
    text = end == text.npos ? llvm::StringRef() : text.drop_front(end + (isLine ? 0 : 2));
  }
  return code;
}

// ".u64 .ptr .global .align 16 name" -> 64; 0: it is no number or address.
unsigned bitsOf(llvm::StringRef parameter) {
  for (llvm::StringRef word : llvm::split(parameter, '.')) {
    unsigned bits = 0;
    word = word.trim().take_until(llvm::isSpace);
    if (word.size() > 1 && llvm::StringRef("busf").contains(word.front()) &&
        !word.drop_front().getAsInteger(10, bits) && !parameter.contains('['))
      return bits;
  }
  return 0;
}

// The entries of a program, as far as a launch sees them.
llvm::SmallVector<PtxEntry, 1> entriesOf(llvm::StringRef text) {
  std::string code = withoutComments(text);
  llvm::SmallVector<PtxEntry, 1> entries;
  llvm::StringRef rest = code;
  for (size_t at; (at = rest.find(".entry")) != rest.npos;) {
    rest = rest.drop_front(at + 6);
    llvm::StringRef head = rest.take_front(rest.find('{'));
    PtxEntry &entry = entries.emplace_back();
    entry.name = head.take_until([](char c) { return c == '('; }).trim().str();
    llvm::StringRef list = head.slice(head.find('(') + 1, head.find(')'));
    for (llvm::StringRef parameter : llvm::split(list, ','))
      if (parameter.contains(".param"))
        entry.bits.push_back(bitsOf(parameter));
    if (size_t said = head.find(".reqntid"); said != head.npos) {
      entry.threads = 1;
      for (llvm::StringRef extent : llvm::split(
               head.drop_front(said + 8).take_until([](char c) { return c == '.' || c == '{'; }), ','))
        if (uint64_t number = 1; !extent.trim().getAsInteger(10, number))
          entry.threads *= number;
    }
  }
  return entries;
}

} // namespace

Status checkGiven(const codegen::GivenStage &given, std::initializer_list<std::string_view> stages) {
  if (!given || given->name == "ttir" || llvm::is_contained(stages, given->name))
    return {};
  std::string names = "ttir";
  for (std::string_view stage : stages)
    names += ", " + std::string(stage == "llvm" ? "llir" : stage);
  return refuse(*given, "is the stage `" + given->name + "`; the compile goes on from: " + names);
}

Result<OwningOpRef<ModuleOp>> readTile(const GivenFile &given, ModuleOp made) {
  MLIRContext *context = made.getContext();
  std::string complaints;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (complaints.empty()) {
      if (auto place = llvm::dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        complaints = "line " + std::to_string(place.getLine()) + ", column " +
                     std::to_string(place.getColumn()) + ": ";
      complaints += diagnostic.str();
    }
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(given.bytes, ParserConfig(context), given.path);
  if (!module)
    return refuse(given, "is no tile IR: " + complaints);
  auto functions = llvm::to_vector(module->getOps<tile::FuncOp>());
  auto wanted = *made.getOps<tile::FuncOp>().begin();
  if (functions.size() != 1 || !llvm::hasSingleElement(module->getBody()->getOperations()))
    return refuse(given, "has not one kernel and nothing else");
  tile::FuncOp function = functions.front();
  if (function.getFunctionType() != wanted.getFunctionType())
    return refuse(given, "has a kernel of the type " + textOf(function.getFunctionType()) +
                             ", and the call's is " + textOf(wanted.getFunctionType()));
  function.setSymName(wanted.getSymName());
  for (unsigned i = 0; i != function.getNumArguments(); ++i)
    if (Attribute name = wanted.getArgAttr(i, "tt.name"))
      function.setArgAttr(i, "tt.name", name);
  return module;
}

Status readCode(const GivenFile &given, llvm::StringRef entry, codegen::Code &code) {
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(given.bytes, error, *code.context); // verifies nothing yet
  if (!module)
    return refuse(given, "is no LLVM IR: line " + std::to_string(error.getLineNo()) + ", column " +
                             std::to_string(error.getColumnNo() + 1) + ": " + error.getMessage().str());
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(*module, &out))
    return refuse(given, "is no valid LLVM IR: " + llvm::StringRef(broken).split('\n').first.str());
  const llvm::Function *made = code.module->getFunction(entry);
  llvm::Function *found = module->getFunction(entry);
  if (!found || found->isDeclaration())
    return refuse(given, "has no function `" + entry.str() + "`");
  if (found->getFunctionType() != made->getFunctionType())
    return refuse(given, "has `" + entry.str() + "` as " + textOf(*found->getFunctionType()) +
                             ", and the call's is " + textOf(*made->getFunctionType()));
  constexpr llvm::StringLiteral threads = "nvvm.reqntid";
  if (found->getFnAttribute(threads) != made->getFnAttribute(threads))
    return refuse(given, "is for another number of warps; hint: launch it with that num_warps");
  found->setCallingConv(made->getCallingConv());
  found->setLinkage(made->getLinkage());
  module->setDataLayout(code.module->getDataLayout());
  module->setTargetTriple(code.module->getTargetTriple());
  code.module = std::move(module);
  return {};
}

Status checkPtx(const GivenFile &given, llvm::StringRef made) {
  llvm::SmallVector<PtxEntry, 1> found = entriesOf(given.bytes);
  const PtxEntry wanted = entriesOf(made).front();
  if (found.size() != 1)
    return refuse(given, "has " + std::to_string(found.size()) + " entries, and a kernel is one");
  const PtxEntry &entry = found.front();
  if (entry.name != wanted.name)
    return refuse(given, "has the entry `" + entry.name + "`, and the call's is `" + wanted.name + "`");
  // The two pointers behind the kernel's parameters may be left out.
  llvm::ArrayRef<unsigned> all = wanted.bits;
  bool fits = entry.bits.size() + 2 >= all.size() && entry.bits.size() <= all.size() &&
              all.take_front(entry.bits.size()) == llvm::ArrayRef(entry.bits);
  auto listOf = [](llvm::ArrayRef<unsigned> bits) {
    return llvm::join(llvm::map_range(bits, [](unsigned each) { return std::to_string(each); }), ", ");
  };
  if (!fits)
    return refuse(given,
                  "has parameters of " + listOf(entry.bits) + " bits, and the call's are of " + listOf(all));
  if (entry.threads && entry.threads != wanted.threads)
    return refuse(given, "is for " + std::to_string(entry.threads) + " threads, and the call has " +
                             std::to_string(wanted.threads) + "; hint: launch it with that num_warps");
  return {};
}

} // namespace tegula::pipeline
