#include "tests/fuzz/peer_mutator.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/peer_names.h"

namespace berth::fuzz {
namespace {

namespace pb = ::berth::placement::v1;

const Words& PeerWords() {
  static const auto* const kWords = [] {
    auto* words = new Words;
    words->ids = {kHonestNode, kHostileNode, kHostileChild, kPlain,    kPinned,
                  kHostile,    kAnchor,      kMoving,       kMigration};
    const std::vector<std::string> known = words->ids;
    for (const std::string& id : known) {
      for (const std::string& form : FormsOf(id)) words->ids.push_back(form);
    }
    words->claims = {absl::StrCat(kPlain, "/", kPresent), absl::StrCat(kPinned, "/", kPresent),
                     kMigration};
    words->hosts = {"", kHonestHost, kHostileHost, "elsewhere", "HONEST"};
    words->classes = {"VCPU", "PCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B", "CUSTOM_", "VGPU"};
    words->traits = {"COMPUTE_NODE", "CUSTOM_A", "HW_NUMA_ROOT", "no trait"};
    words->any = OddTexts();
    for (const char* word : {"building",
                             "active",
                             "deleted",
                             "shelved_offloaded",
                             "spawning",
                             "resize_prep",
                             "resize_reverting",
                             "accepted",
                             "finished",
                             "failed",
                             "confirming",
                             "dedicated",
                             "0000:81:00.0",
                             "nic:1",
                             "hw:cpu_policy",
                             "pci_passthrough:alias",
                             "hw:numa_nodes",
                             "2147483647",
                             "-1",
                             "0"}) {
      words->any.emplace_back(word);
    }
    return words;
  }();
  return *kWords;
}

pb::Instance Record(const char* uuid, bool pinned) {
  pb::Instance instance;
  instance.set_uuid(uuid);
  instance.set_generation(kPresent);
  instance.set_project_id("p");
  instance.set_user_id("u");
  instance.set_vm_state("building");
  instance.set_task_state("spawning");
  instance.mutable_flavor()->set_vcpus(1);
  instance.mutable_flavor()->set_memory_mib(64);
  if (!pinned) return instance;
  pb::GuestCell* const cell = instance.add_numa_cells();
  cell->add_pinned_cpus(0);
  cell->set_memory_mib(64);
  cell->set_cpu_policy("dedicated");
  return instance;
}

void AddHello(PeerScript* script) {
  pb::Hello& hello = *script->add_steps()->mutable_session()->mutable_hello();
  hello.set_host(kHostileHost);
  hello.set_binary("berth-tracker");
  hello.set_incarnation("33333333-3333-4333-8333-333333333333");
  hello.set_machine_id("machine");
  pb::NodeDigest* const node = hello.add_nodes();
  node->set_node_uuid(kHostileNode);
  node->set_node_name("hostile-node");
}

void AddReport(PeerScript* script) {
  pb::Report& report = *script->add_steps()->mutable_session()->mutable_report();
  report.set_node_uuid(kHostileNode);
  report.set_node_name("hostile-node");
  report.set_sequence(kPresent);
  report.set_kind(pb::REPORT_KIND_SNAPSHOT);
  report.set_digest("digest");
  report.mutable_facts()->set_vcpus(8);
  report.mutable_facts()->add_numa_cells()->add_dedicated_cpus(2);
  report.mutable_account()->mutable_used()->set_memory_mib(64);
  report.mutable_audit();
  pb::WantedProvider* const root = report.add_providers();
  root->set_uuid(kHostileNode);
  root->set_name("hostile-node");
  root->set_base_generation(kPresent);
  (*root->mutable_inventories())["VCPU"].set_total(8);
  (*root->mutable_inventories())["MEMORY_MB"].set_total(4096);
  root->add_traits_present("COMPUTE_NODE");
  pb::WantedProvider* const child = report.add_providers();
  child->set_uuid(kHostileChild);
  child->set_name("hostile-child");
  child->set_parent_uuid(kHostileNode);
  child->set_base_generation(kPresent);
  (*child->mutable_inventories())["CUSTOM_A"].set_total(2);
  pb::HeldAllocations* const held = report.add_allocations();
  held->set_consumer_uuid(kHostile);
  held->set_generation(kPresent);
  held->add_allocations()->set_provider_uuid(kHostileNode);
  (*held->mutable_allocations(0)->mutable_resources())["MEMORY_MB"] = 64;
}

void AddRecordWrite(PeerScript* script) {
  pb::RecordWrite& write = *script->add_steps()->mutable_session()->mutable_record_write();
  write.set_write_id(1);
  write.set_node_uuid(kHostileNode);
  *write.mutable_instance() = Record(kHostile, false);
  write.mutable_instance()->set_host(kHostileHost);
  write.mutable_instance()->set_node_uuid(kHostileNode);
}

void AddClaims(PeerScript* script) {
  for (const bool pinned : {false, true}) {
    auto* const claim = script->add_steps()->mutable_claim_instance();
    claim->set_request_id(pinned ? "pinned" : "");
    claim->set_node_uuid(kHonestNode);
    *claim->mutable_instance() = Record(pinned ? kPinned : kPlain, pinned);
    auto* const usage = script->add_steps()->mutable_update_usage();
    usage->set_node_uuid(kHonestNode);
    *usage->mutable_instance() = claim->instance();
    auto* const abort = script->add_steps()->mutable_abort_claim();
    abort->set_node_uuid(kHonestNode);
    abort->set_claim_id(absl::StrCat(claim->instance().uuid(), "/", kPresent));
  }
}

void AddMove(PeerScript* script) {
  auto* const claim = script->add_steps()->mutable_claim_move();
  claim->set_node_uuid(kHonestNode);
  pb::Instance& instance = *claim->mutable_instance();
  instance = Record(kMoving, false);
  instance.set_host("elsewhere");
  instance.set_vm_state("active");
  instance.set_task_state("resize_prep");
  pb::Migration& migration = *claim->mutable_migration();
  migration.set_uuid(kMigration);
  migration.set_generation(kPresent);
  migration.set_instance_uuid(kMoving);
  migration.set_type(pb::MIGRATION_TYPE_COLD);
  migration.set_status("accepted");
  migration.set_source_host("elsewhere");
  auto* const drop = script->add_steps()->mutable_drop_move_claim();
  drop->set_node_uuid(kHonestNode);
  drop->set_instance_uuid(kMoving);
  drop->set_migration_uuid(kMigration);
  drop->set_side(tracker::v1::MOVE_SIDE_OLD);
  auto* const abort = script->add_steps()->mutable_abort_claim();
  abort->set_node_uuid(kHonestNode);
  abort->set_claim_id(kMigration);
}

}  // namespace

PeerScript ValidPeerScript() {
  PeerScript script;
  AddHello(&script);
  AddReport(&script);
  AddReport(&script);
  AddRecordWrite(&script);
  AddClaims(&script);
  AddMove(&script);
  script.add_steps()->mutable_session()->mutable_heartbeat()->set_count(1);
  return script;
}

void Mutate(PeerScript* script, std::mt19937& random) {
  MessageMutator mutator(&PeerWords(), &random, 12);
  if (random() % 8 == 0) return mutator.Change(script);
  if (script->steps_size() == 0) return;
  const int at = static_cast<int>(random() % script->steps_size());
  if (random() % 8 == 0) *script->add_steps() = PeerStep(script->steps(at));
  mutator.Spoil(script->mutable_steps(at));
}

}  // namespace berth::fuzz
