// The outcome of a call. The codes are the numbers of the C ABI (tegula.h, tg_status)
// and the exit codes' source; they are stable: append only.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tegula {

enum class StatusCode : int {
  Ok = 0,
  Parse = 1,       // the text is not the language
  Type = 2,        // the program means nothing: types, shapes, names, constexprs
  Unsupported = 3, // right, but not on this target
  Resource = 4,    // too large: memory, limits, budgets
  Toolchain = 5,   // an assembler or linker failed
  Driver = 6,      // a device's driver refused
  Launch = 7,      // arguments or grid do not fit the kernel
  Data = 8,        // a file or buffer is not what it claims
  Internal = 9,    // our bug
  Assertion = 10,  // a tl.device_assert was false while the kernel ran
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::Ok;
  std::string message;

  bool ok() const { return code == StatusCode::Ok; }
  static Status success() { return {}; }
  static Status error(StatusCode code, std::string message) { return {code, std::move(message)}; }
};

// A value or the reason why there is none.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::move(value)) {}
  Result(Status status) : state_(std::move(status)) {}
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T &operator*() { return std::get<0>(state_); }
  const T &operator*() const { return std::get<0>(state_); }
  T *operator->() { return &std::get<0>(state_); }
  const T *operator->() const { return &std::get<0>(state_); }
  Status status() const { return ok() ? Status::success() : std::get<1>(state_); }

private:
  std::variant<T, Status> state_;
};

} // namespace tegula
