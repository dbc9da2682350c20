#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "services/cli/session/failure.h"
#include "services/cli/text/fleet_view.h"
#include "tests/services/cli/cli_golden.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

template <typename Message>
Message Of(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// The host of C-20.
TEST(FleetScreens, AHostIsDescribedInTheRowsOfItsProjects) {
  const auto host = Of<pb::DescribeHostResponse>(R"pb(
    host: "dc1-h07"
    nodes { name: "dc1-h07" }
    total { vcpus: 16 memory_mib: 32768 disk_gib: 500 }
    used_now { vcpus: 8 memory_mib: 8704 disk_gib: 92 }
    used_max { vcpus: 8 memory_mib: 8192 disk_gib: 90 }
    projects {
      project_id: "team-a"
      amounts { vcpus: 4 memory_mib: 4096 disk_gib: 50 }
    }
    projects {
      project_id: "team-b"
      amounts { vcpus: 4 memory_mib: 4096 disk_gib: 40 }
    }
  )pb");
  ExpectGolden("host.txt", HostPage(host, Screen{.width = 80}));  // C-20, T-303: the order of rows
}

TEST(FleetScreens, StatisticsSayWhichDiskIsCountedTwice) {
  const auto statistics = Of<pb::GetNodeStatisticsResponse>(R"pb(
    count: 2
    total { vcpus: 18 pcpus: 6 memory_mib: 1026 disk_gib: 102 }
    used { vcpus: 21 pcpus: 2 memory_mib: 513 disk_gib: 11 }
    free { vcpus: -1 pcpus: 4 memory_mib: 513 disk_gib: 91 }
    disk_available_least_gib: -5
    running_vms: 3
    current_workload: 1
    shared_storage_hosts: "a"
    shared_storage_hosts: "b"
  )pb");
  ExpectGolden("statistics.txt", StatisticsPage(statistics, Screen{.width = 80}));  // T-312, T-353
}

pb::AuditAllocationsResponse Findings() {
  return Of<pb::AuditAllocationsResponse>(R"pb(
    findings {
      consumer_uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
      fault: ALLOCATION_FAULT_WRONG_AMOUNT
      message: "instance 5e08ea53-c4c6-448e-9334-ac4953de3cfa of host dc1-h07 holds 3 CPUs, but its flavor has 2"
      held {
        resources { key: "VCPU" value: 3 }
        resources { key: "MEMORY_MB" value: 512 }
      }
      wanted {
        resources { key: "VCPU" value: 2 }
        resources { key: "MEMORY_MB" value: 512 }
      }
      repairable: true
    }
    findings {
      consumer_uuid: "6e08ea53-c4c6-448e-9334-ac4953de3cfa"
      fault: ALLOCATION_FAULT_MISSING
      message: "instance 6e08ea53-c4c6-448e-9334-ac4953de3cfa of host dc1-h07 holds nothing on the node that it is on"
    }
  )pb");
}

TEST(FleetScreens, FindingsSayWhatIsHeldAndWhatShouldBe) {
  const auto findings = Findings();
  for (const int width : {80, 200}) {
    ExpectGolden(absl::StrCat("findings_", width, ".txt"),
                 FindingTable(findings.findings(), {}).Render(Screen{.width = width}));
  }
  const std::string repaired =
      FindingTable(findings.findings(), {"done", "not possible"}).Render(Screen{});
  EXPECT_NE(repaired.find("REPAIR"), std::string::npos);        // T-345
  EXPECT_NE(repaired.find("not possible"), std::string::npos);  // T-345
}

TEST(FleetScreens, AMoveThatDoesNotGoOnShowsWhatItHolds) {
  const auto stale = Of<pb::ListStaleMigrationsResponse>(R"pb(
    migrations {
      migration {
        uuid: "7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d"
        instance_uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
        type: MIGRATION_TYPE_RESIZE
        status: "error"
        source_host: "dc1-h07"
        destination_host: "dc1-h08"
        updated_at { seconds: 1700000000 }
      }
      held_by_instance { resources { key: "VCPU" value: 4 } }
      held_by_migration { resources { key: "VCPU" value: 2 } }
    }
  )pb");
  for (const int width : {120, 200}) {
    ExpectGolden(absl::StrCat("stale_migrations_", width, ".txt"),
                 StaleMigrationTable(stale.migrations()).Render(Screen{.width = width}));  // T-132
  }
}

TEST(FleetScreens, TheAuditHasExitCodesOfItsOwn) {
  const auto code = [](const absl::Status& status) { return AuditExitCode(FailureOf(status)); };
  const auto found = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(code(Refused(found, kAuditFound, "found")), 3);           // T-345
  EXPECT_EQ(code(Refused(found, kAuditRepaired, "repaired")), 4);     // T-345
  EXPECT_EQ(code(absl::InvalidArgumentError("no such fault")), 127);  // T-345
  EXPECT_EQ(code(absl::UnavailableError("away")), 1);                 // T-345
  EXPECT_EQ(code(Refused(found, kInterrupted, "interrupted")), 130);
}

}  // namespace
}  // namespace berth::cli
