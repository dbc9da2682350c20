// LedgerSide: placement's state in memory with three nodes, as callers and trackers reach it, and
// what its rule of owners counts on each node. Host h1 has two nodes, h2 has one.
//
// Answers are empty, or the reason of the refusal with its text. Not thread-safe.
#ifndef BERTH_TESTS_COUNTED_LEDGER_SIDE_H_
#define BERTH_TESTS_COUNTED_LEDGER_SIDE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/record_write.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "tests/counted/counted.h"

namespace berth::counted {

class LedgerSide {
 public:
  LedgerSide();
  ~LedgerSide();

  const std::vector<Place>& nodes() const;
  // The uuid of the instance with this number, which is 1 or more. It has an allocation on each
  // node afterwards.
  std::string InstanceUuid(int number);

  std::string Do(const pb::SetInstanceRequest& request);
  std::string Do(const pb::DeleteInstanceRequest& request);
  std::string Do(const pb::CreateMigrationRequest& request);
  std::string Do(const pb::UpdateMigrationRequest& request);
  std::string Do(const pb::EndMoveRequest& request);
  // What the tracker of the node writes.
  std::string Write(const Place& place, pb::RecordWrite write);
  // The process that the tracker of the host names in its calls.
  pb::TrackerProcess TrackerOf(const std::string& host) const;

  // The record as it is; without a uuid if there is none.
  pb::Instance Instance(const std::string& uuid) const;
  // All migrations of the instance.
  std::vector<pb::Migration> MigrationsOf(const std::string& instance) const;

  // What the commands since the last call for this node have changed of the records that concern
  // the node.
  pb::Push NextPush(const Place& place);
  // All records that concern the node.
  pb::Push CompletePush(const Place& place) const;

  Counted On(const Place& place) const;
  // What the audit of allocations wants the instance to hold. REQUIRES: it holds nothing.
  Sizes WantedOf(const std::string& instance) const;
  // The sum of the flavors on the node, as the description of a host has it: without swap.
  Sizes SumOn(const Place& place) const;
  // Whether two instances count on the node with the same thing.
  bool IsShared(const Place& place) const;
  // Whether the node's tracker may give the thing to an instance that has nothing. Changes nothing.
  bool MayGive(const Place& place, int thing);

 private:
  class World;
  const std::unique_ptr<World> world_;
};

}  // namespace berth::counted

#endif  // BERTH_TESTS_COUNTED_LEDGER_SIDE_H_
