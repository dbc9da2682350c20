// The sample scheduler, as a class and as a program: where it places instances, how many attempts it
// needs, and what it says if it finds no node.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "placement/store/child_process.h"
#include "services/client/sample/scheduler.h"
#include "tests/e2e/scheduling/site.h"
#include "tests/e2e/stub_call.h"
#include "tests/processes/service_process.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr absl::Duration kWaitMax = absl::Seconds(60);

class Attempts : public Site {
 protected:
  Attempts() : Site({"--metrics-listen=127.0.0.1:0"}) {}

  // How many allocations placement has made, and how many it has refused, as it counts them.
  struct Counts {
    int64_t made = 0;
    int64_t refused = 0;
  };
  Counts CountAttempts() const {
    static constexpr absl::string_view kSaid = R"("msg":"metrics","address":"127.0.0.1:)";
    const std::vector<std::string> log = absl::StrSplit(placement().Log(), kSaid);
    EXPECT_EQ(log.size(), 2U) << placement().Log();
    const std::string text = FetchMetrics(":" + log.back().substr(0, log.back().find('"')));
    EXPECT_NE(text, "");
    Counts counts;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      int64_t count = 0;
      if (!absl::StartsWith(line, "placement_grpc_requests_total{") ||
          !absl::StrContains(line, "AllocationService/SetAllocations") ||
          !absl::SimpleAtoi(line.substr(line.rfind(' ') + 1), &count)) {
        continue;
      }
      (absl::StrContains(line, "code=\"OK\"") ? counts.made : counts.refused) += count;
    }
    return counts;
  }

  pb::Instance Recorded(const pb::Flavor& flavor) { return Store(NewInstance(flavor)); }

  // What the program prints on both channels for these instances.
  struct Said {
    int code = -1;
    std::string text;
  };
  Said RunProgram(const std::vector<pb::Instance>& instances) {
    placement::ChildOptions options;
    options.arguments = {BERTH_SAMPLE_SCHEDULER_PROGRAM, placement().address()};
    for (const pb::Instance& instance : instances) options.arguments.push_back(instance.uuid());
    options.account = {getuid(), getgid()};
    options.output_path = output_.path() + "/said";
    options.death_signal = SIGKILL;
    Said said;
    const absl::StatusOr<pid_t> pid = placement::Spawn(options);
    if (!pid.ok()) return said;
    const absl::StatusOr<int> code = placement::WaitForChild(*pid, kWaitMax);
    if (code.ok()) said.code = *code;
    std::stringstream text;
    text << std::ifstream(options.output_path).rdbuf();
    said.text = text.str();
    return said;
  }

  const placement::ScratchDirectory output_;
};

TEST_F(Attempts, AreNotWastedOnHostsThatOthersHaveFilled) {
  const Host& large = *AddHost("h1", 8192);
  const Host& small = *AddHost("h2", 4096);
  sample::Scheduler scheduler(endpoints());
  ASSERT_TRUE(scheduler.AwaitHosts(kWaitMax));
  const auto first = scheduler.PlaceInstance(Recorded(FlavorOf(64)));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->node_uuid, large.node);
  // Another scheduler takes all that the host has.
  pb::Instance filling = NewInstance(FlavorOf(8192 - 512 - 64));
  const client::Failure placed = Place(large, &filling);
  ASSERT_TRUE(placed.ok()) << InWords(placed);
  const grpc::Status claimed = ClaimOn(large, filling);
  ASSERT_TRUE(claimed.ok()) << claimed.error_message();
  for (int i = 0; i < 3; ++i) {
    const pb::Instance next = Recorded(FlavorOf(64));
    const auto place = scheduler.PlaceInstance(next);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(place->name, "h2:node-of-h2");
    const grpc::Status taken = ClaimOn(small, next, &place->limits);
    EXPECT_TRUE(taken.ok()) << taken.error_message();  // T-380
  }
  const Counts counts = CountAttempts();
  EXPECT_EQ(counts.made, 4);
  EXPECT_EQ(counts.refused, 0);  // T-380
}

// Placement has room on the host, but its tracker has reported that there is none.
TEST_F(Attempts, AreNotWastedOnHostsWhoseTrackersReportLess) {
  const Host& large = *AddHost("h1", 8192);
  const Host& small = *AddHost("h2", 4096);
  sample::Scheduler scheduler(endpoints());
  ASSERT_TRUE(scheduler.AwaitHosts(kWaitMax));
  // Its scheduler has allocated too little.
  pb::Instance greedy = NewInstance(FlavorOf(7000));
  const client::Failure placed = Place(large, FlavorOf(64), &greedy);
  ASSERT_TRUE(placed.ok()) << InWords(placed);
  const grpc::Status claimed = ClaimOn(large, greedy);
  ASSERT_TRUE(claimed.ok()) << claimed.error_message();
  ASSERT_NE(scheduler.mirror().Await(Audit(large), kWaitMax), nullptr);
  const pb::Instance next = Recorded(FlavorOf(1024));
  const auto place = scheduler.PlaceInstance(next);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->name, "h2:node-of-h2");  // T-380
  const grpc::Status taken = ClaimOn(small, next, &place->limits);
  EXPECT_TRUE(taken.ok()) << taken.error_message();  // T-380
  const Counts counts = CountAttempts();
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.refused, 0);  // T-380
  // The host that was passed over would have been tried in vain.
  pb::Instance vain = NewInstance(FlavorOf(1024));
  EXPECT_TRUE(Place(large, &vain).ok());
  tracker_pb::Limits limits;
  limits.set_memory_mib(8192);
  EXPECT_THAT(Reasons(ClaimOn(large, vain, &limits), "test"),
              ElementsAre("RESOURCES_UNAVAILABLE memory"));
}

// Where another scheduler has just placed a member of the group, no view knows, but placement does.
TEST_F(Attempts, GoOnWithTheNextHostAfterARefusal) {
  const Host& large = *AddHost("h1", 8192);
  AddHost("h2", 4096);
  const std::string group = NewGroup(pb::SERVER_GROUP_POLICY_ANTI_AFFINITY);
  pb::Instance other = NewInstance(FlavorOf(64), group);
  ASSERT_TRUE(Place(large, &other).ok());
  sample::Scheduler scheduler(endpoints());
  const pb::Instance next = Store(NewInstance(FlavorOf(64), group));
  const pb::Instance last = Store(NewInstance(FlavorOf(64), group));
  ASSERT_NE(scheduler.mirror().Await(StatesAt(pb::Revision()).revision(), kWaitMax), nullptr);
  const auto place = scheduler.PlaceInstance(next);
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->name, "h2:node-of-h2");  // T-321
  const auto none = scheduler.PlaceInstance(last);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(none.status().message(),
              HasSubstr("h1:node-of-h1 SERVER_GROUP_POLICY_VIOLATED"));  // T-342
  // The scheduler knows what it has placed itself.
  EXPECT_THAT(none.status().message(), HasSubstr("h2:node-of-h2 ServerGroupAntiAffinityFilter"));
  EXPECT_THAT(HeldBy(last), IsEmpty());
  const Counts counts = CountAttempts();
  EXPECT_EQ(counts.made, 1);
  EXPECT_EQ(counts.refused, 2);
}

// The program is given instances, and says where they go, or what each node lacks.
TEST_F(Attempts, OfTheProgramEndWithWhatEachNodeLacks) {
  const Host& large = *AddHost("h1", 8192);
  AddHost("h2", 4096);
  const pb::Instance fits = Recorded(FlavorOf(5000));
  const pb::Instance huge = Recorded(FlavorOf(3600));
  const Said said = RunProgram({fits, huge});
  EXPECT_EQ(said.code, 1) << said.text;
  const std::vector<std::string> lines = absl::StrSplit(said.text, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2U) << said.text;
  EXPECT_THAT(lines[0], StartsWith(absl::StrCat(fits.uuid(), " h1:node-of-h1 ", large.node)));
  EXPECT_THAT(lines[0], HasSubstr("\"memoryMib\":\"8192\""));
  EXPECT_THAT(HeldBy(fits), ElementsAre(large.node));
  EXPECT_THAT(lines[1],
              StartsWith(absl::StrCat(huge.uuid(), ": No valid node was found")));    // T-342
  EXPECT_THAT(lines[1], HasSubstr("h1:node-of-h1 lacks MEMORY_MB 3600 (has 2680)"));  // T-342
  EXPECT_THAT(lines[1], HasSubstr("h2:node-of-h2 lacks MEMORY_MB 3600 (has 3584)"));  // T-342
  EXPECT_THAT(HeldBy(huge), IsEmpty());
}

// A node may have what an instance needs, and be no host for it all the same.
TEST_F(Attempts, OfTheProgramEndWithTheFilterThatRefusesANode) {
  Disable(*AddHost("h1", 4096));
  AddHost("h2", 4096);
  pb::Flavor flavor = FlavorOf(64);
  (*flavor.mutable_extra_specs())["aggregate_instance_extra_specs:ssd"] = "true";
  const pb::Instance instance = Recorded(flavor);
  const Said said = RunProgram({instance});
  EXPECT_EQ(said.code, 1) << said.text;
  EXPECT_THAT(said.text,
              StartsWith(absl::StrCat(instance.uuid(), ": No valid node was found")));   // T-342
  EXPECT_THAT(said.text, HasSubstr("h2:node-of-h2 AggregateInstanceExtraSpecsFilter"));  // T-342
  EXPECT_THAT(said.text, HasSubstr("h1:node-of-h1 lacks !COMPUTE_STATUS_DISABLED"));     // T-340
}

}  // namespace
}  // namespace berth::e2e
