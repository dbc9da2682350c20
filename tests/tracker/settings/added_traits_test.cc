// The file that remembers which traits provider configuration files have added.
#include "tracker/settings/added_traits.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::tracker {
namespace {

using ::testing::HasSubstr;

class AddedTraitsTest : public testing::Test {
 protected:
  AddedTraitsTest() {
    char path[] = "/tmp/berth-traits-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~AddedTraitsTest() override { std::filesystem::remove_all(directory_); }

  // What a process that starts now remembers.
  AddedTraits AtStart() const {
    AddedTraitsFile file;
    EXPECT_TRUE(file.Open(directory_).ok());
    return file.traits();
  }

  std::string directory_;
};

TEST_F(AddedTraitsTest, OutliveTheProcess) {  // T-220
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(directory_).ok());
  EXPECT_EQ(file.traits(), AddedTraits());
  ASSERT_TRUE(file.Remember({{"p", {"CUSTOM_A"}}}).ok());
  ASSERT_TRUE(file.Remember({{"p", {"CUSTOM_B"}}, {"q", {"CUSTOM_A"}}}).ok());
  EXPECT_EQ(AtStart(), (AddedTraits{{"p", {"CUSTOM_A", "CUSTOM_B"}}, {"q", {"CUSTOM_A"}}}));
  file.Forget("p", "CUSTOM_B");
  file.Forget("q", "CUSTOM_A");
  file.Forget("r", "CUSTOM_A");
  EXPECT_EQ(file.traits(), (AddedTraits{{"p", {"CUSTOM_A"}}}));
  ASSERT_TRUE(file.Remember({}).ok());
  EXPECT_EQ(AtStart(), file.traits());
}

TEST_F(AddedTraitsTest, AreNotWrittenAgainUnchanged) {
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(directory_).ok());
  ASSERT_TRUE(file.Remember({{"p", {"CUSTOM_A"}}}).ok());
  std::filesystem::remove(directory_ + "/added_traits.json");
  ASSERT_TRUE(file.Remember({{"p", {"CUSTOM_A"}}}).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/added_traits.json"));
}

TEST_F(AddedTraitsTest, SayWhatIsWrongWithTheFile) {
  for (const char* const text : {"", "[", "[]", "{\"p\": 1}", "{\"p\": [1]}"}) {
    std::ofstream(directory_ + "/added_traits.json") << text;
    const absl::Status opened = AddedTraitsFile().Open(directory_);
    EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_THAT(std::string(opened.message()), HasSubstr(directory_ + "/added_traits.json"));
  }
  std::filesystem::remove_all(directory_);
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(directory_).ok());
  EXPECT_EQ(file.Remember({{"p", {"CUSTOM_A"}}}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(file.traits(), (AddedTraits{{"p", {"CUSTOM_A"}}}));
}

}  // namespace
}  // namespace berth::tracker
