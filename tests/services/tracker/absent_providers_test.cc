// When the tracker warns that no node has a provider that a file names.
#include "services/tracker/absent_providers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::services {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AbsentProviders, AreToldOnceUntilTheyAppear) {  // T-219
  AbsentProviders absent;
  const int node = 0;
  EXPECT_THAT(absent.Update(&node, {"a", "b"}, 1), ElementsAre("a", "b"));
  EXPECT_THAT(absent.Update(&node, {"a", "b"}, 1), IsEmpty());
  EXPECT_THAT(absent.Update(&node, {"b"}, 1), IsEmpty());
  EXPECT_THAT(absent.Update(&node, {"a", "b"}, 1), ElementsAre("a"));
}

TEST(AbsentProviders, AreOfNoNode) {  // T-219
  AbsentProviders absent;
  const int nodes[2] = {};
  EXPECT_THAT(absent.Update(&nodes[0], {"a", "b"}, 2), IsEmpty());  // the other may have them
  EXPECT_THAT(absent.Update(&nodes[1], {"b", "c"}, 2), ElementsAre("b"));
  EXPECT_THAT(absent.Update(&nodes[0], {"a", "b", "c"}, 2), ElementsAre("c"));
}

}  // namespace
}  // namespace berth::services
