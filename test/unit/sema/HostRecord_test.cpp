// The questions of a compile, written for another process: they hold there exactly where a compile could not
// tell the two hosts apart.
#include "sema/HostRecord.h"
#include "sema/Session.h"
#include "syntax/Parser.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

using namespace tegula;
using sema::Const;
using sema::HostAnswer;
using sema::HostRecord;
using sema::Naming;

namespace {

using FunctionPtr = std::shared_ptr<const sema::Function>;

// Names, and attributes of objects, as a test wants them.
struct Host : sema::HostEnv {
  std::map<std::string, HostAnswer, std::less<>> names;
  std::map<std::pair<uint64_t, std::string>, HostAnswer> attributes;
  std::function<sema::HostReply(std::span<const Const>)> function;

  std::optional<HostAnswer> lookup(std::string_view name) override {
    auto found = names.find(name);
    return found == names.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<HostAnswer> attribute(const Const &object, std::string_view name) override {
    auto *opaque = std::get_if<sema::OpaqueRef>(&object.value);
    auto found = attributes.find({opaque ? opaque->handle : 0, std::string(name)});
    return found == attributes.end() ? std::nullopt : std::optional(found->second);
  }
  sema::HostReply call(const Const &, std::span<const Const> arguments,
                       std::span<const std::string>) override {
    return function(arguments);
  }
};

FunctionPtr makeFunction(std::shared_ptr<Host> env, std::string text = "def f(x):\n    return x + K\n",
                         std::string path = "k.py", uint32_t line = 1, bool isNoinline = false) {
  diag::Sink sink;
  auto tree = syntax::parse(std::make_shared<diag::Source>(path, text, line, 0), sink);
  auto function = std::make_shared<sema::Function>();
  function->tree = tree;
  function->definition = syntax::as<syntax::FunctionDef>(tree->body.front());
  function->env = std::move(env);
  function->noinline_ = isNoinline;
  function->qualifiedName = path + "::f";
  return function;
}

// A process: the kernel's environment, a helper with an environment of its own, an object.
struct Process {
  uint64_t firstHandle = 100;
  std::shared_ptr<Host> host = std::make_shared<Host>(), helperHost = std::make_shared<Host>();
  FunctionPtr kernel = makeFunction(host, "def kernel(x):\n    pass\n"), helper = makeFunction(helperHost);

  explicit Process(uint64_t firstHandle = 100) : firstHandle(firstHandle) {
    host->names["tl"] = {{sema::ModuleRef{"triton.language"}}, false};
    host->names["N"] = {sema::makeInt(3), true};
    host->names["dtype"] = {{sema::TypeRef{DType::F16}}, false};
    host->names["cfg"] = object(0);
    host->attributes[{firstHandle, "M"}] = {sema::makeInt(5), true};
    host->attributes[{firstHandle, "helper"}] = {{helper}, false};
    host->names["twice"] = object(1);
    host->function = [](std::span<const Const> arguments) {
      return sema::HostReply{HostAnswer{sema::makeInt(2 * *sema::asInt64(arguments[0])), true}, {}};
    };
    helperHost->names["K"] = {{2.5}, true};
  }
  HostAnswer object(uint64_t number, std::string repr = "a SimpleNamespace") const {
    return {{sema::OpaqueRef{firstHandle + number, std::move(repr)}}, false};
  }

  Naming naming() {
    Naming naming;
    artifact::Writer unused;
    naming.describe(kernel, unused);
    return naming;
  }

  // Asks as a compile of that kernel would.
  bool ask(HostRecord &record) {
    for (const char *name : {"tl", "N", "missing", "dtype", "cfg", "twice"})
      record.lookup(host, name);
    Const cfg = host->names["cfg"].value, twice = host->names["twice"].value;
    record.attribute(host, cfg, "M");
    auto answer = record.attribute(host, cfg, "helper");
    Const arguments[] = {sema::makeInt(21)};
    record.call(host, twice, arguments, {});
    auto *found = answer ? std::get_if<FunctionPtr>(&answer->value.value) : nullptr;
    return found && record.lookup((*found)->env, "K");
  }
  std::string written() {
    HostRecord record;
    EXPECT_TRUE(ask(record));
    Naming names = naming();
    artifact::Writer out;
    EXPECT_TRUE(record.write(names, out));
    return out.take();
  }
  bool replays(const std::string &bytes) {
    HostRecord record;
    Naming names = naming();
    artifact::Reader in(bytes);
    if (!record.replay(in, names))
      return false;
    // A record that was replayed is as good as one that was asked.
    HostRecord asked;
    ask(asked);
    EXPECT_EQ(record.digest(), asked.digest());
    EXPECT_TRUE(record.holds());
    return true;
  }
};

TEST(HostRecordTest, HoldsInAnotherProcessThatAnswersTheSame) {
  std::string bytes = Process(100).written();
  EXPECT_EQ(Process(7000).written(), bytes);
  EXPECT_TRUE(Process(7000).replays(bytes));
}

TEST(HostRecordTest, EveryChangedAnswerIsSeen) {
  std::string bytes = Process().written();
  std::map<std::string, std::function<void(Process &)>> changes = {
      {"a number", [](Process &p) { p.host->names["N"].value = sema::makeInt(4); }},
      {"its type: bool", [](Process &p) { p.host->names["N"].value = Const{true}; }},
      {"its type: float", [](Process &p) { p.host->names["N"].value = Const{3.0}; }},
      {"its type: text", [](Process &p) { p.host->names["N"].value = Const{std::string("3")}; }},
      {"no constexpr", [](Process &p) { p.host->names["N"].isConstexpr = false; }},
      {"removed", [](Process &p) { p.host->names.erase("N"); }},
      {"added", [](Process &p) { p.host->names["missing"] = {sema::makeInt(1), true}; }},
      {"a sign of zero", [](Process &p) { p.helperHost->names["K"].value = Const{-2.5}; }},
      {"a type", [](Process &p) { p.host->names["dtype"].value = Const{sema::TypeRef{DType::BF16}}; }},
      {"a pointer type",
       [](Process &p) { p.host->names["dtype"].value = Const{sema::TypeRef{DType::F16, true}}; }},
      {"a const pointer type",
       [](Process &p) { p.host->names["dtype"].value = Const{sema::TypeRef{DType::F16, true, true}}; }},
      {"a module", [](Process &p) { p.host->names["tl"].value = Const{sema::ModuleRef{"triton"}}; }},
      {"a builtin of a module's name",
       [](Process &p) { p.host->names["tl"].value = Const{sema::BuiltinRef{"triton.language"}}; }},
      {"an attribute", [](Process &p) { p.host->attributes[{100, "M"}].value = sema::makeInt(6); }},
      {"an object's kind", [](Process &p) { p.host->names["cfg"] = p.object(0, "a dict"); }},
      {"one object for two", [](Process &p) { p.host->names["twice"] = p.object(0); }},
      {"a result of a call",
       [](Process &p) {
         p.host->function = [](std::span<const Const>) {
           return sema::HostReply{HostAnswer{sema::makeInt(43), true}, {}};
         };
       }},
      {"an exception of a call",
       [](Process &p) {
         p.host->function = [](std::span<const Const>) { return sema::HostReply{{}, "ValueError"}; };
       }},
      {"a constant of a helper", [](Process &p) { p.helperHost->names["K"].value = Const{2.0}; }},
      {"a helper's text",
       [](Process &p) {
         p.host->attributes[{100, "helper"}].value =
             Const{makeFunction(p.helperHost, "def f(x):\n    return x - K\n")};
       }},
      {"a helper's file",
       [](Process &p) {
         p.host->attributes[{100, "helper"}].value =
             Const{makeFunction(p.helperHost, "def f(x):\n    return x + K\n", "other.py")};
       }},
      {"a helper's line",
       [](Process &p) {
         p.host->attributes[{100, "helper"}].value =
             Const{makeFunction(p.helperHost, "def f(x):\n    return x + K\n", "k.py", 2)};
       }},
      {"a helper that is not inlined",
       [](Process &p) {
         p.host->attributes[{100, "helper"}].value =
             Const{makeFunction(p.helperHost, "def f(x):\n    return x + K\n", "k.py", 1, true)};
       }},
      {"a helper with the kernel's names",
       [](Process &p) {
         p.host->names["K"] = {{2.5}, true};
         p.host->attributes[{100, "helper"}].value = Const{makeFunction(p.host)};
       }},
  };
  for (auto &[what, change] : changes) {
    Process other;
    change(other);
    EXPECT_FALSE(other.replays(bytes)) << what;
    other.host->attributes.clear(); // a function that the host holds may hold the host
  }
}

TEST(HostRecordTest, WhatNobodyAskedForMayChange) {
  std::string bytes = Process().written();
  Process other;
  other.host->names["unused"] = {sema::makeInt(1), true};
  EXPECT_TRUE(other.replays(bytes));
}

TEST(HostRecordTest, ValuesOfEveryKindComeBack) {
  auto inner =
      std::make_shared<sema::ConstTuple>(sema::ConstTuple{sema::makeInt(-1), {std::string("a\0b", 3)}});
  auto pair = std::make_shared<const sema::TupleClass>(
      sema::TupleClass{"Pair", {"a", "b"}, {0, "the class `Pair`"}, true});
  auto named = std::make_shared<sema::ConstTuple>(*inner);
  named->type = pair;
  Const values[] = {{sema::NoneValue{}},
                    {true},
                    sema::makeInt(INT64_MIN),
                    {llvm::APInt(65, UINT64_MAX)},
                    {llvm::APInt(300, 7).shl(280)},
                    {-0.0},
                    {inner},
                    {named},
                    {sema::TupleClassPtr(pair)},
                    {sema::TypeRef{DType::F8E5, true, true, {4, 8}, sema::TypeRef::Descriptor}},
                    {sema::BuiltinRef{"triton.language.load"}},
                    {sema::ModuleRef{"triton"}},
                    {sema::OpaqueRef{0, "of no use"}},
                    {sema::OpaqueRef{uint64_t(1) << 62 | 3, "a value of run time"}}};
  Naming naming;
  for (const Const &value : values) {
    artifact::Writer out;
    ASSERT_TRUE(naming.write(value, out));
    artifact::Reader in(out.bytes());
    std::optional<Const> back = naming.read(in);
    ASSERT_TRUE(back && in.isWhole());
    EXPECT_EQ(sema::digestOf(*back), sema::digestOf(value));
  }
  artifact::Writer out;
  EXPECT_FALSE(naming.write({sema::OpaqueRef{55, "an object that nobody has met"}}, out));
  EXPECT_FALSE(naming.write({Process().helper}, out));
}

TEST(HostRecordTest, DamagedRecordsAreNoFault) {
  std::string good = Process().written();
  std::mt19937_64 random(3);
  unsigned held = 0;
  for (int round = 0; round != 20'000; ++round) {
    std::string bytes = good;
    for (uint64_t changes = 1 + random() % 3; changes; --changes)
      bytes[random() % bytes.size()] = char(random());
    if (round % 3 == 0)
      bytes.resize(random() % bytes.size());
    Process process;
    HostRecord record;
    Naming names = process.naming();
    artifact::Reader in(bytes);
    process.host->function = [](std::span<const Const>) { return sema::HostReply{}; };
    held += record.replay(in, names);
  }
  EXPECT_EQ(held, 0u);
}

} // namespace
