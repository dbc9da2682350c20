#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "services/cli/text/device_view.h"
#include "services/cli/text/record_view.h"
#include "tests/services/cli/cli_golden.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kMoving[] = R"pb(
  uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
  generation: 7
  name: "web-1"
  project_id: "team-a"
  user_id: "alice"
  host: "dc1-h07"
  node_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
  launched_on: "dc1-h03"
  vm_state: "active"
  task_state: "resizing"
  power_state: GUEST_STATE_RUNNING
  flavor {
    id: "small"
    vcpus: 4
    memory_mib: 8192
    root_disk_gib: 20
    ephemeral_disk_gib: 10
    swap_mib: 512
    extra_specs { key: "hw:numa_nodes" value: "2" }
    extra_specs { key: "hw:cpu_policy" value: "dedicated" }
  }
  numa_cells {
    host_cell: 1
    pinned_cpus: 0
    pinned_cpus: 1
    memory_mib: 4096
    page_size_kib: 2048
    pinning { key: 1 value: 15 }
    pinning { key: 0 value: 14 }
    reserved_cpus: 16
    cpu_policy: "dedicated"
    cpu_thread_policy: "isolate"
  }
  numa_cells { shared_cpus: 2 shared_cpus: 3 shared_cpus: 5 memory_mib: 4096 }
  pci_requests {
    request_id: "r1"
    count: 2
    alias: "nic"
    alternatives {
      properties { key: "product_id" value: "1572" }
      properties { key: "vendor_id" value: "8086" }
    }
    alternatives { properties { key: "vendor_id" value: "15b3" } }
    numa_policy: "required"
  }
  pci_devices {
    address: "0000:3b:00.1"
    vendor_id: "8086"
    product_id: "1572"
    type: PCI_DEVICE_TYPE_VIRTUAL_FUNCTION
    numa_cell: 1
    request_id: "r1"
  }
  named_units { provider_uuid: "0b6d" resource_class: "CUSTOM_PMEM" name: "ns_0" }
  image {
    id: "debian-12"
    properties { key: "os_type" value: "linux" }
    properties { key: "os_distro" value: "debian" }
  }
  emulator_threads_policy: "isolate"
  group_uuid: "9f1b"
  hidden: true
  fault {
    code: 500
    message: "no disk"
    host: "dc1-h03"
    occurred_at { seconds: 1799990000 }
  }
  retry { attempts: 2 hosts: "dc1-h03" }
  migration_context {
    migration_uuid: "7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d"
    old_flavor { id: "small" vcpus: 4 memory_mib: 8192 }
    new_flavor {
      id: "large"
      vcpus: 8
      memory_mib: 16384
      extra_specs { key: "hw:numa_nodes" value: "1" }
    }
    old_numa_cells { host_cell: 1 pinned_cpus: 0 memory_mib: 8192 }
    new_numa_cells { host_cell: 0 pinned_cpus: 0 memory_mib: 16384 }
    old_pci_devices { address: "0000:3b:00.1" type: PCI_DEVICE_TYPE_PLAIN }
    new_pci_devices { address: "0000:5e:00.0" type: PCI_DEVICE_TYPE_PLAIN }
    new_emulator_threads_policy: "share"
    new_named_units { provider_uuid: "0b6d" resource_class: "CUSTOM_PMEM" name: "ns_1" }
  }
  created_at { seconds: 1799990000 }
  updated_at { seconds: 1800000000 }
  deleted_at { seconds: 1800000001 })pb";

constexpr char kLive[] = R"pb(
  uuid: "7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d"
  instance_uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
  type: MIGRATION_TYPE_LIVE
  status: "running"
  source_host: "dc1-h07"
  source_node_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
  old_flavor_id: "small"
  new_flavor_id: "large"
  generation: 3
  created_at { seconds: 1799990000 }
  updated_at { seconds: 1800000000 })pb";

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

template <typename Message>
google::protobuf::RepeatedPtrField<Message> ListOf(const Message& message) {
  google::protobuf::RepeatedPtrField<Message> list;
  *list.Add() = message;
  return list;
}

template <typename Draw>
void ExpectAtBothWidths(const std::string& name, Draw draw) {
  for (const int width : {80, 120}) {
    ExpectGolden(absl::StrCat(name, "_", width, ".txt"), draw(Screen{.width = width}));
  }
}

TEST(RecordScreens, Instance) {
  const auto moving = FromText<pb::Instance>(kMoving);
  ExpectAtBothWidths("instance",
                     [&](const Screen& screen) { return InstancePage(moving, screen); });
  ExpectAtBothWidths("instances", [&](const Screen& screen) {
    return InstanceTable(ListOf(moving)).Render(screen);
  });
}

// Most instances have no cells, no devices and no migration: their page has no empty tables and no
// column WHEN.
TEST(RecordScreens, AnInstanceOnlyShowsWhatItHas) {
  const auto plain = FromText<pb::Instance>(R"pb(
    uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
    project_id: "team-a"
    user_id: "alice"
    vm_state: "building"
    flavor { vcpus: 1 memory_mib: 512 })pb");
  ExpectGolden("instance_plain.txt", InstancePage(plain, Screen{.width = 80}));
}

TEST(RecordScreens, OneAttemptIsNoPlural) {
  const auto retried = FromText<pb::Instance>(R"pb(retry { attempts: 1 hosts: "dc1-h03" })pb");
  const std::string page = InstancePage(retried, Screen{.width = 80});
  EXPECT_TRUE(absl::StrContains(page, "build       1 attempt, failed on dc1-h03\n")) << page;
}

TEST(RecordScreens, Migration) {
  auto live = FromText<pb::Migration>(kLive);
  ExpectGolden("migration.txt", MigrationPage(live));
  ExpectAtBothWidths("migrations", [&](const Screen& screen) {
    return MigrationTable(ListOf(live)).Render(screen);
  });
  live.set_destination_host("dc1-h08");
  live.set_new_flavor_id("small");
  const std::string page = MigrationPage(live);
  EXPECT_TRUE(absl::StrContains(page, "to          dc1-h08\n")) << page;
  EXPECT_TRUE(absl::StrContains(page, "flavor      small\n")) << page;
}

TEST(RecordScreens, DevicesAndCellsOfANode) {
  const auto node = FromText<pb::Node>(R"pb(
    facts {
      numa_cells {
        id: 0
        memory_mib: 131072
        shared_cpus: [ 0, 1, 2, 3, 8 ]
        dedicated_cpus: [ 4, 5 ]
        socket: 0
        pages { size_kib: 4 total: 1000 }
        pages { size_kib: 2048 total: 512 }
      }
      numa_cells { id: 1 memory_mib: 131072 }
      pci_devices {
        address: "0000:3b:00.0"
        vendor_id: "8086"
        product_id: "1572"
        type: PCI_DEVICE_TYPE_PHYSICAL_FUNCTION
        numa_cell: 1
      }
      pci_devices {
        address: "0000:3b:00.1"
        vendor_id: "8086"
        product_id: "154c"
        type: PCI_DEVICE_TYPE_VIRTUAL_FUNCTION
        parent_address: "0000:3b:00.0"
        assignable: true
      }
      pci_devices {
        address: "0000:3b:00.2"
        vendor_id: "8086"
        product_id: "154c"
        type: PCI_DEVICE_TYPE_VIRTUAL_FUNCTION
        parent_address: "0000:3b:00.0"
        assignable: true
      }
    }
    account {
      pci_devices {
        address: "0000:3b:00.1"
        status: PCI_DEVICE_STATUS_CLAIMED
        instance_uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
      }
      pci_devices {
        address: "0000:3c:00.0"
        status: PCI_DEVICE_STATUS_REMOVED
        instance_uuid: "6e08ea53-c4c6-448e-9334-ac4953de3cfa"
      }
      numa_usage {
        id: 0
        cpu_usage: 3
        memory_usage_mib: 4096
        pinned_cpus: [ 4, 5 ]
      }
    })pb");
  ExpectAtBothWidths("node_devices",
                     [&](const Screen& screen) { return DeviceTable(node).Render(screen); });
  ExpectAtBothWidths("node_cells",
                     [&](const Screen& screen) { return NodeCellTable(node).Render(screen); });
}

TEST(RecordScreens, IdsAreWrittenAsRanges) {
  const std::pair<std::vector<int>, const char*> cases[] = {
      {{}, ""},
      {{3}, "3"},
      {{0, 1}, "0-1"},
      {{0, 1, 2, 5, 7, 8}, "0-2,5,7-8"},
      {{2147483646, 2147483647, -2147483648}, "2147483646-2147483647,-2147483648"}};
  for (const auto& [ids, ranges] : cases) {
    EXPECT_EQ(IdRanges({ids.begin(), ids.end()}), ranges);
  }
}

TEST(RecordScreens, AnAggregateIsShownWithItsMetadata) {
  pb::ListAggregatesResponse answer;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        aggregates {
          uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
          generation: 3
          name: "rack-7"
          metadata { key: "zone" value: "a=b" }
          metadata { key: "cpu_weight_multiplier" value: "2.0" }
          metadata { key: "lines" value: "one\ntwo" }
          created_at { seconds: 1763632672 }
          updated_at { seconds: 1763632672 }
        }
        aggregates { uuid: "6e08ea53-c4c6-448e-9334-ac4953de3cfa" name: "rack-8" })pb",
      &answer));
  ExpectAtBothWidths("aggregates", [&](const Screen& screen) {
    return absl::StrCat(AggregateTable(answer.aggregates()).Render(screen), "\n",
                        AggregatePage(answer.aggregates(0)), "\n",
                        AggregatePage(answer.aggregates(1)));
  });
}

}  // namespace
}  // namespace berth::cli
