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
  std::vector<uint32_t> forms; // of the arguments, in step with the call's

  diag::Location location() const { return function->tree->at(function->definition->nameRange); }
};

// An argument but for its bits: kind, type and flags.
static uint32_t formOf(const tg_value &value) {
  return uint32_t(value.kind) | uint32_t(value.dtype) << 8 | uint32_t(value.flags) << 16;
}

// False: the kernel may be another one. `bits` are those of the argument where it has such.
static bool isLike(const tg_bound &bound, size_t index, const tg_argument &argument, uint64_t &bits) {
  const jit::KnownCall::Argument &known = bound.call.arguments[index];
  const tg_value &value = argument.value;
  if (formOf(value) != bound.forms[index])
    return false;
  bits = value.kind == TG_NONE ? 0 : value.kind == TG_BOOL ? value.as.integer != 0 : value.as.bits;
  if (value.kind != TG_UINT) // whose kind depends on the value
    if (std::optional<bool> answer = jit::isLikeByBits(known, bits))
      return *answer;
  jit::PlainArgument plain;
  return capi::readPlain(argument, plain) && jit::isLike(known, plain, bound.parameters, *bound.function);
}

// Of an argument that is like the bound one.
static uint64_t slotOf(const jit::KnownCall::Slot &slot, const tg_argument &argument, uint64_t bits) {
  if (slot.isPointer || isInteger(slot.dtype))
    return bits;
  jit::PlainArgument plain;
  capi::readPlain(argument, plain);
  return jit::slotOf(plain, slot);
}

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
                                      std::span<const tg_argument> arguments, const runtime::Grid &grid,
                                      diag::Sink &sink) {
  llvm::SmallVector<jit::Argument, 16> leaves;
  llvm::SmallVector<jit::PlainArgument, 24> plain;
  if (!capi::readArguments(&function, arguments, leaves, sink))
    return nullptr;
  jit::Dispatcher &dispatcher = function.dispatcher;
  compiler::CompileOptions options;
  options.target = target ? target : function.defaultTarget;
  auto bound = std::make_unique<tg_bound>();
  bound->kernel = dispatcher.prepare(leaves, options, place, sink, &grid);
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
  for (const tg_argument &argument : arguments)
    bound->forms.push_back(formOf(argument.value));
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

static std::optional<runtime::Grid> gridOf(const int64_t *grid, size_t count, diag::Location place,
                                           diag::Sink &sink) {
  if (count && !capi::checkGiven(grid, "grid", sink))
    return std::nullopt;
  return jit::makeGrid({grid, count}, std::move(place), sink);
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
    std::optional<runtime::Grid> extents = gridOf(grid, grid_count, {}, sink);
    if (!extents)
      return;
    std::unique_ptr<tg_bound> bound = bind(*function, target, *where, {arguments, count}, *extents, sink);
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
    std::optional<runtime::Grid> extents =
        grid ? gridOf(grid, grid_count, bound->location(), sink) : bound->grid;
    if (!where || !extents || extents->extent[0] == 0 || extents->extent[1] == 0 || extents->extent[2] == 0)
      return;
    compiler::Compilation &compilation = *bound->kernel->compilation;
    if (Status status = compilation.launch(bound->slots, *extents, *where); !status.ok())
      compiler::reportStatus(status, compilation.targetName(), bound->location(), sink);
  });
}

int tg_bound_fits(const tg_bound *bound, const tg_argument *arguments, size_t count, uint64_t *slots,
                  size_t room, size_t *slot_count) {
  constexpr size_t most = 64; // of more arguments the longer way takes no time that matters
  if (!capi::isLive(bound) || count != bound->forms.size() || count > most || (count && !arguments) ||
      !slot_count || bound->call.slots.size() > room || (room && !slots) ||
      !jit::KernelTable::use(*bound->kernel))
    return 0;
  uint64_t bits[most];
  for (size_t i = 0; i != count; ++i)
    if (!isLike(*bound, i, arguments[i], bits[i]))
      return 0;
  for (const jit::KnownCall::Slot &slot : bound->call.slots)
    *slots++ = slot.argument < 0 ? slot.bits : slotOf(slot, arguments[slot.argument], bits[slot.argument]);
  *slot_count = bound->call.slots.size();
  return 1;
}

// nullopt: it is no grid, or of no program.
static std::optional<runtime::Grid> plainGrid(const int64_t *extents, size_t count) {
  if (!extents || count == 0 || count > 3)
    return std::nullopt;
  runtime::Grid grid;
  for (size_t i = 0; i != count; ++i) {
    if (extents[i] <= 0 || extents[i] > INT32_MAX)
      return std::nullopt;
    grid.extent[i] = extents[i];
  }
  return grid;
}

static bool hasSlots(const tg_bound &bound, const uint64_t *slots, size_t count) {
  return count == bound.slots.size() && (slots || count == 0);
}

tg_status tg_bound_run(const tg_bound *bound, const tg_place *place, const uint64_t *slots, size_t slot_count,
                       const int64_t *grid, size_t grid_count, tg_diagnostics **problems) {
  std::optional<Status> ran; // a launch with which nothing is wrong makes no list of diagnostics
  try {
    if (std::optional<runtime::Grid> extents = plainGrid(grid, grid_count);
        extents && place && place->struct_size == sizeof(tg_place) && capi::isLive(bound) &&
        hasSlots(*bound, slots, slot_count)) {
      ran = bound->kernel->compilation->launch({slots, slot_count}, *extents, {place->device, place->stream});
      if (ran->ok()) {
        if (problems)
          *problems = nullptr;
        return TG_OK;
      }
    }
  } catch (const std::bad_alloc &) {
    return TG_RESOURCE;
  }
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(bound, "tg_bound", sink))
      return;
    compiler::Compilation &compilation = *bound->kernel->compilation;
    if (!ran) {
      std::optional<runtime::Place> where = capi::placeOf(place, sink);
      std::optional<runtime::Grid> extents = gridOf(grid, grid_count, bound->location(), sink);
      if (where && !hasSlots(*bound, slots, slot_count))
        sink.report(
            diag::Kind::SlotCount, {},
            {compilation.kernelName(), std::to_string(bound->slots.size()), std::to_string(slot_count)});
      if (sink.hasErrors() || extents->extent[0] == 0 || extents->extent[1] == 0 || extents->extent[2] == 0)
        return;
      ran = compilation.launch({slots, slot_count}, *extents, *where);
    }
    if (!ran->ok())
      compiler::reportStatus(*ran, compilation.targetName(), bound->location(), sink);
  });
}

void tg_bound_destroy(tg_bound *bound) {
  if (capi::leave(bound, capi::Handle::Bound))
    delete bound;
}
