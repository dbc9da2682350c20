// A host with images on a file server that is gone: the tracker's reads hang in the kernel.
#include "tests/processes/dead_mount.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "placement/ground/uuid.h"
#include "tests/e2e/real_host.h"

namespace berth::e2e {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int64_t kGib = int64_t{1} << 30;
// Of one pass. The tracker waits 3 s for an image and as long for the file system.
constexpr absl::Duration kPassMax = absl::Seconds(30);

class DeadMountTest : public RealHost {
 protected:
  void SetUp() override {
    if (const absl::Status separate = DeadMount::SeparateMounts(); !separate.ok()) {
      GTEST_SKIP() << "mounting is not permitted: " << separate;
    }
    RealHost::SetUp();
  }

  // Makes a sparse image on the file server, which may still grow by `gib`, and a guest that has it.
  void DefineGuestWithImage(int64_t gib) {
    const std::string image = images_.path() + "/image";
    std::ofstream(image) << "";
    std::filesystem::resize_file(image, static_cast<uintmax_t>(gib * kGib));
    DefineGuest(placement::Uuid::Random().ToString(),
                absl::StrCat("<disk type='file'><driver name='qemu' type='raw'/><source file='",
                             image, "'/><target dev='vda' bus='virtio'/></disk>"));
  }
  int64_t DiskLeast() { return View().account().disk_available_least_gib(); }
  bool SaysLastValuesAreUsed() {
    const pb::Node node = Node();
    for (const pb::Finding& finding : node.findings()) {
      if (absl::StrContains(finding.message(), "the values that were read last are used"))
        return true;
    }
    return false;
  }
  void ExpectPassInTime() {
    const absl::Time began = absl::Now();
    EXPECT_EQ(Audit().result(), pb::AUDIT_RESULT_DEGRADED);
    EXPECT_LT(absl::Now() - began, kPassMax);  // T-361
  }

  const placement::ScratchDirectory images_;
};

TEST_F(DeadMountTest, DelaysNoPassBeyondADeadlineAndChangesNoAmount) {
  instances_path_ = images_.path();
  ASSERT_NO_FATAL_FAILURE(StartTracker({}));
  EXPECT_EQ(Audit().result(), pb::AUDIT_RESULT_COMPLETE);
  const int64_t empty = DiskLeast();
  DefineGuestWithImage(1000);
  ASSERT_TRUE(Eventually([&] { return DiskLeast() <= empty - 900; }));
  const int64_t disk = Node().facts().disk_gib();
  const std::string built = Build({1, 16}).uuid();
  ExpectAgreement("the file server answers");
  const int64_t least = DiskLeast();
  {
    const DeadMount dead(images_.path());
    ExpectPassInTime();
    ExpectPassInTime();
    ExpectAgreement("the file server is gone");
    EXPECT_TRUE(Eventually([this] { return SaysLastValuesAreUsed(); }));  // T-361
    EXPECT_EQ(DiskLeast(), least);                                        // T-361
    EXPECT_EQ(Node().facts().disk_gib(), disk);                           // T-361
    EXPECT_EQ(Node().state(), pb::SERVICE_STATE_UP);
    EXPECT_FALSE(Node().disabled()) << Node().disabled_reason();
    Build({1, 16});
    KillGuest(built);
    ExpectAgreement("guests start and die while the file server is gone");
  }
  EXPECT_TRUE(Eventually([this] { return Audit().result() == pb::AUDIT_RESULT_COMPLETE; }));
  EXPECT_NEAR(static_cast<double>(DiskLeast()), static_cast<double>(least), 100);
  EXPECT_TRUE(Eventually([this] { return !SaysLastValuesAreUsed(); }));
}

}  // namespace
}  // namespace berth::e2e
