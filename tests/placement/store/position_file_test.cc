#include "placement/store/position_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

Position At(int64_t number) {
  Position position;
  position.revision = {3, number};
  position.batch = BatchId{Uuid{7, static_cast<uint64_t>(number)}};
  position.command_count = (int64_t{1} << 40) + number;
  position.next_class_id = 10'000;
  position.next_trait_id = 20'000;
  return position;
}

TEST(PositionFile, KeepsAPosition) {
  const ScratchDirectory directory;
  PositionFile file(directory.path() + "/position");
  ASSERT_TRUE(file.Read().ok());
  EXPECT_EQ(*file.Read(), std::nullopt);
  ASSERT_EQ(file.Write(At(4)), absl::OkStatus());
  ASSERT_EQ(file.Write(At(5)), absl::OkStatus());
  const auto read = PositionFile(file.path()).Read();
  ASSERT_TRUE(read.ok() && *read) << read.status();
  EXPECT_EQ((*read)->revision, At(5).revision);
  EXPECT_EQ((*read)->batch, At(5).batch);
  EXPECT_EQ((*read)->command_count, At(5).command_count);
  EXPECT_EQ((*read)->next_class_id, At(5).next_class_id);
  EXPECT_EQ((*read)->next_trait_id, At(5).next_trait_id);
}

TEST(PositionFile, WritesNothingTwice) {
  const ScratchDirectory directory;
  PositionFile file(directory.path() + "/position");
  ASSERT_EQ(file.Write(At(4)), absl::OkStatus());
  std::filesystem::remove(file.path());
  EXPECT_EQ(file.Write(At(4)), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(PositionFile, TakesNoPartOfAPosition) {
  const ScratchDirectory directory;
  PositionFile file(directory.path() + "/position");
  ASSERT_EQ(file.Write(At(4)), absl::OkStatus());
  std::string text;
  std::getline(std::ifstream(file.path()), text);
  for (size_t length = 0; length < text.size(); ++length) {
    std::ofstream(file.path()) << text.substr(0, length);
    EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kDataLoss) << length;
  }
  std::filesystem::remove(file.path());
  std::filesystem::create_directory(file.path());
  EXPECT_EQ(file.Read().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(file.Write(At(5)).code(), absl::StatusCode::kUnavailable);
}

TEST(PositionFile, WithoutAPathThereIsNone) {
  PositionFile file("");
  EXPECT_EQ(file.Write(At(4)), absl::OkStatus());
  EXPECT_EQ(*file.Read(), std::nullopt);
}

}  // namespace
}  // namespace berth::placement
