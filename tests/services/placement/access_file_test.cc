// The access file at the start, and when it is read again.
#include "services/placement/access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "services/placement/options.h"

namespace berth::services {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class AccessFileTest : public ::testing::Test {
 protected:
  AccessFileTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::string directory_ = ::testing::TempDir() + "/berth-access-file";
  const std::string path_ = directory_ + "/access.toml";
  AccessPolicy policy_;
  AccessFile file_{path_, &policy_};
};

TEST_F(AccessFileTest, IsInForceFromTheStart) {
  Write("denied = [\"reader/a\"]\n");
  const absl::Status read = file_.Read(/*identified=*/true);
  ASSERT_TRUE(read.ok()) << read;
  EXPECT_FALSE(policy_.Admit("reader/a").ok());
  EXPECT_EQ(policy_.rules()->file, path_);
  // sha256sum of the text.
  EXPECT_EQ(policy_.rules()->digest,
            "6bb2e4626a1533ee21562ddba5a5486c7a618b15827c43cebc13fe8d9839bf61");
  EXPECT_EQ(policy_.fault(), "");
}

TEST_F(AccessFileTest, AFileThatIsNamedMustExist) {
  const absl::Status read = file_.Read(true);
  EXPECT_EQ(read.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(read.message()), StartsWith(path_ + ": there is no such file; create"));
  // Without the setting there is one at the default place, or nothing is limited.
  AccessPolicy policy;
  if (!std::filesystem::exists(kDefaultAccessFile)) {
    EXPECT_TRUE(AccessFile("", &policy).Read(true).ok());
    EXPECT_EQ(policy.version(), 0);
  }
}

TEST_F(AccessFileTest, TheSettingsAreWrongIfTheFileIs) {
  PlacementOptions options;
  options.access_file = path_;
  EXPECT_THAT(std::string(CheckPlacementOptions(options).message()), HasSubstr("no such file"));
  Write("denied = [\"reader/a\"]\ndenies = []\n");
  EXPECT_THAT(std::string(CheckPlacementOptions(options).message()),
              StartsWith(path_ + ":2: unknown key 'denies'"));
  Write("denied = [\"reader/a\"]\n");
  EXPECT_TRUE(CheckPlacementOptions(options).ok());
}

TEST_F(AccessFileTest, AFileWithAFaultChangesNothing) {
  Write("denied = [\"reader/a\"]\n");
  ASSERT_TRUE(file_.Read(true).ok());
  const RulesInForcePtr before = policy_.rules();
  for (const char* text :
       {"", "denied = [\"reader/b\"", "denied = [\"reader/b\", \"admin/*\"]\n"}) {
    Write(text);
    file_.ReadAgain();
    EXPECT_EQ(policy_.rules(), before) << text;
    EXPECT_THAT(policy_.fault(), StartsWith(path_ + ":")) << text;
  }
  std::filesystem::remove(path_);
  file_.ReadAgain();
  EXPECT_EQ(policy_.rules(), before);
  EXPECT_THAT(policy_.fault(), HasSubstr("no such file"));
  std::filesystem::create_directory(path_);
  file_.ReadAgain();
  EXPECT_EQ(policy_.rules(), before);
  EXPECT_THAT(policy_.fault(), HasSubstr("is a directory"));
}

TEST_F(AccessFileTest, AGoodFileIsInForceAtOnce) {
  Write("denied = [\"reader/a\"]\n");
  ASSERT_TRUE(file_.Read(true).ok());
  const RulesInForcePtr first = policy_.rules();
  file_.ReadAgain();
  EXPECT_EQ(policy_.rules()->since, first->since);  // of the same text
  Write("denied = [\"reader/b\"");
  file_.ReadAgain();
  Write("denied = [\"reader/b\"]\n");
  file_.ReadAgain();
  EXPECT_EQ(policy_.fault(), "");
  EXPECT_GT(policy_.rules()->since, first->since);
  EXPECT_NE(policy_.rules()->digest, first->digest);
  EXPECT_TRUE(policy_.Admit("reader/a").ok());
  EXPECT_FALSE(policy_.Admit("reader/b").ok());
}

// The file cannot tell whether there are other admins, so this is no fault.
TEST_F(AccessFileTest, AdminsMayBeDeniedWithAWarning) {
  Write("denied = [\"admin/a\", \"reader/a\"]\n");
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(file_.Read(true).ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("the access file denies admins"), HasSubstr("admins=admin/a\n")));
  EXPECT_FALSE(policy_.Admit("admin/a").ok());
  Write("denied = [\"reader/a\"]\n");
  ::testing::internal::CaptureStderr();
  file_.ReadAgain();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("denies admins")));
}

TEST_F(AccessFileTest, MetricsTellTheDigest) {
  Metrics metrics("placement");
  MeasureAccess(&policy_, &metrics);
  EXPECT_THAT(metrics.Text(), HasSubstr("placement_access_file_info{digest=\"none\"} 1"));
  Write("denied = [\"reader/a\"]\n");
  ASSERT_TRUE(file_.Read(true).ok());
  EXPECT_THAT(metrics.Text(), AllOf(HasSubstr("placement_access_file_info{digest=\"" +
                                              policy_.rules()->digest + "\"} 1"),
                                    HasSubstr("placement_access_file_refused 0")));
  Write("");
  file_.ReadAgain();
  EXPECT_THAT(metrics.Text(), HasSubstr("placement_access_file_refused 1"));
}

}  // namespace
}  // namespace berth::services
