// RecordLife: records that are made, moved through states and moves, claimed, ended and deleted at
// random, by callers who write what they like and by trackers.
//
// Each tracker claims what the account of its node calls free. Not thread-safe.
#ifndef BERTH_TESTS_COUNTED_RECORD_LIFE_H_
#define BERTH_TESTS_COUNTED_RECORD_LIFE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/counted/account_side.h"
#include "tests/counted/ledger_side.h"

namespace berth::counted {

class RecordLife {
 public:
  explicit RecordLife(uint64_t seed);

  // Does one random thing, lets the trackers hear of it, and returns its name. The name ends with
  // " (refused)" if placement refused it. The test fails if placement refuses to give away what an
  // account calls free, or if a tracker's write gives something to a second owner.
  std::string Step();
  // The test fails if ledger and account count otherwise on a node, or if they think otherwise of
  // whether a random thing is free.
  void Compare();
  // How often a tracker wrote something while nothing had two owners. Then nothing had them after.
  int lone_writes() const { return lone_writes_; }

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  bool OneIn(int count) { return Below(count) == 0; }
  const Place& AnyPlace() {
    const std::vector<Place>& nodes = ledger_.nodes();
    return nodes[Below(static_cast<int>(nodes.size()))];
  }
  std::set<int> AnyThings();
  std::string AnyInstance() { return ledger_.InstanceUuid(1 + Below(kInstances)); }
  // A migration of the instance, in progress if `moves`; none if there is none.
  std::optional<pb::Migration> AnyMigration(const std::string& instance, bool moves);
  int AccountOf(const Place& place) const;
  // Up to one CPU, device and unit each that the node's account calls free.
  std::set<int> FreeThings(const Place& place);

  void PlaceAnywhere(pb::Instance* instance);
  void ChangeState(pb::Instance* instance);
  void ChangeContext(pb::Instance* instance);

  std::string Put();
  std::string Resume();
  std::string Delete();
  std::string BeginMove();
  std::string ChangeMove();
  std::string EndMove();
  std::string Arrive();
  std::string Claim();
  std::string ClaimMove();
  std::string TrackerEnds();
  std::string TrackerSets();
  std::string Restart();
  std::string Told(const std::string& what, const std::string& answer);
  // `chosen`: what the write would give to the instance and its record did not name before.
  std::string ToldTracker(const std::string& what, const std::string& answer,
                          const std::set<int>& chosen = {});
  // Whether two instances count somewhere with the same thing.
  bool IsAnythingShared() const;

  static constexpr int kInstances = 6;

  std::mt19937_64 random_;
  LedgerSide ledger_;
  std::vector<std::unique_ptr<AccountSide>> accounts_;  // as in ledger_.nodes()
  uint64_t migrations_ = 0;
  bool has_written_ = false;  // in this step a tracker wrote something
  int lone_writes_ = 0;
};

}  // namespace berth::counted

#endif  // BERTH_TESTS_COUNTED_RECORD_LIFE_H_
