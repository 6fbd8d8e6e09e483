// Programs that a host runs one operation at a time, and the values between the operations.
#include "capi/Handles.h"
#include "compiler/Core.h"
#include "jit/Leaf.h"
#include "sema/Const.h"

using namespace tegula;
using capi::guarded;
using eager::Held;

struct tg_held {
  Held value;
  std::string type; // as messages spell it
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes; // when asked for
};

struct tg_program {
  explicit tg_program(std::unique_ptr<eager::Program> program) : program(std::move(program)) {}

  struct Source {
    diag::SourcePtr source;
    std::vector<uint32_t> lines; // the offset of each
  };
  std::unique_ptr<eager::Program> program;
  std::vector<Source> sources;
  capi::Loan bound, lent; // what the arguments and the last result point at
};

namespace {

// ---- values across the border -----------------------------------------------------------

tg_held *handOut(Held value) {
  auto held = std::make_unique<tg_held>();
  if (auto *tile = value.get<eager::HeldTile>()) {
    held->type = sema::spelling(tile->type);
    held->shape.assign(tile->type.shape.begin(), tile->type.shape.end());
  } else if (auto *record = value.get<eager::HeldRecord>()) {
    held->type = sema::spelling(record->type);
    held->shape.assign(record->type.tile.shape.begin(), record->type.tile.shape.end());
  } else {
    held->type = sema::repr(*value.constant());
    held->shape = std::get<sema::TypeRef>(value.constant()->value).shape;
  }
  held->value = std::move(value);
  capi::enter(held.get(), capi::Handle::Held);
  return held.release();
}

bool show(const Held &value, tg_value &out, capi::Loan &loan);

bool showTuple(std::span<const Held> elements, tg_value &out, capi::Loan &loan) {
  std::vector<tg_value> items(elements.size());
  for (size_t i = 0; i != elements.size(); ++i)
    if (!show(elements[i], items[i], loan))
      return false;
  const std::vector<tg_value> &kept = loan.tuples.emplace_back(std::move(items));
  out.kind = TG_TUPLE;
  out.as.tuple = {kept.data(), kept.size()};
  return true;
}

// False: a value that a host cannot be shown.
bool show(const Held &value, tg_value &out, capi::Loan &loan) {
  if (auto *tuple = value.get<eager::HeldTuple>())
    return showTuple(*tuple, out, loan);
  const sema::Const *constant = value.constant();
  if (constant)
    if (const sema::ConstTuple *tuple = sema::tupleOf(*constant)) {
      std::vector<Held> elements;
      for (const sema::Const &element : *tuple)
        elements.push_back({element});
      return showTuple(elements, out, loan);
    }
  if (constant && capi::lend(*constant, out, loan, [](const sema::Function &) { return nullptr; }))
    return true;
  if (constant && !std::holds_alternative<sema::TypeRef>(constant->value))
    return false;
  out.kind = TG_HELD;
  out.as.held = handOut(value);
  return true;
}

std::optional<Held> heldOf(tg_program &program, const tg_value &value, unsigned depth = 0);

std::optional<Held> heldTuple(tg_program &program, const tg_value &value, unsigned depth) {
  if (depth == sema::maxConstDepth || value.as.tuple.count > sema::maxConstElements ||
      (value.as.tuple.count && !value.as.tuple.items))
    return std::nullopt;
  if (std::optional<sema::Const> constant = capi::constOf(value))
    return Held{std::move(*constant)};
  auto elements = std::make_shared<eager::HeldTuple>();
  for (size_t i = value.kind == TG_NAMED_TUPLE; i < value.as.tuple.count; ++i) { // behind its class
    const tg_value &item = value.as.tuple.items[i];
    std::optional<Held> element = heldOf(program, item, depth + 1);
    if (!element)
      return std::nullopt;
    elements->push_back(std::move(*element));
  }
  return Held{std::shared_ptr<const eager::HeldTuple>(std::move(elements))};
}

std::optional<Held> heldOf(tg_program &program, const tg_value &value, unsigned depth) {
  if (value.kind == TG_HELD)
    return capi::isLive(value.as.held) ? std::optional(value.as.held->value) : std::nullopt;
  if (value.kind == TG_TUPLE || value.kind == TG_NAMED_TUPLE)
    return heldTuple(program, value, depth);
  if (value.kind == TG_POINTER || value.flags & TG_TYPED) {
    std::optional<jit::Leaf> leaf = capi::leafOf(value);
    bool isNumber = leaf && (leaf->kind == jit::LeafKind::Bool || leaf->kind == jit::LeafKind::Int ||
                             leaf->kind == jit::LeafKind::UInt || leaf->kind == jit::LeafKind::Float);
    bool isPointer = leaf && leaf->kind == jit::LeafKind::Pointer;
    if (!isPointer && !(isNumber && (leaf->kind != jit::LeafKind::Float || isFloat(leaf->dtype))))
      return std::nullopt;
    sema::Type type{leaf->dtype, isPointer, isPointer && leaf->readOnly, {}};
    return program.program->scalar(type, jit::slotOf(*leaf, leaf->dtype, isPointer));
  }
  std::optional<sema::Const> constant = capi::constOf(value);
  return constant ? std::optional(Held{std::move(*constant)}) : std::nullopt;
}

// The arguments as the host binds them to parameters.
void bindRows(tg_program &program, std::span<const jit::TypedLeaf> rows, tg_value *out) {
  for (const jit::TypedLeaf &row : rows) {
    *out = {};
    if (row.type) {
      out->kind = TG_HELD;
      out->as.held = handOut(program.program->scalar(*row.type, row.bits));
    } else if (row.elements) {
      std::vector<tg_value> &items = program.bound.tuples.emplace_back(row.elements->size());
      bindRows(program, *row.elements, items.data());
      out->kind = TG_TUPLE;
      out->as.tuple = {items.data(), items.size()};
    }
    ++out;
  }
}

// ---- places -----------------------------------------------------------------------------

diag::Location locationOf(const tg_program &program, const tg_span *span) {
  if (!span || span->source >= program.sources.size())
    return {};
  const auto &[source, lines] = program.sources[span->source];
  auto offset = [&](uint32_t line, uint32_t column) {
    uint32_t size = uint32_t(source->text().size());
    if (line == 0 || line > lines.size())
      return size;
    return uint32_t(std::min<uint64_t>(size, uint64_t(lines[line - 1]) + (column ? column - 1 : 0)));
  };
  uint32_t begin = offset(span->line, span->column);
  return {source, {begin, std::max(begin, offset(span->end_line, span->end_column))}};
}

bool readOperands(tg_program &program, std::span<const tg_argument> given, bool isSubscript,
                  std::vector<eager::Operand> &operands, diag::Sink &sink) {
  for (const tg_argument &argument : given) {
    eager::Operand &operand = operands.emplace_back();
    operand.name = argument.name ? argument.name : "";
    if (isSubscript && argument.value.kind == TG_ABSENT)
      continue;
    if ((operand.value = heldOf(program, argument.value)))
      continue;
    sink.report(diag::Kind::HostMisuse, {},
                {"operand " + std::to_string(operands.size() - 1) + " is no value of the language",
                 "operands are held values, constants, pointers, typed numbers, and tuples of such"});
    return false;
  }
  return true;
}

} // namespace

tg_status tg_program_create(tg_function *function, const tg_argument *arguments, size_t count,
                            tg_value *bound, tg_program **out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink) || !capi::checkHandle(function, "tg_function", sink) ||
        !capi::checkItems(arguments, count, capi::mostArguments, "arguments", sink))
      return;
    *out = nullptr;
    llvm::SmallVector<jit::Argument, 16> leaves;
    if ((!function->dispatcher.parameters().empty() && !capi::checkGiven(bound, "bound", sink)) ||
        !capi::readArguments(function, {arguments, count}, leaves, sink))
      return;
    compiler::CompileOptions options;
    auto rows = function->dispatcher.bindForHost(leaves, options, sink);
    if (!rows)
      return;
    const compiler::Core *core = compiler::requireCore("interp", sink);
    if (!core)
      return;
    auto program = std::make_unique<tg_program>(core->makeProgram(options.language));
    bindRows(*program, *rows, bound);
    capi::enter(*out = program.release(), capi::Handle::Program);
  });
}

void tg_program_destroy(tg_program *program) {
  if (capi::leave(program, capi::Handle::Program))
    delete program;
}

tg_status tg_program_move(tg_program *program, const int64_t *index, const int64_t *grid, size_t count,
                          tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(program, "tg_program", sink) || !capi::checkItems(grid, count, 3, "grid", sink) ||
        (count && !capi::checkGiven(index, "index", sink)))
      return;
    std::optional<runtime::Grid> extents = jit::makeGrid({grid, count}, {}, sink);
    if (!extents)
      return;
    for (size_t i = 0; i != count; ++i)
      if (index[i] < 0 || (index[i] && index[i] >= grid[i])) {
        sink.report(diag::Kind::HostMisuse, {},
                    {"program " + std::to_string(index[i]) + " along axis " + std::to_string(i) +
                         " is not in the grid",
                     "an index is at least 0 and below the grid's extent"});
        return;
      }
    program->program->grid = *extents;
    program->program->index = {};
    std::copy_n(index, count, program->program->index.begin());
  });
}

tg_status tg_program_add_source(tg_program *program, const char *path, const char *text, size_t size,
                                uint32_t *number, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(program, "tg_program", sink) || !capi::checkGiven(path, "path", sink) ||
        !capi::checkItems(text, size, size_t(1) << 30, "text", sink) ||
        !capi::checkGiven(number, "number", sink))
      return;
    tg_program::Source source{std::make_shared<diag::Source>(path, std::string(text ? text : "", size)), {0}};
    for (size_t i = 0; i != size; ++i)
      if (text[i] == '\n')
        source.lines.push_back(uint32_t(i + 1));
    *number = uint32_t(program->sources.size());
    program->sources.push_back(std::move(source));
  });
}

tg_status tg_program_do(tg_program *program, tg_action action, const char *name, const tg_argument *operands,
                        size_t count, const tg_span *span, tg_value *out, tg_diagnostics **problems) {
  std::vector<diag::Diagnostic> warnings;
  tg_status status = guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkHandle(program, "tg_program", sink) || !capi::checkGiven(out, "out", sink) ||
        !capi::checkItems(operands, count, capi::mostArguments, "operands", sink))
      return;
    *out = {};
    std::vector<eager::Operand> read;
    if (unsigned(action) >= eager::actionCount) {
      sink.report(diag::Kind::HostMisuse, {},
                  {"there is no action " + std::to_string(int(action)), "actions are those of tg_action"});
      return;
    }
    if (!readOperands(*program, {operands, count}, action == TG_DO_SUBSCRIPT, read, sink))
      return;
    Status failed = Status::success();
    diag::Location place = locationOf(*program, span);
    std::optional<Held> result =
        program->program->run({eager::Action(action), name ? name : "", read}, place, sink, failed);
    if (!failed.ok())
      return compiler::reportStatus(failed, "interp", place, sink);
    program->lent = {};
    if (result && !show(*result, *out, program->lent))
      sink.report(diag::Kind::HostMisuse, place,
                  {"the result has no form outside of the compiler", "use it within one operation"});
    warnings = sink.all();
  });
  if (status == TG_OK && problems && !warnings.empty())
    *problems = new tg_diagnostics(std::move(warnings));
  return status;
}

int tg_program_has_method(tg_program *program, const tg_value *object, const char *name) {
  if (!capi::isLive(program) || !object || !name)
    return 0;
  std::optional<Held> held = heldOf(*program, *object);
  return held && program->program->hasMethod(*held, name);
}

tg_status tg_held_get(tg_held *held, tg_held_info *out) {
  if (!capi::isLive(held))
    return TG_LAUNCH;
  tg_held_info info{0, TG_HELD_TYPE, TG_I32, 0, held->shape.size(), held->shape.data(), held->type.c_str()};
  if (auto *tile = held->value.get<eager::HeldTile>()) {
    info.kind = TG_HELD_TILE;
    info.dtype = tg_dtype(tile->type.element);
    info.is_pointer = tile->type.pointer;
  } else if (auto *record = held->value.get<eager::HeldRecord>()) {
    bool isPointer = record->type.kind == sema::TypeRef::BlockPointer;
    info.kind = isPointer ? TG_HELD_BLOCK_POINTER : TG_HELD_DESCRIPTOR;
    info.dtype = tg_dtype(record->type.tile.element);
  } else {
    const auto &type = std::get<sema::TypeRef>(held->value.constant()->value);
    info.dtype = tg_dtype(type.element);
    info.is_pointer = type.pointer;
  }
  return capi::fill(out, info);
}

const void *tg_held_data(tg_held *held, size_t *size) {
  auto *tile = capi::isLive(held) && size ? held->value.get<eager::HeldTile>() : nullptr;
  if (!tile)
    return nullptr;
  if (held->bytes.empty())
    held->bytes = eager::bytesOf(*tile);
  *size = held->bytes.size();
  return held->bytes.data();
}

void tg_held_release(tg_held *held) {
  if (capi::leave(held, capi::Handle::Held))
    delete held;
}
