// Calls that are bound once and launched often.
#include "capi/Handles.h"

using namespace tegula;
using capi::guarded;

struct tg_bound {
  std::shared_ptr<const sema::Function> function;
  std::vector<compiler::Parameter> parameters;
  jit::KernelRef kernel;
  jit::KnownCall call;
  llvm::SmallVector<uint64_t, 24> slots;
  runtime::Grid grid;
  runtime::Place place;
};

// Constants that need memory of their own stand for themselves: nothing else may come in their place.
static bool readToBind(std::span<const tg_argument> arguments,
                       llvm::SmallVectorImpl<jit::PlainArgument> &out) {
  for (const tg_argument &argument : arguments) {
    jit::PlainArgument &plain = out.emplace_back();
    if (argument.value.kind == TG_TUPLE || argument.value.kind == TG_NAMED_TUPLE ||
        argument.value.kind == TG_ABSENT)
      return false;
    if (!capi::readPlain(argument, plain))
      plain.kind = jit::LeafKind::Constant;
  }
  return true;
}

static std::unique_ptr<tg_bound> bind(tg_function &function, const char *target, const runtime::Place &place,
                                      std::span<const tg_argument> arguments, diag::Sink &sink) {
  llvm::SmallVector<jit::Argument, 16> leaves;
  llvm::SmallVector<jit::PlainArgument, 24> plain;
  if (!capi::readArguments(&function, arguments, leaves, sink))
    return nullptr;
  jit::Dispatcher &dispatcher = function.dispatcher;
  compiler::CompileOptions options;
  options.target = target ? target : function.defaultTarget;
  auto bound = std::make_unique<tg_bound>();
  bound->kernel = dispatcher.prepare(leaves, options, place, sink);
  if (!bound->kernel)
    return nullptr;
  std::optional<jit::KnownCall> call;
  if (readToBind(arguments, plain))
    call = dispatcher.knownCallOf(plain, *bound->kernel);
  if (!call) {
    sink.report(diag::Kind::BoundTuple, {}, {tg_function_name(&function)});
    return nullptr;
  }
  bound->function = dispatcher.functionPointer();
  bound->parameters = dispatcher.parameters();
  bound->call = std::move(*call);
  bound->place = place;
  bound->call.fill(plain, bound->slots);
  for (size_t i = 0; i != bound->slots.size(); ++i)
    if (int from = bound->call.slots[i].argument;
        from >= 0 && bound->kernel->slots[i].written && plain[size_t(from)].readOnly) {
      const compiler::RuntimeArgument &argument = bound->kernel->compilation->arguments()[i];
      sink.report(diag::Kind::ArgumentReadOnly, {}, {tg_function_name(&function), argument.name});
      return nullptr;
    }
  return bound;
}

static std::optional<runtime::Grid> gridOf(const int64_t *grid, size_t count, diag::Sink &sink) {
  if (count && !capi::checkGiven(grid, "grid", sink))
    return std::nullopt;
  return jit::makeGrid({grid, count}, {}, sink);
}

tg_status tg_bind(tg_function *function, const char *target, const tg_place *place,
                  const tg_argument *arguments, size_t count, const int64_t *grid, size_t grid_count,
                  tg_bound **out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink))
      return;
    *out = nullptr;
    std::optional<runtime::Place> where = capi::placeOf(place, sink);
    if (!where || !capi::checkHandle(function, "tg_function", sink) ||
        !capi::checkItems(arguments, count, capi::mostArguments, "arguments", sink))
      return;
    std::optional<runtime::Grid> extents = gridOf(grid, grid_count, sink);
    if (!extents)
      return;
    std::unique_ptr<tg_bound> bound = bind(*function, target, *where, {arguments, count}, sink);
    if (!bound)
      return;
    bound->grid = *extents;
    capi::enter(bound.get(), capi::Handle::Bound);
    *out = bound.release();
  });
}

tg_status tg_bound_set(tg_bound *bound, size_t index, const tg_value *value, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(bound, "tg_bound", sink) || !capi::checkGiven(value, "value", sink))
      return;
    jit::PlainArgument plain;
    auto refuse = [&](std::string_view why) {
      sink.report(diag::Kind::BoundArgument, {},
                  {bound->function->definition->name, std::to_string(index), why});
    };
    if (index >= bound->call.arguments.size())
      return refuse("is not there: it has " + std::to_string(bound->call.arguments.size()));
    const jit::KnownCall::Argument &known = bound->call.arguments[index];
    if (known.isExact)
      return refuse("is a constant of the kernel");
    if (!capi::readPlain({*value, nullptr}, plain) ||
        !jit::isLike(known, plain, bound->parameters, *bound->function))
      return refuse("would be of another kind, for which the kernel is another one");
    for (size_t i = 0; i != bound->slots.size(); ++i)
      if (bound->call.slots[i].argument == int(index))
        bound->slots[i] = jit::slotOf(plain, bound->call.slots[i]);
  });
}

tg_status tg_bound_launch(tg_bound *bound, const tg_place *place, const int64_t *grid, size_t grid_count,
                          tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(bound, "tg_bound", sink))
      return;
    std::optional<runtime::Place> where = place ? capi::placeOf(place, sink) : bound->place;
    std::optional<runtime::Grid> extents = grid ? gridOf(grid, grid_count, sink) : bound->grid;
    if (!where || !extents || extents->extent[0] == 0 || extents->extent[1] == 0 || extents->extent[2] == 0)
      return;
    compiler::Compilation &compilation = *bound->kernel->compilation;
    if (Status status = compilation.launch(bound->slots, *extents, *where); !status.ok())
      compiler::reportStatus(status, compilation.targetName(), {}, sink);
  });
}

void tg_bound_destroy(tg_bound *bound) {
  if (capi::leave(bound, capi::Handle::Bound))
    delete bound;
}
