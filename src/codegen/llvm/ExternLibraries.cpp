#include "codegen/llvm/ExternLibraries.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace tegula::codegen {

namespace {

constexpr const char *libraryAttribute = "tegula-library"; // of a declaration: who has its body

Status refuse(const std::string &text) { return Status::error(StatusCode::Unsupported, text); }

std::string textOf(llvm::Type *type) {
  std::string text;
  llvm::raw_string_ostream(text) << *type;
  return text;
}

llvm::Value *callOnce(llvm::IRBuilderBase &builder, llvm::FunctionCallee callee, bool isPure,
                      llvm::ArrayRef<llvm::Value *> operands) {
  llvm::CallInst *call = builder.CreateCall(callee, operands);
  if (isPure) {
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
  }
  return call;
}

// Asked for, and not there yet: symbol -> library.
llvm::StringMap<std::string> wantedOf(llvm::Module &module) {
  llvm::StringMap<std::string> wanted;
  for (llvm::Function &function : module)
    if (function.hasFnAttribute(libraryAttribute))
      wanted[function.getName()] = function.getFnAttribute(libraryAttribute).getValueAsString().str();
  return wanted;
}

Result<std::unique_ptr<llvm::Module>> parse(const ExternLibrary &library, llvm::Module &module) {
  llvm::SMDiagnostic problem;
  std::string named = "the library `" + library.name + "` (" + library.path + ")";
  std::unique_ptr<llvm::Module> parsed =
      llvm::parseIR(llvm::MemoryBufferRef(library.bytes, library.path), problem, module.getContext());
  if (!parsed)
    return refuse(named + " is no LLVM module: " + problem.getMessage().str() +
                  "; hint: `clang -c -emit-llvm` and `llvm-as` write such");
  const llvm::Triple &own = module.getTargetTriple(), &theirs = parsed->getTargetTriple();
  if (theirs.getArch() != llvm::Triple::UnknownArch && theirs.getArch() != own.getArch())
    return refuse(named + " is for " + theirs.getArchName().str() + ", and this kernel for " +
                  own.getArchName().str() + "; hint: compile it with --target=" + own.getArchName().str());
  parsed->setTargetTriple(own);
  parsed->setDataLayout(module.getDataLayout());
  llvm::StripDebugInfo(*parsed); // its lines are no lines of the kernel
  for (const char *said : {"llvm.module.flags", "llvm.ident", "llvm.errno.tbaa"}) // of a whole program
    if (llvm::NamedMDNode *node = parsed->getNamedMetadata(said))
      parsed->eraseNamedMetadata(node);
  for (llvm::Function &function : *parsed)
    for (const char *attribute : {"target-cpu", "target-features", "tune-cpu"})
      function.removeFnAttr(attribute);
  return parsed;
}

// Is what the library has for `symbol` what the kernel calls?
Status checkSymbol(const llvm::Function &call, const llvm::Module &from, const ExternLibrary &library) {
  std::string symbol = call.getName().str();
  const llvm::Function *found = from.getFunction(symbol);
  if (!found || found->isDeclaration())
    return refuse("the library `" + library.name + "` (" + library.path + ") has no function `" + symbol +
                  "`");
  if (found->getFunctionType() != call.getFunctionType())
    return refuse("`" + symbol + "` of the library `" + library.name + "` is " +
                  textOf(found->getFunctionType()) + ", and the kernel calls it as " +
                  textOf(call.getFunctionType()));
  return {};
}

Status link(const ExternLibrary &library, llvm::Module &module, const llvm::StringMap<std::string> &wanted) {
  auto parsed = parse(library, module);
  if (!parsed)
    return parsed.status();
  for (const auto &entry : wanted)
    if (entry.second == library.name)
      if (Status status = checkSymbol(*module.getFunction(entry.first()), **parsed, library); !status.ok())
        return status;
  if (llvm::Linker::linkModules(module, std::move(*parsed), llvm::Linker::LinkOnlyNeeded))
    return refuse("the library `" + library.name + "` (" + library.path + ") does not link with the kernel");
  return {};
}

// A body becomes part of its callers; what only declares is asked of nobody.
Status takeIn(llvm::Module &module, const llvm::StringSet<> &before) {
  for (llvm::Function &function : module) {
    if (before.contains(function.getName()) || function.isIntrinsic() || function.use_empty())
      continue;
    if (function.isDeclaration())
      return refuse("`" + function.getName().str() +
                    "` is called by a library of extern_libs, and none of them has it");
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setComdat(nullptr);
    for (auto attribute : {llvm::Attribute::OptimizeNone, llvm::Attribute::NoInline})
      function.removeFnAttr(attribute);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  for (llvm::GlobalVariable &variable : module.globals())
    if (!variable.isDeclaration() && !before.contains(variable.getName())) {
      variable.setLinkage(llvm::GlobalValue::InternalLinkage);
      variable.setComdat(nullptr);
    }
  return {};
}

} // namespace

llvm::Value *callExtern(llvm::IRBuilderBase &builder, llvm::Module &module, llvm::StringRef library,
                        llvm::StringRef symbol, bool isPure, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> operands) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType()->getScalarType());
  auto *type = llvm::FunctionType::get(result->getScalarType(), types, false);
  llvm::FunctionCallee callee = module.getOrInsertFunction(symbol, type);
  if (auto *function = llvm::dyn_cast<llvm::Function>(callee.getCallee()))
    function->addFnAttr(libraryAttribute, library);
  auto *vector = operands.empty() ? nullptr : llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  if (!vector)
    return callOnce(builder, callee, isPure, operands);
  llvm::Value *all =
      llvm::PoisonValue::get(llvm::FixedVectorType::get(result->getScalarType(), vector->getNumElements()));
  for (uint64_t i = 0; i != vector->getNumElements(); ++i) {
    llvm::SmallVector<llvm::Value *> lane;
    for (llvm::Value *operand : operands)
      lane.push_back(builder.CreateExtractElement(operand, i));
    all = builder.CreateInsertElement(all, callOnce(builder, callee, isPure, lane), i);
  }
  return all;
}

Status linkExternLibraries(llvm::Module &module, const ExternLibraries &libraries) {
  llvm::StringMap<std::string> wanted = wantedOf(module);
  if (wanted.empty())
    return {};
  for (const auto &entry : wanted)
    if (llvm::none_of(libraries, [&](const auto &library) { return library->name == entry.second; }))
      return refuse("`" + entry.first().str() + "` is of the library `" + entry.second +
                    "`, which the launch does not bring; hint: kernel[grid](..., extern_libs={\"" +
                    entry.second + "\": \"FILE.bc\"})");
  llvm::StringSet<> before; // of the kernel's own
  for (const llvm::GlobalValue &value : module.global_values())
    if (!wanted.contains(value.getName()))
      before.insert(value.getName());
  for (const auto &library : libraries) // a library may call functions of those behind it
    if (Status status = link(*library, module, wanted); !status.ok())
      return status;
  return takeIn(module, before);
}

} // namespace tegula::codegen
