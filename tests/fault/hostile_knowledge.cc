#include "tests/fault/hostile_knowledge.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "placement/ground/uuid.h"

namespace berth::fault {
namespace {

namespace pb = ::berth::placement::v1;

constexpr int kOwn = 6;     // every other one wants a dedicated CPU
constexpr int kMoving = 3;  // instances

bool IsOver(const std::string& status) {
  for (const char* word :
       {"completed", "cancelled", "failed", "confirmed", "reverted", "done", "error"}) {
    if (status == word) return true;
  }
  return false;
}

}  // namespace

HostileKnowledge::HostileKnowledge(const CertifiedSite& site, const CertifiedSite::Host& attacked,
                                   std::vector<pb::Instance> foreign)
    : scheduler_(site, attacked, true),
      records_(pb::InstanceService::NewStub(site.ConnectToPlacement("scheduler/hostile"))),
      attacked_node_(attacked.node),
      foreign_(std::move(foreign)) {
  for (const auto& host : site.hosts()) honest_nodes_.push_back(host->node);
  const placement::MutexLock lock(&mutex_);
  for (int i = 0; i < kOwn; ++i) {
    own_.push_back(scheduler_.Create(NewInstance(i % 2 == 0)).uuid());
    scheduler_.Allocate(own_.back(), attacked_node_, nullptr, kInstanceMemoryMib);
  }
  for (int i = 0; i < kMoving; ++i) {
    pb::Instance instance = NewInstance(false);
    instance.set_host("elsewhere");
    instance.set_vm_state("active");
    instance.set_task_state("resize_prep");
    instance = scheduler_.Create(instance);
    scheduler_.Allocate(instance.uuid(), attacked_node_, nullptr, kInstanceMemoryMib);
    own_.push_back(instance.uuid());
    moving_.emplace_back(instance.uuid(), Migrate(instance.uuid()).uuid());
  }
  EXPECT_TRUE(scheduler_.complaints().empty()) << scheduler_.complaints()[0];
}

pb::Migration HostileKnowledge::Migrate(const std::string& instance) {
  pb::CreateMigrationRequest create;
  create.mutable_migration()->set_uuid(placement::Uuid::Random().ToString());
  create.mutable_migration()->set_instance_uuid(instance);
  create.mutable_migration()->set_type(pb::MIGRATION_TYPE_COLD);
  create.mutable_migration()->set_source_host("elsewhere");
  pb::CreateMigrationResponse created;
  records_->CreateMigration(CallWithin(kAnswerMax).get(), create, &created);
  return created.migration();
}

fuzz::Words HostileKnowledge::WordsOf(const std::vector<std::string>& own_nodes) const {
  const placement::MutexLock lock(&mutex_);
  fuzz::Words words;
  words.ids = own_;
  words.claims = own_;
  for (const auto& [instance, migration] : moving_) {
    words.ids.push_back(migration);
    words.claims.push_back(migration);
  }
  for (const std::string& uuid : own_) words.claims.push_back(uuid + "/1");
  for (const pb::Instance& instance : foreign_) words.ids.push_back(instance.uuid());
  words.ids.insert(words.ids.end(), honest_nodes_.begin(), honest_nodes_.end());
  words.ids.insert(words.ids.end(), own_nodes.begin(), own_nodes.end());
  for (size_t known = words.ids.size(), i = 0; i < known; ++i) {
    for (const std::string& form : fuzz::FormsOf(words.ids[i])) words.ids.push_back(form);
  }
  words.classes = {"VCPU", "MEMORY_MB", "DISK_GB", "PCPU", "VGPU", "CUSTOM_HOSTILE", "CUSTOM_"};
  words.traits = {"COMPUTE_NODE", "HW_NUMA_ROOT", "CUSTOM_HOSTILE", "COMPUTE_STATUS_DISABLED"};
  words.hosts = {"", "elsewhere", "host-1", "host-2", "hostile-1", std::string("host-1\0", 7)};
  words.any = fuzz::OddTexts();
  for (const char* word : {"building", "active", "deleted", "shelved_offloaded", "resized",
                           "spawning", "resize_prep", "resize_reverting", "accepted", "finished",
                           "confirming", "failed", "dedicated", "0000:81:00.0", "node-of-host-1"}) {
    words.any.emplace_back(word);
  }
  return words;
}

pb::Instance HostileKnowledge::Read(const std::string& uuid, std::mt19937* random) {
  if ((*random)() % 4 > 0) {
    const placement::MutexLock lock(&mutex_);
    if (const auto found = read_.find(uuid); found != read_.end()) return found->second;
  }
  pb::GetInstanceRequest request;
  request.set_instance_uuid(uuid);
  pb::GetInstanceResponse response;
  records_->GetInstance(CallWithin(kAnswerMax).get(), request, &response);
  const placement::MutexLock lock(&mutex_);
  return read_[uuid] = response.instance();
}

pb::Instance HostileKnowledge::Own(std::mt19937* random) {
  std::string uuid;
  {
    const placement::MutexLock lock(&mutex_);
    uuid = own_[(*random)() % own_.size()];
  }
  return Read(uuid, random);
}

pb::Instance HostileKnowledge::Foreign(std::mt19937* random) const {
  return foreign_[(*random)() % foreign_.size()];
}

pb::Instance HostileKnowledge::Any(std::mt19937* random) {
  return (*random)() % 3 == 0 ? Foreign(random) : Own(random);
}

std::pair<pb::Instance, pb::Migration> HostileKnowledge::Moving(std::mt19937* random) {
  pb::GetMigrationResponse response;
  std::string moves;
  {
    const placement::MutexLock lock(&mutex_);
    auto& [instance, migration] = moving_[(*random)() % moving_.size()];
    moves = instance;
    pb::GetMigrationRequest request;
    request.set_migration_uuid(migration);
    records_->GetMigration(CallWithin(kAnswerMax).get(), request, &response);
    if (IsOver(response.migration().status())) {
      *response.mutable_migration() = Migrate(instance);
      migration = response.migration().uuid();
    }
  }
  return {Read(moves, random), response.migration()};
}

std::string HostileKnowledge::AddOnNode(const std::string& node, int64_t* generation) {
  const placement::MutexLock lock(&mutex_);
  own_.push_back(scheduler_.Create(NewInstance(false)).uuid());
  *generation = scheduler_.Allocate(own_.back(), node, nullptr, kInstanceMemoryMib);
  return own_.back();
}

std::vector<std::string> HostileKnowledge::own() const {
  const placement::MutexLock lock(&mutex_);
  return own_;
}

}  // namespace berth::fault
