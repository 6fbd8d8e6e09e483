// The questions that a compile asked its hosts, each with the digest of the answer. While a
// compile runs, a question that was asked before gets the same answer again; afterwards
// `holds` asks all of them anew and says whether every answer is still the same.
//
// The language's own library is no host: what it answers is a part of this build of the compiler, and no
// question to it is kept.
//
// The record keeps the functions of its answers alive, so that one which compares equal is the
// same one. Questions are kept in the order in which they were asked, and `holds` stops at the
// first that differs: an environment that only a later answer leads to is asked only when the
// earlier answers still lead to it.
#pragma once
#include "sema/Naming.h"

#include "llvm/ADT/StringMap.h"

#include <array>

namespace tegula::sema {

// 128 bits of a value: equal values, equal digests. Functions and opaque objects count by identity.
using Digest = std::array<uint64_t, 2>;
Digest digestOf(const Const &value);

class HostRecord {
public:
  std::optional<HostAnswer> lookup(const std::shared_ptr<HostEnv> &env, std::string_view name);
  std::optional<HostAnswer> attribute(const std::shared_ptr<HostEnv> &env, const Const &object,
                                      std::string_view name);
  std::optional<HostAnswer> defaultOf(const std::shared_ptr<HostEnv> &env, std::string_view parameter);
  HostReply call(const std::shared_ptr<HostEnv> &env, const Const &callee, std::span<const Const> arguments,
                 std::span<const std::string> names);

  // Keeps a function alive that the compile was given by its caller.
  void keep(const Const &value);
  // The compile has ended: answers are forgotten, their digests stay.
  void seal() { answers_.clear(); }

  // The questions for another process, with what `naming` makes of the answers. While the compile runs:
  // answers are not forgotten yet. False: one of them is about something that has no name.
  bool write(Naming &naming, artifact::Writer &out) const;
  // Asks the questions that another record wrote, as far as they have the answers that it got; they become
  // those of this record. `naming` knows what the compile is given besides, as it did when they were written.
  bool replay(artifact::Reader &in, Naming &naming);

  bool holds() const;
  size_t size() const { return questions_.size(); }
  // Of the questions and their answers: equal records found the same things.
  Digest digest() const;

private:
  struct Question {
    enum Kind : uint8_t { Lookup, Attribute, Default, Call } kind;
    std::shared_ptr<HostEnv> env;
    std::string name;
    Const object;
    std::vector<Const> arguments;
    std::vector<std::string> names;
    Digest answer{};

    HostReply ask() const;
    std::string key() const;
    bool write(Naming &naming, artifact::Writer &out) const;
  };
  HostReply ask(Question question);
  std::optional<Question> readQuestion(artifact::Reader &in, const Naming &naming) const;

  std::vector<Question> questions_;
  llvm::StringMap<HostReply> answers_;
  std::vector<std::shared_ptr<const Function>> functions_;
};

} // namespace tegula::sema
