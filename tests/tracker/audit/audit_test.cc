// The audit as a whole: facts and records in, a report out.
#include "tracker/audit/audit.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/processes/short_uuid.h"
#include "tests/tracker/node/node_fixture.h"
#include "tracker/audit/audit_keys.h"
#include "tracker/audit/views.h"

namespace berth::tracker {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

const Uuid kNode = "6695eb01-f6a4-8304-79aa-97f2502e193f"_uuid;

// Passes over one node, each remembering the one before.
struct Node {
  Facts facts = OrdinaryFacts();
  Records records;
  bool known = true;
  NodeConfiguration configuration;
  std::optional<Audit> last;

  Audit Pass(int second) { return *TryPass(second); }

  absl::StatusOr<Audit> TryPass(int second) {
    absl::StatusOr<Audit> audit = RunAudit({.facts = std::make_shared<const Facts>(facts),
                                            .records = known ? &records : nullptr,
                                            .configuration = configuration,
                                            .node_uuid = kNode,
                                            .node_name = "node-1",
                                            .before = last ? &*last : nullptr,
                                            .now = MonotonicTime(seconds(second)),
                                            .wall_now = absl::FromUnixSeconds(second),
                                            .orphan_confirmation = seconds(5)});
    if (audit.ok()) last = *audit;
    return audit;
  }
};

// What placement holds once it has applied `report`.
std::vector<KnownProvider> Applied(const Report& report, std::set<std::string> others = {}) {
  std::vector<KnownProvider> tree;
  for (const WantedProvider& wanted : report.providers) {
    tree.push_back({wanted.uuid, wanted.name, wanted.parent_uuid, 1, wanted.inventories,
                    EffectiveTraits(others, wanted.traits)});
  }
  return tree;
}

TEST(AuditKeys, MustAllBeThere) {  // T-68
  const std::pair<const char*, void (*)(Facts*)> kKeys[] = {
      {"vcpus", [](Facts* facts) { facts->vcpus.reset(); }},
      {"memory_mb", [](Facts* facts) { facts->memory_mib.reset(); }},
      {"local_gb", [](Facts* facts) { facts->local_disk_gib.reset(); }},
      {"cpu_info", [](Facts* facts) { facts->cpu_info.reset(); }},
      {"vcpus_used", [](Facts* facts) { facts->vcpus_used.reset(); }},
      {"memory_mb_used", [](Facts* facts) { facts->memory_used_mib.reset(); }},
      {"local_gb_used", [](Facts* facts) { facts->local_disk_used_gib.reset(); }},
      {"numa_topology", [](Facts* facts) { facts->numa_topology.reset(); }},
  };
  for (const auto& [name, drop] : kKeys) {
    Facts facts = OrdinaryFacts();
    drop(&facts);
    EXPECT_EQ(VerifyFacts(facts).message(), std::string("Missing keys: [") + name + "]");
  }
  EXPECT_EQ(VerifyFacts(Facts()).message(),
            "Missing keys: [vcpus, memory_mb, local_gb, cpu_info, vcpus_used, memory_mb_used, "
            "local_gb_used, numa_topology]");
  Facts unknown = OrdinaryFacts();
  unknown.memory_used_mib = std::optional<int64_t>();
  EXPECT_TRUE(VerifyFacts(unknown).ok());  // presence, not the value
}

TEST(AuditKeys, MustBePlausible) {  // T-68
  const std::pair<const char*, void (*)(Facts*)> kChanges[] = {
      {"vcpus", [](Facts* facts) { facts->vcpus = -1; }},
      {"memory_mb", [](Facts* facts) { facts->memory_mib = 0; }},
      {"local_gb", [](Facts* facts) { facts->local_disk_gib = -1; }},
      {"vcpus and pcpus", [](Facts* facts) { facts->vcpus = 0; }},
  };
  for (const auto& [name, change] : kChanges) {
    Facts facts = OrdinaryFacts();
    change(&facts);
    EXPECT_THAT(std::string(VerifyFacts(facts).message()), HasSubstr("Implausible value"));
    EXPECT_THAT(std::string(VerifyFacts(facts).message()), HasSubstr(name));
  }
  Facts dedicated = OrdinaryFacts();
  dedicated.vcpus = 0;
  dedicated.pcpus = 4;
  EXPECT_TRUE(VerifyFacts(dedicated).ok());
}

TEST(AuditKeys, AreThoseOfTheTable) {  // T-67
  std::string names;
  const nlohmann::json keys = nlohmann::json::parse(FactsJson(OrdinaryFacts()));
  for (const auto& item : keys.items()) names += item.key() + ' ';
  EXPECT_EQ(names,
            "cpu_info disk_available_least hypervisor_hostname hypervisor_type hypervisor_version "
            "local_gb local_gb_used memory_mb memory_mb_used numa_topology "
            "pci_passthrough_devices stats supported_instances uuid vcpus vcpus_used ");
}

TEST(Audit, FailsAndRemembersNothingOnBadFacts) {
  Node node;
  node.facts.memory_mib.reset();
  EXPECT_EQ(node.TryPass(0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Audit, WantsTheRoot) {
  const Audit audit = Node().Pass(0);
  ASSERT_EQ(audit.report.providers.size(), 1u);
  const WantedProvider& root = audit.report.providers[0];
  EXPECT_EQ(root.uuid, kNode);
  EXPECT_EQ(root.name, "node-1");
  EXPECT_EQ(root.inventories.size(), 3u);       // T-210
  EXPECT_TRUE(root.traits.at("COMPUTE_NODE"));  // T-210
}

TEST(Audit, OfAnUnchangedWorldTellsTheSame) {  // T-393
  Node node;
  node.facts.guests = {RunningGuest("u1", 1, 512, 1)};
  node.Pass(0);
  const Audit first = node.Pass(10);
  node.records.tree = Applied(first.report);
  for (int pass = 2; pass < 12; ++pass) {
    node.facts.uptime = std::to_string(pass);  // T-54, T-94, T-367
    node.facts.memory_used_mib = 4096 + pass;
    node.facts.local_disk_used_gib = 12 + pass;
    const Audit again = node.Pass(pass * 10);
    EXPECT_EQ(again.digest.whole, first.digest.whole);
    EXPECT_FALSE(Differs(again.report.providers, node.records.tree));
  }
}

TEST(Audit, TellsChanges) {
  struct Case {
    const char* what;
    void (*change)(Node*);
  };
  const Case kCases[] = {
      {"memory", [](Node* node) { node->facts.memory_mib = 1000; }},
      {"device", [](Node* node) { node->facts.pci_devices.emplace_back(); }},
      {"guest", [](Node* node) { node->facts.guests = {RunningGuest("u", 1, 1, 1)}; }},
      {"allocation",
       [](Node* node) {
         node->records.allocations = {{kNode, "u"_uuid, Uuid(), {{"VCPU", 1}}}};
       }},
      {"option", [](Node* node) { node->configuration.reserved_host_memory_mib = 9; }},
      {"disabled", [](Node* node) { node->records.service_disabled = true; }},
      {"address", [](Node* node) { node->facts.host_address = "10.0.0.1"; }},
      {"least", [](Node* node) { node->facts.disk_available_least_gib = 1; }},
      {"library", [](Node* node) { node->facts.library_version = 9000001; }},
      {"cpu", [](Node* node) { node->facts.cpu_features = {{"avx"}}; }},
  };
  for (const Case& test : kCases) {
    Node node;
    const std::string before = node.Pass(0).digest.whole;
    test.change(&node);
    EXPECT_NE(node.Pass(1).digest.whole, before) << test.what;
  }
}

TEST(Audit, SeesWhatOthersChangedInPlacement) {
  Node node;
  const std::vector<WantedProvider> wanted = node.Pass(0).report.providers;
  const auto applied = [&] { return Applied(node.Pass(0).report, {"CUSTOM_A"}); };
  std::vector<KnownProvider> tree = applied();
  EXPECT_FALSE(Differs(wanted, tree));  // T-211: an operator's trait is none of ours
  tree[0].traits.erase("COMPUTE_NODE");
  EXPECT_TRUE(Differs(wanted, tree));
  tree = applied();
  tree[0].inventories["CUSTOM_X"] = Inventory();
  EXPECT_TRUE(Differs(wanted, tree));  // T-201
  tree = applied();
  tree[0].inventories["VCPU"].reserved = 1;
  EXPECT_TRUE(Differs(wanted, tree));
  EXPECT_TRUE(Differs(wanted, {}));
}

TEST(Audit, WithholdsAConfirmedOrphan) {
  Node node;
  node.facts.guests = {RunningGuest("u1", 5, 2048, 10)};
  const Audit first = node.Pass(0);
  EXPECT_EQ(first.report.accounting.orphans, (Amounts{5, 2048, 10240}));
  EXPECT_EQ(first.report.providers[0].inventories.at("VCPU").reserved, 0);
  EXPECT_EQ(first.confirm_at, MonotonicTime(seconds(5)));
  EXPECT_EQ(first.findings.size(), 1u);
  const Audit second = node.Pass(5);
  EXPECT_EQ(second.report.providers[0].inventories.at("VCPU").reserved, 2);
  EXPECT_EQ(second.report.providers[0].inventories.at("MEMORY_MB").reserved, 512 + 2048);
  ASSERT_EQ(second.warnings.size(), 1u);
  EXPECT_EQ(second.warnings[0],
            "Detected running orphan instance: " + "u1"_uuid.ToString() +
                " (consuming 2048 MB memory)");  // T-138
  node.records.allocations = {{kNode, "u1"_uuid, Uuid(), {{"VCPU", 5}}}};
  const Audit claimed = node.Pass(6);
  EXPECT_TRUE(claimed.report.orphans.empty());
  EXPECT_EQ(claimed.report.providers[0].inventories.at("VCPU").reserved, 0);
}

TEST(Audit, HasChildrenAndForgetsThem) {  // T-207, T-208
  Node node;
  node.facts.emulators.sev_guests_max = 15;
  node.configuration.sev_guests_max = 20;
  const Audit audit = node.Pass(0);
  ASSERT_EQ(audit.report.providers.size(), 2u);
  EXPECT_EQ(audit.report.providers[1].name, "node-1_amd_sev");
  EXPECT_EQ(audit.report.providers[1].parent_uuid, kNode);
  EXPECT_EQ(audit.findings.size(), 1u);  // T-208: the setting is above the hypervisor's limit
  node.configuration.sev_guests_max = 0;
  EXPECT_EQ(node.Pass(1).report.providers.size(), 1u);  // T-208
}

TEST(Audit, AddsWhatFilesSay) {  // T-219
  Node node;
  node.configuration.provider_entries = {
      {"f.yaml:3", Uuid(), "", {{"CUSTOM_X", {7}}}, {"CUSTOM_T"}}};
  node.facts.guests = {RunningGuest("u1", 5, 2048, 10)};
  node.Pass(0);
  const Audit audit = node.Pass(5);
  const WantedProvider& root = audit.report.providers[0];
  EXPECT_EQ(root.inventories.at("CUSTOM_X").total, 7);
  EXPECT_TRUE(root.traits.at("CUSTOM_T"));
  // Another process of the tracker still finds that the orphan of the last report is withheld.
  Node restarted = node;
  restarted.last.reset();
  restarted.records.tree = Applied(audit.report);
  EXPECT_TRUE(restarted.Pass(6).report.orphans[0].withheld);
}

// After a restart, of what placement's access file has cut or an operator has added.
TEST(Audit, FindsWithheldOrphansOnALimitedRoot) {
  Node node;
  node.facts.guests = {RunningGuest("u1", 5, 2048, 10)};
  node.Pass(0);
  const Audit audit = node.Pass(5);
  const auto is_found = [&](const std::function<void(Inventories*)>& change) {
    Node restarted = node;
    restarted.last.reset();
    restarted.records.tree = Applied(audit.report);
    change(&restarted.records.tree[0].inventories);
    return restarted.Pass(6).report.orphans[0].withheld;
  };
  EXPECT_TRUE(is_found([](Inventories* placed) { (*placed)["CUSTOM_GOLD"].total = 3; }));
  EXPECT_TRUE(is_found([](Inventories* placed) { placed->at("VCPU").total -= 1; }));
  EXPECT_TRUE(is_found([](Inventories* placed) {
    placed->at("MEMORY_MB").total = placed->at("MEMORY_MB").reserved = 600;
  }));
  EXPECT_TRUE(is_found([](Inventories* placed) { placed->erase("DISK_GB"); }));
  EXPECT_FALSE(is_found([](Inventories* placed) { placed->at("MEMORY_MB").reserved = 512; }));
  EXPECT_FALSE(is_found([](Inventories* placed) { placed->clear(); }));
}

TEST(Audit, NamesEntriesThatContradictEachOther) {  // T-219
  Node node;
  node.configuration.provider_entries = {{"f.yaml:3", kNode, "", {}, {"CUSTOM_T"}},
                                         {"g.yaml:3", Uuid(), "node-1", {}, {"CUSTOM_T"}},
                                         {"h.yaml:3", Uuid(), "node-2", {}, {"CUSTOM_T"}}};
  const Audit audit = node.Pass(0);
  ASSERT_EQ(audit.findings.size(), 1u);
  EXPECT_EQ(audit.findings[0].kind, Finding::Kind::kSetting);
  EXPECT_THAT(audit.findings[0].text, HasSubstr("f.yaml:3 and g.yaml:3 both name"));
  EXPECT_EQ(audit.warnings.size(), 1u);
  EXPECT_EQ(audit.absent_providers.size(), 1u);
  const Audit again = node.Pass(60);
  EXPECT_EQ(again.findings.size(), 1u);
  EXPECT_TRUE(again.warnings.empty());  // it was logged already
}

TEST(Audit, WarnsOfADiskThatFillsUnaccounted) {  // T-356
  Node node;
  node.configuration.reserved_host_disk_mib = 100 * 1024;
  node.facts.local_disk_used_gib = 110;
  EXPECT_TRUE(node.Pass(0).findings.empty());
  node.facts.local_disk_used_gib = 111;
  const Audit audit = node.Pass(60);
  ASSERT_EQ(audit.findings.size(), 1u);  // T-356
  EXPECT_THAT(audit.findings[0].text, HasSubstr("exceeds the reserved and allocated disk"));
  EXPECT_EQ(audit.warnings.size(), 1u);
  node.facts.local_disk_used_gib = 150;
  EXPECT_TRUE(node.Pass(120).warnings.empty());  // it was logged already
  node.facts.image_cache_bytes = (int64_t{40} << 30) + 1;
  const Audit reserved = node.Pass(180);
  EXPECT_TRUE(reserved.findings.empty());
  EXPECT_EQ(reserved.report.providers[0].inventories.at("DISK_GB").reserved, 141);  // T-88, T-200
}

TEST(Audit, LooksOnlyAtADiskOfItsOwn) {  // T-356
  const std::function<void(Node*)> kElsewhere[] = {
      [](Node* node) { node->configuration.disk_backend = DiskBackend::kRbd; },
      [](Node* node) { node->configuration.shared_disk_provider = true; },
      [](Node* node) { node->facts.storage_id = "nfs:server:/export"; },
      [](Node* node) { node->facts.memory_used_mib = std::optional<int64_t>(); },
  };
  for (const auto& put : kElsewhere) {
    Node node;
    node.facts.local_disk_used_gib = 12;
    EXPECT_EQ(node.Pass(0).findings.size(), 1u);
    put(&node);
    EXPECT_TRUE(node.Pass(1).findings.empty());
  }
}

TEST(Audit, JudgesNobodyWithoutRecords) {
  Node node;
  node.known = false;
  node.facts.guests = {RunningGuest("u1", 1, 512, 1)};
  node.Pass(0);
  const Audit away = node.Pass(60);
  EXPECT_TRUE(away.report.orphans.empty());
  EXPECT_EQ(away.findings[0].kind, Finding::Kind::kUnverified);
  node.known = true;
  node.Pass(70);
  EXPECT_TRUE(node.Pass(80).report.orphans[0].withheld);
  node.known = false;  // placement goes away: what was withheld stays so
  EXPECT_TRUE(node.Pass(90).report.orphans[0].withheld);
}

TEST(Audit, FindingsKeepTheirFirstMoment) {
  Node node;
  node.known = false;
  node.facts.warnings = {"domain a: vanished"};
  const auto first_seen = [](const Audit& audit) {
    std::map<std::string, int64_t> seen;
    for (const Finding& one : audit.findings) {
      seen[one.text.substr(0, 8)] = absl::ToUnixSeconds(one.first_seen_at);
    }
    return seen;
  };
  using Seen = std::map<std::string, int64_t>;
  EXPECT_EQ(first_seen(node.Pass(10)), (Seen{{"domain a", 10}, {"placemen", 10}}));
  node.facts.warnings.push_back("domain b: vanished");
  EXPECT_EQ(first_seen(node.Pass(20)),
            (Seen{{"domain a", 10}, {"domain b", 20}, {"placemen", 10}}));
  node.known = true;
  node.facts.warnings = {"domain b: vanished"};
  EXPECT_EQ(first_seen(node.Pass(30)), (Seen{{"domain b", 20}}));
  node.facts.warnings = {"domain a: vanished"};
  EXPECT_EQ(first_seen(node.Pass(40)), (Seen{{"domain a", 40}}));  // it had gone
  node.facts.warnings.clear();
  node.facts.guests = {RunningGuest("u1", 1, 512, 1)};
  node.Pass(50);
  EXPECT_EQ(absl::ToUnixSeconds(node.Pass(60).findings[0].first_seen_at), 50);  // an orphan's
}

TEST(Views, ShowTheHypervisor) {  // T-100
  Facts facts = OrdinaryFacts();
  facts.vcpus_used = 6;
  facts.local_disk_used_gib = 12;
  EXPECT_EQ(HypervisorView("n", facts),
            "Hypervisor/Node resource view: name=n free_ram=388848MB free_disk=2625GB "
            "free_vcpus=42 pci_devices=None");
  facts.vcpus = 0;
  EXPECT_THAT(HypervisorView("n", facts), HasSubstr("free_vcpus=unknown"));
}

TEST(Views, ShowRatiosWithTheirSources) {  // T-354
  Node node;
  node.configuration.disk_allocation_ratio = 2.0;
  node.facts.pcpus = 4;
  const Audit first = node.Pass(0);
  EXPECT_EQ(TextsOf(first).ratios,
            R"({"DISK_GB":{"ratio":2.0,"source":"setting"},)"
            R"("MEMORY_MB":{"ratio":1.0,"source":"initial"},)"
            R"("PCPU":{"ratio":1.0,"source":"fixed"},"VCPU":{"ratio":4.0,"source":"initial"}})");
  node.records.tree = Applied(first.report);
  EXPECT_THAT(TextsOf(node.Pass(1)).ratios,
              HasSubstr(R"("VCPU":{"ratio":4.0,"source":"placement"})"));
}

TEST(Views, LeaveOutCpusWhenThereAreNone) {  // T-101
  Facts facts = OrdinaryFacts();
  facts.vcpus = 0;
  Records records;
  records.allocations = {{kNode, "u"_uuid, Uuid(), {{"PCPU", 2}}}};
  const std::vector<std::string> lines =
      FinalView("n", Account(facts, NodeConfiguration(), &records, {}), facts);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("total_vcpus=0 used_vcpus=0"));
}

}  // namespace
}  // namespace berth::tracker
