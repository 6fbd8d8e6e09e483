#include "artifact/Artifact.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"

#include <algorithm>
#include <array>

namespace tegula::artifact {
namespace {

constexpr std::string_view magic = "TEGULA\x1a\n";
constexpr size_t headerBytes = 24, rowBytes = 24, digestBytes = 32;

// Never a number again for another content.
enum Section : uint32_t {
  KeySection = 1,
  AnswersSection = 2,
  KernelSection = 3,
  ParametersSection = 4,
  LaunchSection = 5,
  PartsSection = 6,
  RemarksSection = 7,
  WarningsSection = 8,
  FailureSection = 9,
};

Status damaged(const std::string &what) {
  return Status::error(StatusCode::Data, "the container is damaged: " + what);
}

bool flag(Reader &in) {
  auto byte = in.number<uint8_t>();
  if (byte > 1)
    in.fail();
  return byte == 1;
}

// ---- what is in the sections: each writer has its reader behind it ----

void writeKernel(const Artifact &from, Writer &out) {
  for (const std::string *text : {&from.kernel, &from.target, &from.arch})
    out.text(*text);
  out.count(from.features.size());
  for (const std::string &feature : from.features)
    out.text(feature);
}
void readKernel(Reader &in, Artifact &to) {
  for (std::string *text : {&to.kernel, &to.target, &to.arch})
    *text = in.text();
  to.features.resize(in.count(8));
  for (std::string &feature : to.features)
    feature = in.text();
}

void writeParameters(const Artifact &from, Writer &out) {
  out.count(from.parameters.size());
  for (const Parameter &parameter : from.parameters) {
    out.text(parameter.name);
    out.text(name(parameter.dtype));
    out.number(uint8_t(parameter.isPointer | parameter.isConst << 1 | parameter.isWritten << 2));
    out.number(parameter.divisibility);
  }
}
void readParameters(Reader &in, Artifact &to) {
  to.parameters.resize(in.count(21));
  for (Parameter &parameter : to.parameters) {
    parameter.name = in.text();
    std::optional<DType> dtype = dtypeFromName(in.text());
    auto bits = in.number<uint8_t>();
    parameter.divisibility = in.number<uint32_t>();
    if (!dtype || bits > 7 || parameter.divisibility == 0)
      return in.fail();
    parameter.dtype = *dtype;
    parameter.isPointer = bits & 1, parameter.isConst = bits & 2, parameter.isWritten = bits & 4;
  }
}

void writeLaunch(const Artifact &from, Writer &out) {
  const LaunchData &launch = from.launch;
  out.text(launch.entry);
  out.number(launch.warps);
  out.number(launch.sharedBytes);
  out.number(launch.scratchBytes);
  out.number(uint8_t(launch.isCooperative));
  out.number(uint8_t(launch.launchesEarly));
  out.number(uint8_t(launch.programs));
  for (int64_t number : {launch.registers, launch.spillBytes, launch.ownSharedBytes})
    out.number(number);
  out.count(launch.copyMaps.size());
  for (const CopyMap &map : launch.copyMaps) {
    for (uint32_t number : {map.pointer, uint32_t(map.strideOf), map.elementBytes, map.columns, map.rows,
                            map.boxColumns, map.boxRows})
      out.number(number);
    out.number(uint8_t(map.isNarrow));
    out.number(map.strideScale);
  }
}
void readLaunch(Reader &in, Artifact &to) {
  LaunchData &launch = to.launch;
  launch.entry = in.text();
  launch.warps = in.number<uint32_t>();
  launch.sharedBytes = in.number<uint64_t>();
  launch.scratchBytes = in.number<uint64_t>();
  launch.isCooperative = flag(in);
  launch.launchesEarly = flag(in);
  auto programs = in.number<uint8_t>();
  if (programs > uint8_t(Programs::Alone))
    return in.fail();
  launch.programs = Programs(programs);
  for (int64_t *number : {&launch.registers, &launch.spillBytes, &launch.ownSharedBytes})
    *number = in.number<int64_t>();
  launch.copyMaps.resize(in.count(37));
  for (CopyMap &map : launch.copyMaps) {
    map.pointer = in.number<uint32_t>();
    map.strideOf = int32_t(in.number<uint32_t>());
    for (uint32_t *number : {&map.elementBytes, &map.columns, &map.rows, &map.boxColumns, &map.boxRows})
      *number = in.number<uint32_t>();
    map.isNarrow = flag(in);
    map.strideScale = in.number<int64_t>();
    auto isParameter = [&](int64_t index) { return index < int64_t(to.parameters.size()); };
    if (!isParameter(map.pointer) || !isParameter(map.strideOf) || map.strideOf < -1)
      return in.fail();
  }
}

void writeParts(const Artifact &from, Writer &out) {
  out.count(from.parts.size());
  for (const Part &part : from.parts) {
    out.text(part.name);
    out.text(part.bytes);
  }
}
void readParts(Reader &in, Artifact &to) {
  to.parts.resize(in.count(16));
  for (Part &part : to.parts) {
    part.name = in.text();
    part.bytes = in.text();
  }
}

void writeRemarks(const Artifact &from, Writer &out) {
  out.count(from.remarks.size());
  for (const Remark &remark : from.remarks)
    for (const std::string *text : {&remark.location, &remark.kind, &remark.text})
      out.text(*text);
}
void readRemarks(Reader &in, Artifact &to) {
  to.remarks.resize(in.count(24));
  for (Remark &remark : to.remarks)
    for (std::string *text : {&remark.location, &remark.kind, &remark.text})
      *text = in.text();
}

void write(const Place &place, Writer &out) {
  out.number(place.source);
  out.number(place.begin);
  out.number(place.end);
}
Place readPlace(Reader &in) {
  Place place;
  place.source = in.number<int32_t>();
  place.begin = in.number<uint32_t>();
  place.end = in.number<uint32_t>();
  if (place.source < -1 || place.begin > place.end)
    in.fail();
  return place;
}

void writeWarnings(const Artifact &from, Writer &out) {
  out.count(from.warnings.size());
  for (const Warning &warning : from.warnings) {
    for (const std::string *text : {&warning.kind, &warning.message, &warning.hint})
      out.text(*text);
    write(warning.place, out);
    out.count(warning.notes.size());
    for (const Warning::Note &note : warning.notes) {
      write(note.place, out);
      out.text(note.message);
    }
  }
}
void readWarnings(Reader &in, Artifact &to) {
  to.warnings.resize(in.count(44));
  for (Warning &warning : to.warnings) {
    for (std::string *text : {&warning.kind, &warning.message, &warning.hint})
      *text = in.text();
    warning.place = readPlace(in);
    warning.notes.resize(in.count(20));
    for (Warning::Note &note : warning.notes) {
      note.place = readPlace(in);
      note.message = in.text();
    }
  }
}

void writeFailure(const Artifact &from, Writer &out) {
  out.number(uint8_t(from.failure.has_value()));
  if (!from.failure)
    return;
  out.number(uint32_t(from.failure->code));
  out.text(from.failure->message);
}
void readFailure(Reader &in, Artifact &to) {
  if (!flag(in))
    return;
  Failure failure;
  auto code = in.number<uint32_t>();
  if (code == uint32_t(StatusCode::Ok) || code > uint32_t(StatusCode::Assertion))
    in.fail();
  failure.code = StatusCode(code);
  failure.message = in.text();
  if (!to.parts.empty())
    in.fail();
  to.failure = std::move(failure);
}

struct Row {
  Section id;
  const char *name;
  void (*write)(const Artifact &, Writer &);
  void (*read)(Reader &, Artifact &);
};
constexpr Row rows[] = {
    {KeySection, "key", [](const Artifact &from, Writer &out) { out.text(from.key); },
     [](Reader &in, Artifact &to) { to.key = in.text(); }},
    {AnswersSection, "answers", [](const Artifact &from, Writer &out) { out.text(from.answers); },
     [](Reader &in, Artifact &to) { to.answers = in.text(); }},
    {KernelSection, "kernel", writeKernel, readKernel},
    {ParametersSection, "parameters", writeParameters, readParameters},
    {LaunchSection, "launch", writeLaunch, readLaunch},
    {PartsSection, "parts", writeParts, readParts},
    {RemarksSection, "remarks", writeRemarks, readRemarks},
    {WarningsSection, "warnings", writeWarnings, readWarnings},
    {FailureSection, "failure", writeFailure, readFailure},
};
constexpr size_t sectionCount = std::size(rows);

// ---- the frame around them ----

// The bytes of each section, in the order of `rows`.
using Sections = std::array<std::string_view, sectionCount>;

Status readHeader(Reader &header, size_t size) {
  if (header.number<uint32_t>() != formatVersion)
    return damaged("it is of another version");
  if (header.number<uint32_t>() != sectionCount)
    return damaged("it has another number of sections");
  if (header.number<uint64_t>() != size)
    return damaged("it is not as long as it says");
  return Status::success();
}

// Sections lie one behind the other, as the table has them.
Status readTable(Reader &table, std::string_view body, Sections &sections) {
  uint64_t next = headerBytes + rowBytes * sectionCount;
  for (size_t i = 0; i != sectionCount; ++i) {
    auto id = table.number<uint32_t>(), reserved = table.number<uint32_t>();
    auto offset = table.number<uint64_t>(), size = table.number<uint64_t>();
    if (id != rows[i].id || reserved != 0 || offset != next || offset > body.size() ||
        size > body.size() - offset)
      return damaged("its table of sections is wrong");
    sections[i] = body.substr(offset, size);
    next = offset + size;
  }
  return next == body.size() ? Status::success() : damaged("there is more than its sections");
}

Status readFrame(std::string_view bytes, Sections &sections) {
  if (bytes.size() < headerBytes + rowBytes * sectionCount + digestBytes || !bytes.starts_with(magic))
    return damaged("it is too short, or something else");
  std::string_view body = bytes.substr(0, bytes.size() - digestBytes);
  Reader header(body.substr(magic.size(), headerBytes - magic.size()));
  if (Status status = readHeader(header, bytes.size()); !status.ok())
    return status;
  Sha256 digest = sha256(body);
  if (std::memcmp(digest.data(), bytes.data() + body.size(), digestBytes) != 0)
    return damaged("its digest is another one");
  Reader table(body.substr(headerBytes, rowBytes * sectionCount));
  return readTable(table, body, sections);
}

} // namespace

const std::string *Artifact::part(std::string_view name) const {
  auto found = std::ranges::find(parts, name, &Part::name);
  return found == parts.end() ? nullptr : &found->bytes;
}

std::string write(const Artifact &artifact) {
  std::array<std::string, sectionCount> sections;
  uint64_t size = headerBytes + rowBytes * sectionCount + digestBytes;
  for (size_t i = 0; i != sectionCount; ++i) {
    Writer out;
    rows[i].write(artifact, out);
    sections[i] = out.take();
    size += sections[i].size();
  }
  Writer head;
  head.number(formatVersion);
  head.number(uint32_t(sectionCount));
  head.number(size);
  uint64_t offset = headerBytes + rowBytes * sectionCount;
  for (size_t i = 0; i != sectionCount; ++i) {
    head.number(uint32_t(rows[i].id));
    head.number(uint32_t(0));
    head.number(offset);
    head.number(uint64_t(sections[i].size()));
    offset += sections[i].size();
  }
  std::string bytes(magic);
  bytes.reserve(size);
  bytes += head.bytes();
  for (const std::string &section : sections)
    bytes += section;
  Sha256 digest = sha256(bytes);
  bytes.append(reinterpret_cast<const char *>(digest.data()), digest.size());
  return bytes;
}

Result<Artifact> read(std::string_view bytes) {
  Sections sections;
  if (Status status = readFrame(bytes, sections); !status.ok())
    return status;
  Artifact artifact;
  for (size_t i = 0; i != sectionCount; ++i) {
    Reader in(sections[i]);
    rows[i].read(in, artifact);
    if (!in.isWhole())
      return damaged("its section `" + std::string(rows[i].name) + "` cannot be read");
  }
  return artifact;
}

} // namespace tegula::artifact
