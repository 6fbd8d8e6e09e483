#include "sema/HostRecord.h"
#include "artifact/Sha256.h"
#include "sema/Const.h"
#include "sema/Session.h"

#include "llvm/Support/xxhash.h"

#include <bit>

namespace tegula::sema {

namespace {

void append(std::string &text, uint64_t number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void append(std::string &text, std::string_view part) {
  append(text, uint64_t(part.size()));
  text += part;
}

// Bytes that tell any two values apart: the kind, then what the kind has.
void append(std::string &text, const Const &value) {
  text += char('A' + value.value.index());
  if (auto *tuple = tupleOf(value)) {
    append(text, uint64_t(tuple->size()));
    if (tuple->type)
      append(text, Const{tuple->type});
    for (const Const &element : *tuple)
      append(text, element);
  } else if (auto *function = get<std::shared_ptr<const Function>>(value)) {
    append(text, uint64_t(reinterpret_cast<uintptr_t>((*function)->definition)));
  } else if (auto *opaque = get<OpaqueRef>(value)) {
    append(text, opaque->handle);
    append(text, std::string_view(opaque->repr));
  } else if (auto *type = get<TupleClassPtr>(value)) {
    append(text, std::string_view((*type)->name));
    append(text, (*type)->self.handle);
    for (const std::string &field : (*type)->fields)
      append(text, std::string_view(field));
  } else if (auto *number = get<double>(value)) {
    append(text, std::bit_cast<uint64_t>(*number));
  } else {
    append(text, std::string_view(repr(value)));
  }
}

Digest digestOf(const std::string &text) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
  return {hash.low64, hash.high64};
}

Digest digestOf(const HostReply &reply) {
  std::string text;
  if (reply.answer) {
    text += reply.answer->isConstexpr ? 'c' : 'p';
    append(text, reply.answer->value);
  } else {
    text += 'r' + reply.raised;
  }
  return digestOf(text);
}

} // namespace

Digest digestOf(const Const &value) {
  std::string text;
  append(text, value);
  return digestOf(text);
}

HostReply HostRecord::Question::ask() const {
  switch (kind) {
  case Lookup: return {env->lookup(name), {}};
  case Attribute: return {env->attribute(object, name), {}};
  case Default: return {env->defaultOf(name), {}};
  case Call: return env->call(object, arguments, names);
  }
  return {};
}

std::string HostRecord::Question::key() const {
  std::string text(1, char(kind));
  append(text, uint64_t(reinterpret_cast<uintptr_t>(env.get())));
  append(text, std::string_view(name));
  append(text, object);
  for (const Const &argument : arguments)
    append(text, argument);
  for (const std::string &one : names)
    append(text, std::string_view(one));
  return text;
}

HostReply HostRecord::ask(Question question) {
  if (question.env->isOfLanguage)
    return question.ask();
  std::string key = question.key();
  if (auto known = answers_.find(key); known != answers_.end())
    return known->second;
  HostReply reply = question.ask();
  question.answer = digestOf(reply);
  keep(question.object);
  if (reply.answer)
    keep(reply.answer->value);
  questions_.push_back(std::move(question));
  answers_[key] = reply;
  return reply;
}

std::optional<HostAnswer> HostRecord::lookup(const std::shared_ptr<HostEnv> &env, std::string_view name) {
  return ask({Question::Lookup, env, std::string(name), {}, {}, {}}).answer;
}

std::optional<HostAnswer> HostRecord::attribute(const std::shared_ptr<HostEnv> &env, const Const &object,
                                                std::string_view name) {
  return ask({Question::Attribute, env, std::string(name), object, {}, {}}).answer;
}

std::optional<HostAnswer> HostRecord::defaultOf(const std::shared_ptr<HostEnv> &env,
                                                std::string_view parameter) {
  return ask({Question::Default, env, std::string(parameter), {}, {}, {}}).answer;
}

HostReply HostRecord::call(const std::shared_ptr<HostEnv> &env, const Const &callee,
                           std::span<const Const> arguments, std::span<const std::string> names) {
  return ask(
      {Question::Call, env, {}, callee, {arguments.begin(), arguments.end()}, {names.begin(), names.end()}});
}

void HostRecord::keep(const Const &value) {
  if (auto *function = get<std::shared_ptr<const Function>>(value))
    functions_.push_back(*function);
  if (auto *tuple = tupleOf(value))
    for (const Const &element : *tuple)
      keep(element);
}

// 256 bits of an answer, the same in every process; what is new in it gets its name.
static artifact::Sha256 describe(const HostReply &reply, Naming &naming) {
  artifact::Writer out;
  out.number(uint8_t(reply.answer.has_value()));
  if (reply.answer) {
    out.number(uint8_t(reply.answer->isConstexpr));
    naming.describe(reply.answer->value, out);
  } else {
    out.text(reply.raised);
  }
  return artifact::sha256(out.bytes());
}

bool HostRecord::Question::write(Naming &naming, artifact::Writer &out) const {
  std::optional<uint32_t> number = naming.numberOf(env.get());
  out.number(uint8_t(kind));
  out.number(number.value_or(0));
  out.text(name);
  bool isNamed = number && naming.write(object, out);
  out.count(arguments.size());
  for (const Const &argument : arguments)
    isNamed = isNamed && naming.write(argument, out);
  out.count(names.size());
  for (const std::string &one : names)
    out.text(one);
  return isNamed;
}

bool HostRecord::write(Naming &naming, artifact::Writer &out) const {
  out.count(questions_.size());
  for (const Question &question : questions_) {
    auto answer = answers_.find(question.key());
    if (answer == answers_.end() || !question.write(naming, out))
      return false;
    for (uint8_t byte : describe(answer->second, naming))
      out.number(byte);
  }
  return true;
}

std::optional<HostRecord::Question> HostRecord::readQuestion(artifact::Reader &in,
                                                             const Naming &naming) const {
  auto kind = in.number<uint8_t>();
  Question question;
  question.kind = Question::Kind(kind);
  question.env = naming.environment(in.number<uint32_t>());
  question.name = in.text();
  std::optional<Const> object = naming.read(in);
  if (!question.env || !object || kind > Question::Call)
    return std::nullopt;
  question.object = std::move(*object);
  for (size_t left = in.count(1); left; --left) {
    std::optional<Const> argument = naming.read(in);
    if (!argument)
      return std::nullopt;
    question.arguments.push_back(std::move(*argument));
  }
  for (size_t left = in.count(8); left; --left)
    question.names.emplace_back(in.text());
  return in.ok() && question.names.size() <= question.arguments.size() ? std::optional(std::move(question))
                                                                       : std::nullopt;
}

bool HostRecord::replay(artifact::Reader &in, Naming &naming) {
  for (size_t left = in.count(32); left; --left) {
    std::optional<Question> question = readQuestion(in, naming);
    if (!question)
      return false;
    artifact::Sha256 now = describe(ask(std::move(*question)), naming), then;
    for (uint8_t &byte : then)
      byte = in.number<uint8_t>();
    if (!in.ok() || now != then)
      return false;
  }
  return in.isWhole();
}

bool HostRecord::holds() const {
  for (const Question &question : questions_)
    if (digestOf(question.ask()) != question.answer)
      return false;
  return true;
}

Digest HostRecord::digest() const {
  std::string text;
  for (const Question &question : questions_) {
    append(text, std::string_view(question.key()));
    append(text, question.answer[0]);
    append(text, question.answer[1]);
  }
  return digestOf(text);
}

} // namespace tegula::sema
