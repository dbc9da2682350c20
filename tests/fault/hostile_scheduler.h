// HostileScheduler: a scheduler that calls the tracker of an honest host with half-valid messages.
// One thread at a time.
#ifndef BERTH_TESTS_FAULT_HOSTILE_SCHEDULER_H_
#define BERTH_TESTS_FAULT_HOSTILE_SCHEDULER_H_

#include <cstdint>
#include <memory>
#include <random>

#include "berth/tracker/v1/tracker.grpc.pb.h"
#include "tests/fault/hostile_plan.h"
#include "tests/fuzz/message_mutator.h"

namespace berth::fault {

class HostileScheduler {
 public:
  HostileScheduler(const HostilePlan& plan, uint64_t seed);

  // Makes one call after the other until the pace is stopped.
  void Run();

 private:
  using Service = tracker::v1::TrackerService;

  void CallOnce();
  template <typename Request, typename Response>
  void Call(const char* kind,
            grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
            Request request, absl::Duration limit);
  tracker::v1::ClaimInstanceRequest MakeClaim();
  tracker::v1::ClaimMoveRequest MakeMoveClaim();
  tracker::v1::AbortClaimRequest MakeAbort();
  tracker::v1::DropMoveClaimRequest MakeDrop();

  const HostilePlan plan_;
  std::mt19937 random_;
  fuzz::Words words_;
  fuzz::MessageMutator mutator_{&words_, &random_};
  const std::unique_ptr<Service::Stub> service_;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_HOSTILE_SCHEDULER_H_
