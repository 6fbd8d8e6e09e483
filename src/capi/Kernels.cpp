// Compiling, looking at what was compiled, launching.
#include "base/DeepStack.h"
#include "capi/Handles.h"
#include "compiler/Signature.h"
#include "sema/Hints.h"

#include <cstring>
#include <set>

using namespace tegula;
using capi::guarded;

using capi::isLive;
using capi::kernelOf;

enum class OptionUse { Obeyed, Hint, Fixed };
struct OptionRow {
  std::string_view name, takes;
  bool isObeyed; // and so one that tg_compile has
};
static constexpr OptionRow optionRows[] = {
#define OPTION(name, use, text) {#name, text, OptionUse::use == OptionUse::Obeyed},
#include "jit/Options.def"
#undef OPTION
};

static void refuseValue(std::string_view name, std::string_view given, std::string_view takes,
                        diag::Sink &sink) {
  sink.report(diag::Kind::OptionValue, {}, {name, given, takes}).hint =
      "options are written as in 'num_warps=8,maxnreg=64'";
}

static void refuseOption(std::string_view name, std::string_view value, const Status &status,
                         diag::Sink &sink) {
  if (!status.message.empty())
    return refuseValue(name, status.message, "the path of a file that can be read", sink);
  std::vector<std::string_view> known;
  for (const OptionRow &row : optionRows) {
    if (row.isObeyed && row.name == name && !value.empty())
      return refuseValue(name, "`" + std::string(value) + "`", row.takes, sink);
    if (row.isObeyed)
      known.push_back(row.name);
  }
  std::string option = std::string(name) + (value.empty() ? "" : "=" + std::string(value));
  diag::Diagnostic &diagnostic = sink.report(diag::Kind::OptionsSyntax, {}, {option});
  if (std::string near = sema::similarName(llvm::StringRef(name), known); !near.empty() && near != name)
    diagnostic.hint = "did you mean `" + near + "`?";
}

// "num_warps=8,maxnreg=64". No constant of an option has a comma. False after a diagnostic.
static bool readOptions(std::string_view text, compiler::CompileOptions &options, diag::Sink &sink) {
  std::set<std::string_view> seen;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view option = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t equals = std::min(option.find('='), option.size());
    std::string_view name = option.substr(0, equals),
                     value = option.substr(std::min(equals + 1, option.size()));
    Status status =
        value.empty() ? Status::error(StatusCode::Launch, "") : jit::setOption(options, name, value);
    if (!status.ok()) {
      refuseOption(name, value, status, sink);
      return false;
    }
    if (!seen.insert(name).second) {
      refuseValue(name, "more than one value", "given once", sink);
      return false;
    }
  }
  return true;
}

// False after a diagnostic.
static bool readProcessor(std::string_view cpu, compiler::CompileOptions &options, diag::Sink &sink) {
  const compiler::Target *target = compiler::findTarget(options.target);
  if (cpu.empty() || !target || !(target->devices || target->arch)) {
    options.targetOptions.cpu = cpu;
    return true;
  }
  sink.report(diag::Kind::OptionValue, {},
              {"cpu", "`" + std::string(cpu) + "`",
               "left out: the target `" + options.target + "` makes no code for processors"})
      .hint = "take it off, or compile for the target `cpu`";
  return false;
}

tg_status tg_compile(tg_function *function, const char *signature, const tg_compile_options *options,
                     tg_kernel **out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink) || !capi::checkHandle(function, "tg_function", sink) ||
        !capi::checkGiven(signature, "signature", sink))
      return;
    *out = nullptr;
    std::optional<tg_compile_options> known = capi::read(options, "tg_compile_options", sink);
    if (!known)
      return;
    const tg_compile_options &wanted = *known;
    compiler::CompileOptions compilerOptions;
    compilerOptions.target = wanted.target ? wanted.target : function->defaultTarget;
    if (!readProcessor(wanted.cpu ? wanted.cpu : "", compilerOptions, sink))
      return;
    if (wanted.options && !readOptions(wanted.options, compilerOptions, sink))
      return;
    if (wanted.num_warps != 0)
      compilerOptions.language.numWarps = wanted.num_warps;
    if (wanted.num_stages != 0)
      compilerOptions.language.numStages = wanted.num_stages;
    if (wanted.debug)
      compilerOptions.language.debug = true;
    pipeline::Looks &looks = compilerOptions.looks;
    looks.before = wanted.print_before ? wanted.print_before : "";
    looks.after = wanted.print_after ? wanted.print_after : "";
    if ((wanted.print_before || wanted.print_after) &&
        !capi::checkGiven(reinterpret_cast<const void *>(wanted.print), "print", sink))
      return;
    looks.show = [&](const std::string &heading, const std::string &text) {
      onHostsThread([&] { wanted.print(wanted.user, (heading + text).c_str()); });
    };

    const sema::Function &kernelFunction = function->dispatcher.function();
    auto specs = compiler::parseSignature(signature, kernelFunction, function->dispatcher.parameters(), sink);
    if (!specs)
      return;
    auto kernel = llvm::makeIntrusiveRefCnt<jit::SpecializedKernel>();
    kernel->compilation = compiler::compile(
        {function->dispatcher.functionPointer(), std::move(*specs), compilerOptions.language},
        compilerOptions, sink);
    if (!kernel->compilation)
      return;
    kernel->warnings = sink.all();
    *out = capi::handOver(std::move(kernel));
  });
}

void tg_kernel_destroy(tg_kernel *kernel) {
  if (capi::leave(kernel, capi::Handle::Kernel))
    kernelOf(kernel)->Release();
}

int tg_kernel_is_kept(const tg_kernel *kernel) { return isLive(kernel) && kernelOf(kernel)->isKept; }
size_t tg_kernel_limit() { return jit::kernelLimit(); }
void tg_set_kernel_limit(size_t kernels) { jit::setKernelLimit(kernels); }
size_t tg_kept_kernels() { return jit::keptKernels(); }

const char *tg_kernel_name(const tg_kernel *kernel) {
  return isLive(kernel) ? kernelOf(kernel)->compilation->kernelName().c_str() : nullptr;
}
const char *tg_kernel_target(const tg_kernel *kernel) {
  return isLive(kernel) ? kernelOf(kernel)->compilation->targetName().c_str() : nullptr;
}
size_t tg_kernel_argument_count(const tg_kernel *kernel) {
  return isLive(kernel) ? kernelOf(kernel)->compilation->arguments().size() : 0;
}

tg_status tg_kernel_get_argument(const tg_kernel *kernel, size_t index, tg_kernel_argument *out) {
  if (!isLive(kernel))
    return TG_LAUNCH;
  const auto &arguments = kernelOf(kernel)->compilation->arguments();
  if (index >= arguments.size())
    return TG_LAUNCH;
  const compiler::RuntimeArgument &argument = arguments[index];
  return capi::fill<tg_kernel_argument>(out, {0, argument.name.c_str(), tg_dtype(argument.type.element),
                                              argument.type.pointer, argument.written});
}

const char *tg_kernel_stage_name(const tg_kernel *kernel, size_t index) {
  if (!isLive(kernel))
    return nullptr;
  const auto &names = kernelOf(kernel)->compilation->stageNames();
  return index < names.size() ? names[index].c_str() : nullptr;
}

tg_status tg_kernel_stage(tg_kernel *kernel, const char *stage, const char **data, size_t *size,
                          tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(kernel, "tg_kernel", sink) || !capi::checkGiven(stage, "stage", sink) ||
        !capi::checkGiven(data, "data", sink) || !capi::checkGiven(size, "size", sink))
      return;
    const auto &names = kernelOf(kernel)->compilation->stageNames();
    if (std::find(names.begin(), names.end(), stage) == names.end()) {
      std::string known;
      for (const std::string &name : names)
        known += (known.empty() ? "" : ", ") + name;
      sink.report(diag::Kind::StageUnknown, {}, {kernelOf(kernel)->compilation->targetName(), stage, known});
      return;
    }
    Result<std::string_view> text = kernelOf(kernel)->compilation->stage(stage);
    if (!text) {
      compiler::reportStatus(text.status(), kernelOf(kernel)->compilation->targetName(), {}, sink);
      return;
    }
    *data = text->data();
    *size = text->size();
  });
}

size_t tg_kernel_remark_count(const tg_kernel *kernel) {
  return isLive(kernel) ? kernelOf(kernel)->compilation->remarks().size() : 0;
}

tg_status tg_kernel_remark(const tg_kernel *kernel, size_t index, tg_remark *out) {
  if (!isLive(kernel))
    return TG_LAUNCH;
  const auto &remarks = kernelOf(kernel)->compilation->remarks();
  if (index >= remarks.size())
    return TG_LAUNCH;
  const diag::Remark &remark = remarks[index];
  return capi::fill<tg_remark>(out, {0, remark.location.c_str(), remark.kind.c_str(), remark.text.c_str()});
}

const char *tg_kernel_time(const tg_kernel *kernel, size_t index, double *milliseconds) {
  if (!isLive(kernel) || !milliseconds)
    return nullptr;
  const auto &times = kernelOf(kernel)->compilation->times();
  if (index >= times.size())
    return nullptr;
  *milliseconds = times[index].milliseconds;
  return times[index].stage.c_str();
}

tg_diagnostics *tg_kernel_warnings(const tg_kernel *kernel) {
  return !isLive(kernel) || kernelOf(kernel)->warnings.empty()
             ? nullptr
             : new (std::nothrow) tg_diagnostics(kernelOf(kernel)->warnings);
}

tg_status tg_kernel_get_attributes(tg_kernel *kernel, tg_kernel_attributes *out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(kernel, "tg_kernel", sink))
      return;
    Result<runtime::KernelAttributes> found = kernelOf(kernel)->compilation->attributes();
    if (!found)
      return compiler::reportStatus(found.status(), kernelOf(kernel)->compilation->targetName(), {}, sink);
    if (capi::fill<tg_kernel_attributes>(out, {0, kernelOf(kernel)->compilation->arch().data(), found->warps,
                                               found->registers, found->spillBytes, found->sharedBytes}) !=
        TG_OK)
      sink.report(diag::Kind::HostMisuse, {},
                  {"struct_size of a tg_kernel_attributes is not set", "set it to its sizeof"});
  });
}

tg_status tg_launch(tg_kernel *kernel, const tg_place *place, const uint64_t *slots, size_t slot_count,
                    const int64_t *grid, size_t grid_count, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(kernel, "tg_kernel", sink))
      return;
    size_t wanted = kernelOf(kernel)->compilation->arguments().size();
    if (slot_count != wanted) {
      sink.report(
          diag::Kind::SlotCount, {},
          {kernelOf(kernel)->compilation->kernelName(), std::to_string(wanted), std::to_string(slot_count)});
      return;
    }
    std::optional<runtime::Place> where = capi::placeOf(place, sink);
    if (!where || !capi::checkItems(slots, slot_count, capi::mostArguments, "slots", sink) ||
        (grid_count && !capi::checkGiven(grid, "grid", sink)))
      return;
    std::optional<runtime::Grid> extents = jit::makeGrid({grid, grid_count}, {}, sink);
    if (!extents || extents->extent[0] == 0 || extents->extent[1] == 0 || extents->extent[2] == 0)
      return;
    if (Status status = kernelOf(kernel)->compilation->launch({slots, slot_count}, *extents, *where);
        !status.ok())
      compiler::reportStatus(status, kernelOf(kernel)->compilation->targetName(), {}, sink);
  });
}

tg_status tg_kernel_prepare(tg_kernel *kernel, const tg_place *place, const int64_t *grid, size_t grid_count,
                            tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<runtime::Place> where = capi::placeOf(place, sink);
    if (!where || !capi::checkHandle(kernel, "tg_kernel", sink) ||
        (grid_count && !capi::checkGiven(grid, "grid", sink)))
      return;
    if (std::optional<runtime::Grid> extents = jit::makeGrid({grid, grid_count}, {}, sink))
      kernelOf(kernel)->compilation->prepare(*extents, *where);
  });
}

bool capi::readArguments(tg_function *function, std::span<const tg_argument> arguments,
                         llvm::SmallVectorImpl<jit::Argument> &out, diag::Sink &sink) {
  for (const tg_argument &argument : arguments) {
    std::optional<jit::Leaf> leaf = capi::leafOf(argument.value);
    std::string_view name = argument.name ? argument.name : "";
    if (!leaf) {
      std::string what = name.empty() ? "argument " + std::to_string(&argument - arguments.data())
                                      : "`" + std::string(name) + "`";
      std::string text =
          argument.value.kind == TG_LITERAL && argument.value.as.text.data &&
                  argument.value.as.text.size < 1000
              ? " `" + std::string(argument.value.as.text.data, argument.value.as.text.size) + "`"
              : "";
      sink.report(diag::Kind::HostMisuse, {},
                  {what + " of kernel `" + tg_function_name(function) + "` has a value" + text +
                       " that is no constant",
                   "a constant is a number, True, False, None, 'text', a type or a tuple of such"});
      return false;
    }
    out.push_back({std::move(*leaf), name});
  }
  return true;
}

bool capi::readPlain(const tg_argument &argument, jit::PlainArgument &plain) {
  using jit::LeafKind;
  const tg_value &value = argument.value;
  plain.typed = value.flags & TG_TYPED;
  plain.readOnly = value.flags & TG_READ_ONLY;
  plain.isConstant = value.flags & TG_CONSTEXPR;
  plain.name = argument.name ? argument.name : "";
  if (value.kind == TG_POINTER || plain.typed) {
    if (!tg_dtype_name(value.dtype))
      return false;
    plain.dtype = DType(value.dtype);
  }
  plain.bits = value.as.bits;
  switch (value.kind) {
  case TG_NONE: plain.kind = LeafKind::None, plain.bits = 0; return true;
  case TG_BOOL: plain.kind = LeafKind::Bool, plain.bits = value.as.integer != 0; return true;
  case TG_INT: plain.kind = LeafKind::Int; return true;
  case TG_UINT: plain.kind = value.as.integer < 0 ? LeafKind::UInt : LeafKind::Int; return true;
  case TG_FLOAT: plain.kind = LeafKind::Float; return true;
  case TG_POINTER: plain.kind = LeafKind::Pointer; return true;
  case TG_STRING:
    if (value.as.text.size > 1000 || (value.as.text.size && !value.as.text.data))
      return false;
    plain.kind = LeafKind::Constant, plain.bits = 0;
    plain.text = {value.as.text.data, value.as.text.size};
    return true;
  default: return false;
  }
}

// False: one of them needs memory.
static bool readPlain(std::span<const tg_argument> arguments,
                      llvm::SmallVectorImpl<jit::PlainArgument> &out) {
  for (const tg_argument &argument : arguments)
    if (!capi::readPlain(argument, out.emplace_back()))
      return false;
  return true;
}

static tg_status callOrPrepare(tg_function *function, const char *target, const tg_place *place,
                               std::span<const tg_argument> arguments, const std::span<const int64_t> *grid,
                               tg_kernel **kernel, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<runtime::Place> where = capi::placeOf(place, sink);
    if (kernel)
      *kernel = nullptr;
    if (!where || !capi::checkHandle(function, "tg_function", sink) ||
        !capi::checkItems(arguments.data(), arguments.size(), capi::mostArguments, "arguments", sink) ||
        (grid && !grid->empty() && !capi::checkGiven(grid->data(), "grid", sink)))
      return;
    jit::Dispatcher &dispatcher = function->dispatcher;
    llvm::SmallVector<jit::PlainArgument, 24> plain;
    bool isPlain = grid && readPlain(arguments, plain);
    if (isPlain) {
      jit::KernelRef known = dispatcher.launchKnown(
          plain, *grid, target ? target : std::string_view(function->defaultTarget), *where, sink);
      if (known || sink.hasErrors()) {
        if (kernel)
          *kernel = capi::handOver(std::move(known));
        return;
      }
    }
    llvm::SmallVector<jit::Argument, 16> leaves;
    if (!capi::readArguments(function, arguments, leaves, sink))
      return;
    compiler::CompileOptions options;
    options.target = target ? target : function->defaultTarget;
    jit::KernelRef made = grid ? dispatcher.launch(leaves, *grid, options, *where, sink)
                               : dispatcher.prepare(leaves, options, *where, sink);
    if (made && isPlain)
      dispatcher.remember(plain, options.target, *where, made);
    if (kernel && made)
      *kernel = capi::handOver(std::move(made));
  });
}

tg_status tg_call(tg_function *function, const char *target, const tg_place *place,
                  const tg_argument *arguments, size_t count, const int64_t *grid, size_t grid_count,
                  tg_kernel **kernel, tg_diagnostics **problems) {
  std::span<const int64_t> extents(grid, grid_count);
  return callOrPrepare(function, target, place, {arguments, count}, &extents, kernel, problems);
}

tg_status tg_prepare(tg_function *function, const char *target, const tg_place *place,
                     const tg_argument *arguments, size_t count, tg_kernel **kernel,
                     tg_diagnostics **problems) {
  return callOrPrepare(function, target, place, {arguments, count}, nullptr, kernel, problems);
}
