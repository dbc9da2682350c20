// The file that remembers which traits provider configuration files have added.
#include "tracker/settings/added_traits.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"

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
  ASSERT_TRUE(file.Remember({{"p"_uuid, {"CUSTOM_A"}}}).ok());
  ASSERT_TRUE(file.Remember({{"p"_uuid, {"CUSTOM_B"}}, {"q"_uuid, {"CUSTOM_A"}}}).ok());
  EXPECT_EQ(AtStart(),
            (AddedTraits{{"p"_uuid, {"CUSTOM_A", "CUSTOM_B"}}, {"q"_uuid, {"CUSTOM_A"}}}));
  file.Forget("p"_uuid, "CUSTOM_B");
  file.Forget("q"_uuid, "CUSTOM_A");
  file.Forget("r"_uuid, "CUSTOM_A");
  EXPECT_EQ(file.traits(), (AddedTraits{{"p"_uuid, {"CUSTOM_A"}}}));
  ASSERT_TRUE(file.Remember({}).ok());
  EXPECT_EQ(AtStart(), file.traits());
}

TEST_F(AddedTraitsTest, AreNotWrittenAgainUnchanged) {
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(directory_).ok());
  ASSERT_TRUE(file.Remember({{"p"_uuid, {"CUSTOM_A"}}}).ok());
  std::filesystem::remove(directory_ + "/added_traits.json");
  ASSERT_TRUE(file.Remember({{"p"_uuid, {"CUSTOM_A"}}}).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/added_traits.json"));
}

TEST_F(AddedTraitsTest, SayWhatIsWrongWithTheFile) {
  const std::string provider = "{\"" + "p"_uuid.ToString() + "\": ";
  for (const std::string& text : {std::string(), std::string("["), std::string("[]"),
                                  provider + "1}", provider + "[1]}", std::string("{\"p\": []}")}) {
    std::ofstream(directory_ + "/added_traits.json") << text;
    const absl::Status opened = AddedTraitsFile().Open(directory_);
    EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_THAT(std::string(opened.message()), HasSubstr(directory_ + "/added_traits.json"));
  }
  std::filesystem::remove_all(directory_);
  AddedTraitsFile file;
  ASSERT_TRUE(file.Open(directory_).ok());
  EXPECT_EQ(file.Remember({{"p"_uuid, {"CUSTOM_A"}}}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(file.traits(), (AddedTraits{{"p"_uuid, {"CUSTOM_A"}}}));
}

}  // namespace
}  // namespace berth::tracker
