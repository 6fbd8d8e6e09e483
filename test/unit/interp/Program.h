// Runs tile IR given as text on vectors of the test.
#pragma once
#include "interp/Interp.h"
#include "ir/tile/Tile.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tegula::test {

inline Status runText(const std::string &text, std::vector<uint64_t> arguments, runtime::Grid grid = {},
                      uint64_t maxOps = 0) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  tile::loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the text does not parse:\n" << text;
    return Status::error(StatusCode::Parse, "");
  }
  return interp::run(*module, arguments, grid, maxOps);
}

template <class T> uint64_t address(std::vector<T> &buffer) {
  return reinterpret_cast<uint64_t>(buffer.data());
}
template <class T> uint64_t slot(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

// A buffer of a kernel: its element as IR writes it, its values.
template <class T> struct Buffer {
  std::string element;
  std::vector<T> values;
};

// Loads the inputs as tiles %a, %b, %c, runs `body`, stores %r of `outElement`.
template <class Out, class... In>
std::vector<Out> apply(const std::string &body, const std::string &outElement, size_t outSize,
                       Buffer<In>... inputs) {
  std::string parameters, loads, names = "abc";
  std::vector<uint64_t> arguments;
  auto pointers = [](const std::string &name, const std::string &element, size_t n) {
    std::string count = std::to_string(n), tile = "tensor<" + count + "x!tt.ptr<" + element + ">>";
    return "  %i" + name + " = tt.make_range {start = 0 : i32, end = " + count + " : i32} : tensor<" + count +
           "xi32>\n  %s" + name + " = tt.splat %p" + name + " : !tt.ptr<" + element + "> -> " + tile +
           "\n  %q" + name + " = tt.addptr %s" + name + ", %i" + name + " : " + tile + ", tensor<" + count +
           "xi32>\n";
  };
  size_t index = 0;
  auto add = [&](auto &buffer) {
    std::string name(1, names[index++]), count = std::to_string(buffer.values.size());
    parameters += "%p" + name + ": !tt.ptr<" + buffer.element + ">, ";
    loads += pointers(name, buffer.element, buffer.values.size()) + "  %" + name + " = tt.load %q" + name +
             " : tensor<" + count + "x!tt.ptr<" + buffer.element + ">> -> tensor<" + count + "x" +
             buffer.element + ">\n";
    arguments.push_back(address(buffer.values));
  };
  (add(inputs), ...);
  std::vector<Out> result(outSize);
  arguments.push_back(address(result));
  std::string count = std::to_string(outSize);
  std::string text = "tt.func @k(" + parameters + "%pr: !tt.ptr<" + outElement + ">) {\n" + loads + body +
                     "\n" + pointers("r", outElement, outSize) + "  tt.store %qr, %r : tensor<" + count +
                     "x!tt.ptr<" + outElement + ">>, tensor<" + count + "x" + outElement +
                     ">\n  tt.return\n}\n";
  Status status = runText(text, arguments);
  EXPECT_TRUE(status.ok()) << status.message << "\n" << text;
  return result;
}

// One op "name %a, %b" on two vectors of one type.
template <class T>
std::vector<T> binary(const std::string &op, const std::string &element, std::vector<T> a, std::vector<T> b) {
  size_t n = a.size();
  return apply<T>("  %r = " + op + " %a, %b : tensor<" + std::to_string(n) + "x" + element + ">", element, n,
                  Buffer<T>{element, a}, Buffer<T>{element, b});
}
template <class T> std::vector<T> unary(const std::string &op, const std::string &element, std::vector<T> a) {
  size_t n = a.size();
  return apply<T>("  %r = " + op + " %a : tensor<" + std::to_string(n) + "x" + element + ">", element, n,
                  Buffer<T>{element, a});
}
// One op "name %a : from -> to".
template <class Out, class In>
std::vector<Out> convert(const std::string &op, const std::string &from, const std::string &to,
                         std::vector<In> a, const std::string &arrow = " to ") {
  std::string n = std::to_string(a.size());
  return apply<Out>("  %r = " + op + " %a : tensor<" + n + "x" + from + ">" + arrow + "tensor<" + n + "x" +
                        to + ">",
                    to, a.size(), Buffer<In>{from, a});
}

} // namespace tegula::test
