// Archives of kernels: what is written is read, and nothing else is; headers that a compiler takes.
#include "artifact/Archive.h"

#include <gtest/gtest.h>

using namespace tegula;
using artifact::Archive;
using artifact::Artifact;

namespace {

Artifact code(const std::string &target, const std::string &arch) {
  Artifact a;
  a.kernel = "add";
  a.target = target, a.arch = arch;
  a.features = {"avx2", "fma"};
  a.parameters = {{"out", DType::F16, true, false, true, 16},
                  {"x", DType::F32, true, false, false, 1},
                  {"scale", DType::F32, false, false, false, 1},
                  {"pair.0", DType::I64, false, false, false, 1},
                  {"int", DType::U8, false, false, false, 1}};
  a.launch.entry = "add";
  a.parts = {{"obj", std::string(100, '\3')}};
  return a;
}

Archive sampleArchive() {
  return {{{"add", {code("cpu", ""), code("cuda", "sm_90a")}}, {"add_2", {code("cuda", "sm_80")}}}};
}

TEST(Archive, IsReadAsItWasWritten) {
  for (const Archive &archive : {sampleArchive(), Archive{}}) {
    Result<Archive> read = artifact::readArchive(artifact::write(archive));
    ASSERT_TRUE(read) << read.status().message;
    EXPECT_TRUE(*read == archive);
  }
}

TEST(Archive, EveryChangedOrMissingByteIsARefusal) {
  std::string bytes = artifact::write(sampleArchive());
  for (size_t i = 0; i != bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = char(other[i] ^ 0x20);
    Result<Archive> read = artifact::readArchive(other);
    ASSERT_FALSE(read) << i;
    EXPECT_EQ(read.status().code, StatusCode::Data);
    ASSERT_FALSE(artifact::readArchive(std::string_view(bytes).substr(0, i))) << i;
  }
  EXPECT_FALSE(artifact::readArchive(bytes + "x"));
}

TEST(Archive, RefusesEntriesThatDoNotGoTogether) {
  auto refused = [](Archive archive, const std::string &why) {
    Status status = artifact::check(archive);
    EXPECT_EQ(status.code, StatusCode::Data);
    EXPECT_NE(status.message.find(why), std::string::npos) << status.message;
    EXPECT_FALSE(artifact::readArchive(artifact::write(archive)));
  };
  Archive archive = sampleArchive();
  archive.entries[1].name = "add";
  refused(archive, "two kernels named `add`");
  for (const char *name : {"", "2add", "a-b", "a b", "\xc3\xa4"}) {
    archive.entries[1].name = name;
    refused(archive, "no name of C");
  }
  archive = sampleArchive();
  archive.entries[0].code[1].parameters[2].dtype = DType::F64;
  refused(archive, "differ between targets");
  archive = sampleArchive();
  archive.entries[0].code.clear();
  refused(archive, "no code for `add`");
  archive = sampleArchive();
  archive.entries[0].code[0].parts.clear();
  refused(archive, "no code for `add` on cpu");
}

TEST(Archive, AHeaderHasNoNamesOfOthers) {
  Archive archive = sampleArchive();
  auto check = [&](const char *name, const char *prefix = "kernels") {
    archive.entries[1].name = name;
    return artifact::checkHeader(archive, prefix).code;
  };
  for (const char *name : {"int", "requires", "_Bool", "main", "memcpy", "size_t", "__func__", "tgr_launch",
                           "kernels_open", "kernels_open_bytes", "kernels_close", "kernels_library"})
    EXPECT_EQ(check(name), StatusCode::Launch) << name;
  for (const char *name : {"exp", "strided_add", "matmul_t", "_kernel", "open_kernels", "Int", "INT"})
    EXPECT_EQ(check(name), StatusCode::Ok) << name;
  for (const char *prefix : {"", "1a", "a-b"})
    EXPECT_EQ(check("sum", prefix), StatusCode::Launch) << prefix;
  EXPECT_EQ(check("int_open", "int"), StatusCode::Launch);
  EXPECT_EQ(check("int_opened", "int"), StatusCode::Ok);
}

TEST(Archive, AnInterfaceIsNamesAndParametersOnly) {
  Archive archive = sampleArchive();
  std::string digest = artifact::interfaceDigest(archive);
  EXPECT_EQ(digest.size(), 16u);
  archive.entries[0].code.pop_back();
  archive.entries[0].code[0].parts[0].bytes = "other code";
  EXPECT_EQ(artifact::interfaceDigest(archive), digest);
  archive.entries[0].code[0].parameters[2].dtype = DType::F64;
  EXPECT_NE(artifact::interfaceDigest(archive), digest);
  archive = sampleArchive();
  archive.entries[0].name = "sum";
  EXPECT_NE(artifact::interfaceDigest(archive), digest);
}

TEST(Archive, AHeaderTypesEachParameter) {
  std::string header = artifact::headerOf(sampleArchive(), "kernels");
  for (const char *part :
       {"static inline tg_status add(kernels_library *library, const tg_place *place, tgr_grid grid, void "
        "*out, "
        "const float *x, float scale, int64_t pair_0, uint8_t int_)",
        "static inline tg_status add_2(", "out: *fp16, address divisible by 16", "#ifndef KERNELS_KERNELS_H",
        "kernels_open(", "slots_[3] = (uint64_t)(int64_t)pair_0;",
        "memcpy(&slots_[2], &scale, sizeof scale);", "tgr_library_kernel((tgr_library *)library, 1)"})
    EXPECT_NE(header.find(part), std::string::npos) << part << "\n" << header;
}

TEST(Archive, AParameterOfAHeaderIsNoMacro) {
  Archive archive = sampleArchive();
  for (Archive::Entry &entry : archive.entries)
    for (Artifact &artifact : entry.code) {
      artifact.parameters[0].name = "SIZE_MAX";
      artifact.parameters[1].name = "slots";
      artifact.parameters[2].name = "slots_";
    }
  std::string header = artifact::headerOf(archive, "kernels");
  EXPECT_NE(header.find("void *SIZE_MAX_, const float *slots__, float slots___,"), std::string::npos)
      << header;
}

TEST(Archive, APrefixIsNotThatOfTheRuntime) {
  EXPECT_TRUE(artifact::checkHeader(sampleArchive(), "kernels").ok());
  for (const char *prefix : {"tgr", "tg", "__mine"})
    EXPECT_FALSE(artifact::checkHeader(sampleArchive(), prefix).ok()) << prefix;
}

} // namespace
