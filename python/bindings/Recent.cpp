#include "Recent.h"

namespace tegula::python {
bool sameNames(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (!a || !b || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
    return false;
  for (Py_ssize_t i = 0; i != PyTuple_GET_SIZE(a); ++i)
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i))
      return false;
  return true;
}

namespace {

bool isOf(const Recent::Row &row, const CallShape &shape) {
  return row.bound && row.count == shape.count && row.target.get() == shape.target &&
         row.version == shape.version && sameNames(row.keywords.get(), shape.keywords);
}

} // namespace

bool Recent::has(const CallShape &shape) const {
  for (const Row &row : rows_)
    if (isOf(row, shape))
      return true;
  return false;
}

const Recent::Row *Recent::find(const CallShape &shape, const Arena &arena, const tg_argument *arguments,
                                uint64_t *slots, size_t room, size_t &slotCount) {
  if (arena.isUnplaced()) // goes where PyTorch works by now
    return nullptr;
  for (size_t i = 0; i != rows_.size(); ++i) {
    size_t at = (latest_ + i) % rows_.size();
    const Row &row = rows_[at];
    if (!isOf(row, shape) || row.device != arena.device || row.hasHostMemory != arena.hasHostMemory ||
        !tg_bound_fits(row.bound.get(), arguments, size_t(shape.count), slots, room, &slotCount))
      continue;
    latest_ = at;
    isWorthIt_ = true;
    return &row;
  }
  return nullptr;
}

bool Recent::wantsMore() {
  constexpr unsigned patience = 64;
  return isWorthIt_ || skipped_++ < rows_.size() || skipped_ % patience == 0;
}

void Recent::add(const CallShape &shape, const Arena &arena, tg_bound *bound, PyObject *object) {
  // The row that goes may hold the last reference to an object whose end runs code.
  Row row = std::move(rows_[next_]);
  rows_[next_] = {Ref(Py_XNewRef(shape.keywords)),
                  Ref(Py_NewRef(shape.target)),
                  Ref(Py_NewRef(object)),
                  shape.count,
                  shape.version,
                  arena.device,
                  arena.hasHostMemory,
                  std::shared_ptr<tg_bound>(bound, tg_bound_destroy)};
  latest_ = next_;
  next_ = (next_ + 1) % rows_.size();
  isWorthIt_ = false;
}

void Recent::drop(PyObject *object) {
  std::array<Row, 8> gone; // destroyed when the table is whole again
  for (size_t i = 0; i != rows_.size(); ++i)
    if (rows_[i].object.get() == object)
      gone[i] = std::exchange(rows_[i], {});
}

void Recent::clear() { std::array<Row, 8> gone = std::exchange(rows_, {}); }

int Recent::traverse(visitproc visit, void *arg) {
  for (Row &row : rows_)
    Py_VISIT(row.object.get());
  return 0;
}

} // namespace tegula::python
