// Names for what a compile's host hands over that mean the same in every process. A value is described by
// bytes: functions by their source and place, environments and opaque objects by the order in which they are
// first met. So equal bytes mean: as far as a compile can tell, the same value; and a process that is given
// the same values in the same order gives them the same numbers.
#pragma once
#include "artifact/Bytes.h"
#include "sema/HostEnv.h"

namespace tegula::sema {

class Naming {
public:
  // Bytes for a value; what is new in it gets its number.
  void describe(const Const &value, artifact::Writer &out);
  void describe(const std::shared_ptr<const Function> &function, artifact::Writer &out);

  // A value that is made of what has numbers and of plain values, and back. False and nullopt: there is
  // something in it that has none.
  bool write(const Const &value, artifact::Writer &out) const;
  std::optional<Const> read(artifact::Reader &in) const { return read(in, 0); }

  std::optional<uint32_t> numberOf(const HostEnv *env) const;
  std::shared_ptr<HostEnv> environment(uint32_t number) const; // null: none has it

  // Sources of the functions by their order: places in diagnostics. -1: none of theirs; null: none has it.
  int32_t numberOf(const diag::Source *source) const;
  diag::SourcePtr source(int32_t number) const;

private:
  std::optional<uint32_t> numberOf(const Function &function) const;
  std::optional<uint32_t> numberOf(const OpaqueRef &object) const;
  std::optional<Const> read(artifact::Reader &in, unsigned depth) const;
  std::optional<Const> readClass(artifact::Reader &in, unsigned depth) const;
  std::optional<Const> readTuple(artifact::Reader &in, unsigned depth) const;

  // By identity: a definition, an environment, a handle. Kernels have few of each.
  std::vector<std::shared_ptr<const Function>> functions_;
  std::vector<std::shared_ptr<HostEnv>> environments_;
  std::vector<OpaqueRef> objects_;
};

} // namespace tegula::sema
