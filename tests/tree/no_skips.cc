// Where the environment says CI=true, a skipped test is a failed one: a test that cannot run proves nothing.
// Linked into every test program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace berth {
namespace {

class NoSkips : public testing::Environment {
 public:
  void TearDown() override {
    const char* const ci = std::getenv("CI");
    if (ci == nullptr || std::strcmp(ci, "true") != 0) return;
    EXPECT_EQ(testing::UnitTest::GetInstance()->skipped_test_count(), 0) << "skipped under CI=true";
  }
};

[[maybe_unused]] testing::Environment* const kNoSkips =
    testing::AddGlobalTestEnvironment(new NoSkips());

}  // namespace
}  // namespace berth
