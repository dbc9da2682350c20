// HonestBuilder: a scheduler that builds instances on one host and gives them up again: it makes the
// record, allocates, claims, aborts, releases and deletes.
//
// One thread at a time.
#ifndef BERTH_TESTS_FAULT_HONEST_BUILDER_H_
#define BERTH_TESTS_FAULT_HONEST_BUILDER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/instance.grpc.pb.h"
#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/fault/certified_site.h"

namespace berth::fault {

inline constexpr int64_t kInstanceMemoryMib = 64;
// An instance that is being built, with one CPU and this memory. `pinned`: it wants a dedicated CPU.
placement::v1::Instance NewInstance(bool pinned);

class HonestBuilder {
 public:
  // `contended`: others claim on the host, too, so a claim may find too little there.
  HonestBuilder(const CertifiedSite& site, const CertifiedSite::Host& host, bool contended);

  // Builds and gives up until `stop`. At its end, everything that it built is given up.
  void Run(const std::atomic<bool>& stop);
  // Builds an instance that stays. Returns its record.
  placement::v1::Instance BuildToStay();
  // Makes a record, or gives a consumer `memory_mib` of a node.
  placement::v1::Instance Create(const placement::v1::Instance& instance);
  int64_t Allocate(const std::string& consumer, const std::string& node, const char* unit,
                   int64_t memory_mib);
  // Releases what the consumer of the instance holds, and deletes its record.
  void Delete(const std::string& instance);
  bool Abort(const std::string& claim_id);
  // The id of the claim that put the instance on its node.
  static std::string ClaimIdOf(const placement::v1::Instance& record);
  placement::v1::Instance Get(const std::string& uuid);

  int64_t built() const { return built_; }
  int64_t refused() const { return refused_; }
  // The answers that are neither OK nor a lawful refusal.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  // The claimed record; without a uuid where the claim was lawfully refused.
  placement::v1::Instance Build(bool pinned);
  bool Claim(const placement::v1::Instance& record);
  bool Holds(bool good, const std::string& what);
  bool Succeeds(const grpc::Status& status, const std::string& what) {
    return Holds(status.ok(), absl::StrCat(what, ": ", status.error_code(), " ", ReasonIn(status),
                                           " ", status.error_message()));
  }

  const std::string host_;
  const std::string node_;
  const bool contended_;
  std::unique_ptr<placement::v1::InstanceService::Stub> instances_;
  std::unique_ptr<placement::v1::AllocationService::Stub> allocations_;
  std::unique_ptr<tracker::v1::TrackerService::Stub> claims_;
  int64_t built_ = 0;
  int64_t refused_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_HONEST_BUILDER_H_
