#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "services/cli/commands/query_options.h"
#include "services/cli/text/candidate_view.h"
#include "services/cli/text/explain_view.h"
#include "services/cli/text/node_view.h"
#include "services/cli/text/usage_view.h"
#include "services/cli/text/watch_view.h"
#include "tests/services/cli/cli_golden.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

// `render` at the widths that the golden files are of.
template <typename Render>
void ExpectScreens(const std::string& name, Render render) {
  for (const int width : {80, 120}) {
    ExpectGolden(absl::StrCat(name, "_", width, ".txt"),
                 render(Screen{.width = width, .bars = true}));
  }
}

pb::Node Node() {
  return Parse<pb::Node>(R"pb(
    uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
    name: "dc1-h07"
    host: "dc1-h07"
    state: SERVICE_STATE_UP
    disabled: true
    disabled_reason: "new memory on Friday"
    audit {
      result: AUDIT_RESULT_COMPLETE
      changed: true
      ended_at { seconds: 1800000000 }
    }
    facts {
      hypervisor_type: "QEMU"
      hypervisor_version: 7002015
      libvirt_version: 9000000
      host_ip: "10.0.0.7"
      vcpus: 28
      pcpus: 4
      memory_mib: 262144
      disk_gib: 2048
      cpu_allocation_ratio: 4
      memory_allocation_ratio: 1.5
      disk_allocation_ratio: 1
      numa_cells { id: 0 memory_mib: 131072 shared_cpus: 0 shared_cpus: 1 }
      numa_cells { id: 1 memory_mib: 131072 shared_cpus: 2 shared_cpus: 3 }
    }
    account {
      used { vcpus: 13 pcpus: 3 memory_mib: 20480 disk_gib: 100 }
      reserve { memory_mib: 4096 }
      instances { vcpus: 11 pcpus: 3 memory_mib: 16384 disk_gib: 80 }
      orphans { vcpus: 2 memory_mib: 4096 disk_gib: 20 }
    }
    orphans {
      uuid: "6c8f9df2-7a39-4d3a-9ac5-0e55c9c1a1aa"
      name: "left-over"
      vcpus: 2
      memory_mib: 4096
      disk_gib: 20
      state: GUEST_STATE_RUNNING
      withheld: true
    }
    findings {
      kind: FINDING_KIND_LEAK_CANDIDATE
      subject: "9a1b2c3d-0000-4000-8000-000000000001"
      message: "nobody has known the instance of these allocations for an hour"
      first_seen_at { seconds: 1799990000 }
    }
    instance_uuids: "x")pb");
}

TEST(Screens, Node) {
  ExpectScreens("node", [](const Screen& screen) { return NodePage(Node(), screen); });
  ExpectScreens("nodes", [](const Screen& screen) {
    google::protobuf::RepeatedPtrField<pb::Node> nodes;
    *nodes.Add() = Node();
    return NodeTable(nodes).Render(screen);
  });
}

TEST(Screens, ShowsOnlyTheDriftsOfANode) {
  google::protobuf::RepeatedPtrField<pb::Node> nodes;
  pb::Node& node = *nodes.Add() = Node();
  pb::Finding* const drift = node.add_findings();
  drift->set_kind(pb::FINDING_KIND_DRIFT);
  drift->set_subject("VCPU");
  drift->set_message("VCPU: instances count 4, but their allocations 2; instance x");
  KeepDrifts(&node);
  EXPECT_EQ(node.findings_size(), 1);
  const std::string table = DriftTable(nodes).Render(Screen{.width = 200});
  EXPECT_TRUE(std::regex_search(table, std::regex("VCPU +.*instances count 4"))) << table;
}

// Dedicated CPUs are no part of Amounts.vcpus: a node's CPUs and those in use are both sums of the two.
TEST(Screens, CpusInUseCountTheDedicatedOnes) {
  google::protobuf::RepeatedPtrField<pb::Node> nodes;
  *nodes.Add() = Node();
  const std::string table = NodeTable(nodes).Render(Screen{.width = 120});
  EXPECT_TRUE(std::regex_search(table, std::regex(R"(\b32 +13\b)"))) << table;
}

TEST(Screens, Services) {
  ExpectScreens("services", [](const Screen& screen) {
    google::protobuf::RepeatedPtrField<pb::Service> services;
    *services.Add() = Parse<pb::Service>(R"pb(
      uuid: "1f0e4a55-0f0e-4a55-8b0e-3c1f6f1b2a90"
      host: "dc1-h07"
      binary: "berth-tracker"
      state: SERVICE_STATE_DOWN
      forced_down: true
      version: "0.1.0"
      stale_audit: true)pb");
    return ServiceTable(services).Render(screen);
  });
}

pb::FindCandidatesResponse Found() {
  return Parse<pb::FindCandidatesResponse>(R"pb(
    candidates {
      allocations {
        provider_uuid: "h"
        resources { key: "MEMORY_MB" value: 8192 }
        resources { key: "VCPU" value: 4 }
      }
      allocations {
        provider_uuid: "p"
        resources { key: "PGPU" value: 1 }
      }
      root_uuid: "h"
    }
    candidates {
      allocations {
        provider_uuid: "unknown"
        resources { key: "VCPU" value: 4 }
      }
      root_uuid: "unknown"
    }
    summaries {
      provider_uuid: "h"
      name: "dc1-h07"
      resources {
        key: "VCPU"
        value { capacity: 32 used: 22 }
      }
      resources {
        key: "MEMORY_MB"
        value { capacity: 262144 used: 131072 }
      }
    }
    summaries {
      provider_uuid: "p"
      name: "dc1-h07_pci_0000:3b:00"
      resources {
        key: "PGPU"
        value { capacity: 1 used: 0 }
      }
    })pb");
}

TEST(Screens, Candidates) {
  ExpectScreens("candidates",
                [](const Screen& screen) { return CandidateTable(Found()).Render(screen); });
}

TEST(Screens, Explanation) {
  const auto said = Parse<pb::Explanation>(R"pb(
    root_count: 412
    steps {
      constraint { kind: CONSTRAINT_KIND_ROOT_TRAITS names: "!COMPUTE_STATUS_DISABLED" }
      roots_before: 412
      roots_after: 400
    }
    steps {
      constraint { kind: CONSTRAINT_KIND_STALENESS }
      roots_before: 400
      roots_after: 396
    }
    steps {
      constraint { kind: CONSTRAINT_KIND_INVENTORY names: "MEMORY_MB" amount: 65536 }
      roots_before: 396
      roots_after: 390
    }
    steps {
      constraint { kind: CONSTRAINT_KIND_REQUIRED_TRAITS names: "CUSTOM_A100" names: "CUSTOM_H100" }
      roots_before: 390
      roots_after: 24
    }
    steps {
      constraint { kind: CONSTRAINT_KIND_FREE names: "MEMORY_MB" amount: 65536 }
      roots_before: 24
    }
    steps {
      constraint { kind: CONSTRAINT_KIND_MEMBER_OF suffix: "_NET" names: "0b6d7c5e-0f0e-4a55" }
    }
    steps { constraint { kind: CONSTRAINT_KIND_SEPARATE_SUBTREES names: "_NET" names: "_GPU" } }
    near_misses {
      root_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
      name: "dc1-h07"
      shortfalls {
        constraint { kind: CONSTRAINT_KIND_FREE names: "MEMORY_MB" amount: 65536 }
        available: 61440
      }
    }
    near_misses {
      root_uuid: "1f0e4a55-0f0e-4a55-8b0e-3c1f6f1b2a90"
      name: "dc1-h11"
      shortfalls { constraint { kind: CONSTRAINT_KIND_REQUIRED_TRAITS names: "CUSTOM_A100" } }
      shortfalls {
        constraint { kind: CONSTRAINT_KIND_INVENTORY suffix: "_GPU" names: "PGPU" amount: 2 }
        available: 1
      }
    }
    relaxations {
      constraint { kind: CONSTRAINT_KIND_REQUIRED_TRAITS names: "CUSTOM_A100" names: "CUSTOM_H100" }
      root_count: 31
    }
    relaxations {
      constraint { kind: CONSTRAINT_KIND_FREE names: "MEMORY_MB" amount: 65536 }
      fitting_amount: 61440
      root_count: 1
    })pb");
  ExpectScreens("explanation",
                [&said](const Screen& screen) { return ExplanationPage(said, screen); });
}

TEST(Screens, Capacity) {
  const auto answer = Parse<pb::GetCapacityResponse>(R"pb(
    total_count: 1204
    root_count: 56
    truncated: true
    roots { root_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90" name: "dc1-h07" count: 31 }
    roots { root_uuid: "1f0e4a55-0f0e-4a55-8b0e-3c1f6f1b2a90" name: "dc1-h11" count: 1 })pb");
  ExpectScreens("capacity",
                [&answer](const Screen& screen) { return CapacityPage(answer, screen); });
}

TEST(Screens, Claim) {
  pb::Consumer consumer;
  consumer.set_uuid("5e08ea53-c4c6-448e-9334-ac4953de3cfa");
  consumer.set_generation(7);
  *consumer.mutable_allocations() = Found().candidates(0).allocations();
  const NamesByUuid names = NamesOf(Found().summaries());
  ExpectScreens("claim", [&](const Screen& screen) { return ClaimPage(consumer, names, screen); });
  google::protobuf::RepeatedPtrField<pb::Consumer> consumers;
  *consumers.Add() = consumer;
  ExpectScreens("consumers", [&](const Screen& screen) {
    return ConsumerTable(consumers, names).Render(screen);
  });
}

TEST(Screens, Usage) {
  ExpectScreens("usage", [](const Screen& screen) {
    const auto answer = Parse<pb::GetInventoriesResponse>(R"pb(
      inventories {
        key: "DISK_GB"
        value { capacity: 100 used: 0 }
      }
      inventories {
        key: "VCPU"
        value { capacity: 32 used: 40 }
      }
      inventories {
        key: "MEMORY_MB"
        value { capacity: 262144 used: 131072 }
      })pb");
    return UsageTable(answer.inventories(), screen).Render(screen);
  });
}

constexpr char kWatched[] = R"pb(
  revision { epoch: 1 number: 48231 }
  complete: true
  committed_at { seconds: 1763632672 nanos: 5 }
  changes {
    actor: "scheduler"
    present {
      consumer {
        uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
        project_id: "team-a"
        consumer_type: "INSTANCE"
        allocations {
          provider_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
          resources { key: "VCPU" value: 4 }
        }
      }
    }
  }
  changes {
    present {
      provider_usage {
        provider_uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
        used { key: "VCPU" value: 4 }
        used { key: "MEMORY_MB" value: 0 }
      }
    }
  }
  changes {
    present {
      provider {
        uuid: "0b6d7c5e-0f0e-4a55-8b0e-3c1f6f1b2a90"
        name: "dc1-h07"
        generation: 7
        inventories {
          key: "VCPU"
          value { total: 32 }
        }
      }
    }
  }
  changes {
    actor: "alice"
    reason: "its disk is back"
    present {
      instance {
        uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
        name: "web-1"
        project_id: "team-a"
        vm_state: "active"
        task_state: "migrating"
        host: "dc1-h07"
      }
    }
  }
  changes {
    present {
      migration {
        uuid: "7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d"
        instance_uuid: "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
        type: MIGRATION_TYPE_LIVE
        status: "running"
        source_host: "dc1-h07"
        destination_host: "dc1-h08"
      }
    }
  }
  changes { removed { kind: ENTITY_KIND_MIGRATION key: "7f3c2a52-5b0e-4d5e-9a51-0d6a3f1b2c4d" } }
  changes {
    reason: "a reason without an actor"
    removed { kind: ENTITY_KIND_INSTANCE key: "5e08ea53-c4c6-448e-9334-ac4953de3cfa" }
  }
  changes { removed { kind: ENTITY_KIND_TRAIT key: "CUSTOM_OLD" } }
  changes { removed { kind: ENTITY_KIND_PROVIDER_USAGE key: "0b6d" } })pb";

TEST(Screens, Watch) {
  const auto response = Parse<pb::WatchResponse>(kWatched);
  ExpectGolden("watch.txt", WatchHeader() + WatchLines(response));
}

TEST(Query, GroupsAreReadWhole) {
  const auto group = ParseGroup("_G:PGPU=1,VCPU=2:required=CUSTOM_A,B|C:forbidden=D:member-of=X");
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(group->suffix(), "_G");
  EXPECT_EQ(group->resources().at("VCPU"), 2);
  EXPECT_EQ(group->forbidden_traits(0), "D");
  EXPECT_EQ(group->member_of(0).any_of(0), "X");
  ASSERT_EQ(group->required_traits_size(), 2);
  EXPECT_EQ(group->required_traits(1).any_of_size(), 2);
  for (const char* wrong : {"", "_G", ":VCPU=1", "_G:VCPU", "_G:required="}) {
    EXPECT_FALSE(ParseGroup(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace berth::cli
