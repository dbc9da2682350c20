// ClaimClient: a scheduler that claims and releases over gRPC, whatever fails, and knows at the end
// what it holds.
//
// An answer without our ErrorInfo leaves the outcome unknown; the client then asks by request id
// until placement tells, and cancels what was not done. One thread per client.
#ifndef BERTH_TESTS_FAULT_CLAIM_CLIENT_H_
#define BERTH_TESTS_FAULT_CLAIM_CLIENT_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/ledger.grpc.pb.h"
#include "placement/ground/mutex.h"
#include "tests/fault/tally.h"

namespace berth::fault {

// The address of placement. It changes when a killed process is started again.
class Endpoint {
 public:
  void Set(const std::string& address);
  std::string Get() const;

 private:
  mutable placement::Mutex mutex_;
  std::string address_ ABSL_GUARDED_BY(mutex_);
};

struct Holding {
  std::string provider;
  int64_t amount = 0;
};

class ClaimClient {
 public:
  ClaimClient(uint64_t seed, std::vector<std::string> providers, const Endpoint* endpoint,
              Tally* tally);

  // Claims and releases until tally->stop, then finds out the outcomes that are still unknown.
  // Looks up all that it holds whenever the tally demands it.
  void Run();
  // Claims once. Returns whether the claim was done.
  bool ClaimOne();
  // The client's allocations by consumer. Not during Run.
  const std::map<std::string, Holding>& holdings() const { return holdings_; }
  // Descriptions of answers that break a promise of placement; empty if none did. Not during Run.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  enum class Outcome { kDone, kNotDone };

  void Connect();
  void ReleaseOne();
  void LookUpHoldings();
  void LookUp(const std::string& consumer, const Holding& holding);
  // The outcome of a call that ended with `status`. Asks placement until it is known.
  Outcome Settle(const grpc::Status& status, const std::string& request_id);
  Outcome AskUntilKnown(const std::string& request_id);

  std::mt19937_64 random_;
  const std::vector<std::string> providers_;
  const Endpoint* const endpoint_;
  Tally* const tally_;
  int64_t inquests_ = 0;  // inquests that this client has completed
  std::string address_;
  std::unique_ptr<berth::placement::v1::AllocationService::Stub> allocations_;
  std::unique_ptr<berth::placement::v1::LedgerService::Stub> ledger_;
  std::map<std::string, Holding> holdings_;
  std::vector<std::string> complaints_;
};

// A plain channel to `address`, not shared with any other.
std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address);

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_CLAIM_CLIENT_H_
