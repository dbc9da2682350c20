#include "placement/reads/consumer_query.h"

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/worlds/script.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

class ConsumerQuery : public ::testing::Test {
 protected:
  ConsumerQuery() : world_("cn1{VCPU:64}\n  pf1{SRIOV_NET_VF:8}\ncn2{VCPU:64}") {
    RunScript(world_, R"(
      claim c1 new cn1{VCPU:2} for p1/u1/INSTANCE          OK
      claim c2 new pf1{SRIOV_NET_VF:1} for p1/u2/VOLUME    OK
      claim c3 new cn2{VCPU:1} for p2/u1/INSTANCE          OK
      claim c4 new cn2{VCPU:1} cn1{VCPU:1} for p2/u2/INSTANCE   OK
    )");
    for (int i = 1; i <= 4; ++i) {
      names_[world_.consumer(absl::StrCat("c", i))] = absl::StrCat("c", i);
    }
  }

  // The names of what passes, page by page.
  std::string Listed(const ConsumerFilter& filter, int limit = 100) {
    std::vector<std::string> found;
    std::optional<ConsumerId> after;
    while (true) {
      const auto page = ListConsumers(world_.state(), filter, after, limit);
      EXPECT_TRUE(page.ok()) << page.status();
      if (!page.ok()) break;
      for (const ConsumerPtr& consumer : page->consumers) {
        EXPECT_TRUE(!after || *after < consumer->id);
        after = consumer->id;
        found.push_back(names_.at(consumer->id));
      }
      EXPECT_LE(static_cast<int>(page->consumers.size()), limit);
      if (!page->more) break;
    }
    return absl::StrJoin(found, " ");
  }

  World world_;
  std::map<ConsumerId, std::string> names_;
};

TEST_F(ConsumerQuery, FiltersAreAnded) {  // D-13
  EXPECT_EQ(Listed({}), "c1 c2 c3 c4");
  EXPECT_EQ(Listed({.project = "p1"}), "c1 c2");
  EXPECT_EQ(Listed({.user = "u1"}), "c1 c3");
  EXPECT_EQ(Listed({.type = "INSTANCE"}), "c1 c3 c4");
  EXPECT_EQ(Listed({.type = "unknown"}), "");
  EXPECT_EQ(Listed({.in_tree = world_.provider("pf1")}), "c1 c2 c4");
  EXPECT_EQ(Listed({.in_tree = world_.provider("cn2")}), "c3 c4");
  EXPECT_EQ(Listed({.in_tree = ProviderId{Uuid{9, 9}}}), "");
  EXPECT_EQ(Listed({.project = "p2", .in_tree = world_.provider("cn1")}), "c4");
  EXPECT_EQ(Listed({.project = "nobody"}), "");
  EXPECT_EQ(Listed({.leased = true}), "");
  RunScript(world_, "lease c4@ 60  OK");
  EXPECT_EQ(Listed({.leased = true}), "c4");
  EXPECT_EQ(Listed({.leased = false}), "c1 c2 c3");
  const absl::Time third = world_.state().FindConsumer(world_.consumer("c3"))->updated_at;
  EXPECT_EQ(Listed({.updated_before = third}), "c1 c2");
}

TEST_F(ConsumerQuery, PagesMissNothing) {
  for (int limit = 1; limit <= 5; ++limit) {
    EXPECT_EQ(Listed({}, limit), "c1 c2 c3 c4");
    EXPECT_EQ(Listed({.in_tree = world_.provider("cn1")}, limit), "c1 c2 c4");
  }
}

TEST_F(ConsumerQuery, EmptyNamesAreMalformed) {
  for (const ConsumerFilter& filter :
       {ConsumerFilter{.project = ""}, ConsumerFilter{.user = ""}, ConsumerFilter{.type = ""}}) {
    EXPECT_EQ(ListConsumers(world_.state(), filter, std::nullopt, 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ConsumerQuery, TypesThatOccurAreCounted) {  // D-38
  using Counts = std::map<std::string, int64_t>;
  EXPECT_EQ(CountConsumerTypes(world_.state()), (Counts{{"INSTANCE", 3}, {"VOLUME", 1}}));
  RunScript(world_, "release c2@  OK");
  EXPECT_EQ(CountConsumerTypes(world_.state()), (Counts{{"INSTANCE", 3}}));
}

}  // namespace
}  // namespace berth::placement
