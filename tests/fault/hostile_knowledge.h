// HostileKnowledge: the records that a hostile peer knows, and valid messages about them.
//
// It knows records of its own: instances that hold something on the node that it attacks, instances
// that hold something on nodes of its own, and instances that move. It also knows one instance of each
// honest host, with its current generation. Every caller may have all of this. Thread-safe.
#ifndef BERTH_TESTS_FAULT_HOSTILE_KNOWLEDGE_H_
#define BERTH_TESTS_FAULT_HOSTILE_KNOWLEDGE_H_

#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "placement/ground/mutex.h"
#include "tests/fault/certified_site.h"
#include "tests/fault/honest_builder.h"
#include "tests/fuzz/message_mutator.h"

namespace berth::fault {

class HostileKnowledge {
 public:
  // Makes the records of its own. `attacked`: the host whose tracker is called. `foreign`: the
  // instances of the honest hosts.
  HostileKnowledge(const CertifiedSite& site, const CertifiedSite::Host& attacked,
                   std::vector<placement::v1::Instance> foreign);

  // The words from which a mutator chooses: every uuid that is known, in its canonical form and in
  // others. No claim of an honest instance is among the ids of claims, because whoever knows such an
  // id may lawfully abort it.
  fuzz::Words WordsOf(const std::vector<std::string>& own_nodes) const;
  const std::string& attacked_node() const { return attacked_node_; }

  // Some instance of its own as it was lately, or a foreign one.
  placement::v1::Instance Own(std::mt19937* random);
  placement::v1::Instance Foreign(std::mt19937* random) const;
  placement::v1::Instance Any(std::mt19937* random);
  // An instance that moves, with its migration. Makes a new migration if the last one is over.
  std::pair<placement::v1::Instance, placement::v1::Migration> Moving(std::mt19937* random);
  // The instance of its own that holds something on its node `node`.
  std::string AddOnNode(const std::string& node, int64_t* generation);
  // The uuids of the instances of its own.
  std::vector<std::string> own() const;

 private:
  // The record as it was lately: one time in four, and the first time, as it is now.
  placement::v1::Instance Read(const std::string& uuid, std::mt19937* random);
  placement::v1::Migration Migrate(const std::string& instance);

  mutable placement::Mutex mutex_;
  HonestBuilder scheduler_ ABSL_GUARDED_BY(mutex_);  // makes records
  const std::unique_ptr<placement::v1::InstanceService::Stub> records_;
  const std::string attacked_node_;
  const std::vector<placement::v1::Instance> foreign_;
  std::vector<std::string> honest_nodes_;
  std::vector<std::string> own_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, std::string>> moving_
      ABSL_GUARDED_BY(mutex_);  // instance, migration
  std::map<std::string, placement::v1::Instance> read_ ABSL_GUARDED_BY(mutex_);  // by uuid
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_HOSTILE_KNOWLEDGE_H_
