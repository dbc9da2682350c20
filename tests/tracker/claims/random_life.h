// RandomLife: a node whose instances are built, moved, resized, deleted and aborted at random, and
// the records as placement would keep them.
#ifndef BERTH_TESTS_TRACKER_CLAIMS_RANDOM_LIFE_H_
#define BERTH_TESTS_TRACKER_CLAIMS_RANDOM_LIFE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/counted/naive_account.h"
#include "tracker/claims/claim.h"
#include "tracker/claims/ending.h"

namespace berth::tracker {

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed);

  // Does one random thing, and returns its name.
  std::string Step();

  const NodeAccount& account() const { return account_; }
  // The naive account over all records, with the changes of claims that are not written yet.
  NaiveAccount Naive() const;
  // An account that is built from the records and the open claims in one go.
  NodeAccount Anew() const;

 private:
  int Below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  Flavor RandomFlavor();
  Instance NewInstance(HostAndNode on, std::string vm_state);
  std::string Create();
  std::string ClaimOne();
  std::string BringHere();
  std::string ResizeHere();
  std::string SendAway();
  std::string WriteClaim();
  std::string Abort();
  std::string LoseClaim();  // placement has refused its write
  std::string Finish();
  std::string ConfirmOrRevert();
  std::string Delete();
  std::string ChangeState();
  std::string Pass();
  std::string Restart();

  std::string Move(Instance instance, MigrationType type, const Flavor& flavor);
  // A random instance for which `fits` says yes, or null.
  template <typename Predicate>
  const Instance* Pick(Predicate fits);
  bool Moves(const Instance& instance) const;
  const Migration* MoveOf(const Uuid& instance_uuid) const;
  void Put(Instance instance);
  void Put(Migration migration);
  void Write(const Ending& ending);

  std::mt19937_64 random_;
  ClaimSettings settings_;
  NodeResources resources_;
  NodeAccount account_;
  std::map<Uuid, Instance> instances_;
  std::map<Uuid, Migration> migrations_;
  std::vector<OpenClaim> unwritten_;
  std::vector<OpenClaim> written_;
  absl::Time now_ = absl::UnixEpoch();
  int names_ = 0;
};

template <typename Predicate>
const Instance* RandomLife::Pick(Predicate fits) {
  std::vector<const Instance*> found;
  for (const auto& [uuid, instance] : instances_) {
    if (fits(instance)) found.push_back(&instance);
  }
  return found.empty() ? nullptr : found[Below(static_cast<int>(found.size()))];
}

}  // namespace berth::tracker

#endif  // BERTH_TESTS_TRACKER_CLAIMS_RANDOM_LIFE_H_
