#include "tests/fuzz/script_mutator.h"

#include <string>
#include <vector>

#include "tests/fuzz/message_mutator.h"
#include "tests/worlds/world.h"

namespace berth::fuzz {
namespace {

const Words& AllWords() {
  static const auto* const kWords = [] {
    auto* words = new Words;
    placement::World
        world;  // ids are those of the world of scripts: the names are met in one order
    for (const char* name : {"cn1", "pf1", "pf2", "cn2", "shr", "new1", "new2"}) {
      words->ids.push_back(world.provider(name).ToString());
    }
    for (const char* name : {"held1", "held2", "held3", "new1", "new2", "new3", "new4"}) {
      words->ids.push_back(world.consumer(name).ToString());
    }
    for (const char* name : {"agg1", "agg2"}) {
      words->ids.push_back(world.aggregate(name).ToString());
    }
    words->classes = {"VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "CUSTOM_A"};
    words->traits = {"HW_NUMA_ROOT", "MISC_SHARES_VIA_AGGREGATE", "CUSTOM_A", "CUSTOM_B"};
    words->suffixes = {"_A", "_B", ""};
    words->any = {"",
                  "a",
                  "fuzz",
                  "cn1",
                  "cn3",
                  "CUSTOM_",
                  "INSTANCE",
                  "MIGRATION",
                  std::string(255, 'A'),
                  std::string(256, 'A'),
                  std::string(1, '\0'),
                  "\xc3\xa4",
                  "AAAAAAAA-0000-4000-8000-00000000000A",
                  "not a uuid"};
    return words;
  }();
  return *kWords;
}

void SetClaimant(const std::string& id, placement::v1::ClaimConsumer* consumer) {
  consumer->set_consumer_uuid(id);
  consumer->mutable_new_consumer();
  consumer->set_project_id("fuzz");
  consumer->set_user_id("fuzz");
  consumer->set_consumer_type("INSTANCE");
}

}  // namespace

Script ValidScript() {
  const std::vector<std::string>& ids = AllWords().ids;
  Script script;
  auto* query = script.add_steps()->mutable_find_candidates()->mutable_query();
  (*query->add_groups()->mutable_resources())["VCPU"] = 1;
  auto* devices = query->add_groups();
  devices->set_suffix("_A");
  (*devices->mutable_resources())["SRIOV_NET_VF"] = 1;
  query = script.add_steps()->mutable_find_candidates()->mutable_query();
  (*query->add_groups()->mutable_resources())["DISK_GB"] = 1;
  (*query->mutable_groups(0)->mutable_resources())["VCPU"] = 1;
  auto* claim = script.add_steps()->mutable_set_allocations()->add_consumers();
  claim->set_consumer_uuid(ids[10]);
  claim->mutable_new_consumer();
  claim->set_project_id("fuzz");
  claim->set_user_id("fuzz");
  claim->set_consumer_type("INSTANCE");
  auto* allocation = claim->add_allocations();
  allocation->set_provider_uuid(ids[0]);
  (*allocation->mutable_resources())["VCPU"] = 2;
  auto* place = script.add_steps()->mutable_claim();
  SetClaimant(ids[11], place->mutable_consumer());
  (*place->mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  auto* places = script.add_steps()->mutable_claim_many();
  places->set_affinity(placement::v1::MEMBER_AFFINITY_DIFFERENT_ROOTS);
  for (const std::string& id : {ids[12], ids[13]}) {
    auto* member = places->add_members();
    SetClaimant(id, member->mutable_consumer());
    (*member->mutable_query()->add_groups()->mutable_resources())["VCPU"] = 1;
  }
  script.add_steps()->mutable_ensure_trait()->set_name("CUSTOM_A");
  script.add_steps()->mutable_delete_allocations()->set_consumer_uuid(ids[10]);
  auto* child = script.add_steps()->mutable_create_provider();
  child->set_uuid(ids[5]);
  child->set_name("new1");
  child->set_parent_uuid(ids[0]);
  return script;
}

void Mutate(Script* script, std::mt19937& random) {
  MessageMutator mutator(&AllWords(), &random);
  const size_t times = 1 + random() % 8;
  for (size_t i = 0; i < times; ++i) mutator.Change(script);
}

}  // namespace berth::fuzz
