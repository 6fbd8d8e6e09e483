// Containers of compiled kernels: what is written is read, and nothing else is.
#include "artifact/Artifact.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"

#include <gtest/gtest.h>

#include <random>

using namespace tegula;
using artifact::Artifact;

namespace {

Artifact sample() {
  Artifact a;
  a.key = "everything that it was made from";
  a.answers = std::string("tl\0is a module", 14);
  a.kernel = "softmax_kernel";
  a.target = "cpu";
  a.arch = "";
  a.parameters = {{"out_ptr", DType::F32, true, false, true}, {"n", DType::I32, false, false, false}};
  a.launch = {"tegula_softmax_kernel",
              4,
              49152,
              256,
              true,
              true,
              artifact::Programs::Alone,
              40,
              0,
              16,
              {{0, 1, true, 2, 2, 64, 128, 64, 128}, {0, -1, false, 512, 4, 32, 64, 32, 64}}};
  a.parts = {{"obj", std::string(300, '\x7f')}, {"tile", "ML\xefR"}};
  a.remarks = {{"k.py:3:5", "access", "16 lanes"}, {"", "pipeline", "num_stages=2"}};
  a.warnings = {{"StaticPrint", "BLOCK 128", "", {0, 4, 9}, {{{1, 0, 3}, "called from here"}}}};
  return a;
}

Artifact refused() {
  Artifact a = sample();
  a.parts.clear();
  a.failure = {StatusCode::Resource, "a block needs 300000 bytes"};
  return a;
}

// The bytes with the digest that they should have: as a writer with other habits would leave them.
std::string sealed(std::string bytes) {
  bytes.resize(bytes.size() - 32);
  artifact::Sha256 digest = artifact::sha256(bytes);
  return bytes.append(reinterpret_cast<const char *>(digest.data()), digest.size());
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(artifact::hexadecimal(artifact::sha256("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(artifact::hexadecimal(artifact::sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(artifact::hexadecimal(artifact::sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Artifact, IsReadAsItWasWritten) {
  for (const Artifact &a : {sample(), refused(), Artifact{}}) {
    std::string bytes = artifact::write(a);
    Result<Artifact> read = artifact::read(bytes);
    ASSERT_TRUE(read) << read.status().message;
    EXPECT_TRUE(*read == a);
    EXPECT_EQ(artifact::write(*read), bytes);
  }
}

TEST(Artifact, EveryFlippedBitIsRefused) {
  std::string bytes = artifact::write(sample());
  for (size_t i = 0; i != bytes.size() * 8; ++i) {
    std::string damaged = bytes;
    damaged[i / 8] = char(damaged[i / 8] ^ (1 << i % 8));
    Result<Artifact> read = artifact::read(damaged);
    ASSERT_FALSE(read) << "bit " << i;
    ASSERT_EQ(read.status().code, StatusCode::Data);
  }
}

TEST(Artifact, EveryTruncationAndEveryAdditionIsRefused) {
  std::string bytes = artifact::write(sample());
  for (size_t size = 0; size != bytes.size(); ++size)
    ASSERT_FALSE(artifact::read(std::string_view(bytes).substr(0, size))) << size;
  for (size_t more : {1, 8, 32, 4096})
    ASSERT_FALSE(artifact::read(bytes + std::string(more, '\0'))) << more;
  EXPECT_FALSE(artifact::read(bytes + bytes));
  EXPECT_FALSE(artifact::read("x" + bytes));
}

// Damage that a digest does not show: whoever writes a digest may write nonsense under it.
TEST(Artifact, NonsenseUnderAGoodDigestIsReadWithoutAFault) {
  std::mt19937_64 random(7);
  std::string samples[] = {artifact::write(sample()), artifact::write(refused())};
  unsigned taken = 0;
  for (int round = 0; round != 100'000; ++round) {
    std::string bytes = samples[round % 2];
    for (uint64_t changes = 1 + random() % 4; changes; --changes) {
      size_t at = random() % (bytes.size() - 32);
      switch (random() % 4) {
      case 0: bytes[at] = char(random()); break;
      case 1: bytes[at] = char(0xff); break;
      case 2: bytes.erase(at, std::min<size_t>(1 + random() % 16, bytes.size() - 32 - at)); break;
      case 3: bytes.insert(at, 1 + random() % 16, char(random())); break;
      }
    }
    if (Result<Artifact> read = artifact::read(sealed(bytes))) {
      ++taken; // a text with other letters
      EXPECT_TRUE(artifact::read(artifact::write(*read)).ok());
    }
  }
  EXPECT_GT(taken, 0u);
}

TEST(Artifact, RandomBytesAreRefused) {
  std::mt19937_64 random(11);
  for (int round = 0; round != 10'000; ++round) {
    std::string bytes(random() % 400, '\0');
    for (char &byte : bytes)
      byte = char(random());
    ASSERT_FALSE(artifact::read(bytes));
  }
}

TEST(Artifact, AHugeLengthIsNotBelieved) {
  artifact::Writer out;
  out.number(~uint64_t(0));
  artifact::Reader text(out.bytes()), list(out.bytes());
  EXPECT_EQ(text.text(), "");
  EXPECT_FALSE(text.ok());
  EXPECT_EQ(list.count(1), 0u);
  EXPECT_FALSE(list.ok());
}

} // namespace
