// What a command about one host reads of a fleet of 10,000.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "placement/commands/fleet_node.h"
#include "placement/rules/rules.h"
#include "tests/worlds/seed.h"
#include "tests/worlds/touched_records.h"
#include "tests/worlds/world.h"

namespace berth::placement {
namespace {

constexpr int kFleetHosts = kSanitized ? 2'000 : 10'000;
constexpr int kReadMax = 4;  // records of the host that the command is about

std::string HostOf(int number) { return absl::StrCat("h", number); }
ProviderId NodeOf(int number) { return ProviderId{Uuid{7, static_cast<uint64_t>(number)}}; }
Uuid ServiceOf(int number) { return Uuid{8, static_cast<uint64_t>(number)}; }

// One service and one node on each host; the providers are those of the world alone.
class FleetVisits : public testing::Test {
 protected:
  FleetVisits() : records_(2 * kFleetHosts), state_(World().state()) {
    for (int number = 1; number <= kFleetHosts; ++number) {
      ServiceRecord service;
      service.host = HostOf(number);
      service.binary = std::string(kTrackerBinary);
      service.id = ServiceOf(number);
      service.incarnation = Uuid{9, static_cast<uint64_t>(number)};
      service.up = true;
      NodeRecord node;
      node.id = NodeOf(number);
      node.name = "node";
      node.host = HostOf(number);
      state_.Apply({ServicePut{records_.Keep(service)}, NodePut{records_.Keep(node)}});
    }
  }

  int64_t RecordsReadBy(const CommandBody& body) {
    Command command;
    command.body = body;
    return records_.Count([&] {
      const absl::StatusOr<Outcome> outcome = Decide(state_, command, RuleContext{});
      EXPECT_TRUE(outcome.ok()) << outcome.status();
    });
  }

  TouchedRecords records_;
  State state_;
};

TEST_F(FleetVisits, DisablingAServiceReadsItsHostAlone) {
  UpdateService command{"h77", "berth-tracker", true, "maintenance", std::nullopt};
  EXPECT_LE(RecordsReadBy(command), kReadMax);
  command.disabled = false;
  command.disabled_reason = "";
  EXPECT_LE(RecordsReadBy(command), kReadMax);
}

TEST_F(FleetVisits, TheFirstReportOfANodeReadsItsHostAlone) {
  ApplyReport report;
  report.host = "h77";
  report.incarnation = Uuid{9, 77};
  report.sequence = 1;
  report.node = NodeOf(kFleetHosts + 1);
  report.node_name = "second";
  ReportedProvider& root = report.providers.emplace_back();
  root.id = report.node;
  root.name = report.node_name;
  EXPECT_LE(RecordsReadBy(report), kReadMax);
}

TEST_F(FleetVisits, AnImportReadsTheHostsThatItNames) {
  ImportLedger import;
  ImportedService service;
  service.service.host = "new";
  service.service.binary = "berth-tracker";
  service.service.id = Uuid{10, 1};
  import.services.push_back(service);
  EXPECT_LE(RecordsReadBy(import), kReadMax);
}

TEST_F(FleetVisits, IndexesReadWhatTheyFindAlone) {
  EXPECT_LE(records_.Count([&] {
    EXPECT_EQ(state_.FindServiceById(ServiceOf(77))->host, "h77");
    EXPECT_EQ(state_.FindServiceById(Uuid{8, 0}), nullptr);
  }),
            1);
  EXPECT_LE(records_.Count([&] {
    ASSERT_EQ(state_.NodesOf("h77").size(), 1u);
    EXPECT_EQ(state_.NodesOf("h77").front()->id, NodeOf(77));
    EXPECT_TRUE(state_.NodesOf("h").empty());
  }),
            1);
}

}  // namespace
}  // namespace berth::placement
