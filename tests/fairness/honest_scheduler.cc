#include "tests/fairness/honest_scheduler.h"

#include <grpcpp/client_context.h>

#include <string>

#include "absl/time/clock.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/candidate.grpc.pb.h"
#include "placement/ground/mutex.h"
#include "placement/ground/uuid.h"
#include "tests/fairness/requests.h"

namespace berth::fairness {

namespace pb = berth::placement::v1;
using placement::MutexLock;

namespace {

constexpr absl::Duration kClaimMax = absl::Seconds(10);

// A claim on its way, and the release after it. Deletes itself at the end.
struct Operation {
  std::string consumer;
  absl::Time due;
  grpc::ClientContext claiming;
  pb::ClaimRequest claim;
  pb::ClaimResponse claimed;
  grpc::ClientContext releasing;
  pb::DeleteAllocationsRequest release;
  pb::DeleteAllocationsResponse released;
};

}  // namespace

class HonestScheduler::Impl {
 public:
  Impl(const std::shared_ptr<grpc::Channel>& channel, double rate)
      : rate_(rate),
        candidates_(pb::CandidateService::NewStub(channel)),
        allocations_(pb::AllocationService::NewStub(channel)) {}

  CallFigures ClaimFor(absl::Duration duration) {
    const absl::Time begun = absl::Now();
    const auto count = static_cast<int64_t>(rate_ * absl::ToDoubleSeconds(duration));
    for (int64_t i = 0; i < count; ++i) {
      auto* const operation = new Operation();
      operation->due = begun + absl::Seconds(static_cast<double>(i) / rate_);
      operation->consumer = placement::Uuid::Random().ToString();
      operation->claim = ClaimOfOne(operation->consumer);
      absl::SleepFor(operation->due - absl::Now());
      Claim(operation);
    }
    MutexLock lock(&mutex_);
    while (open_ > 0) ended_.Wait(&mutex_);
    return tally_.Take();
  }

  pb::Revision newest() const {
    MutexLock lock(&mutex_);
    return newest_;
  }

 private:
  void Claim(Operation* operation) {
    {
      MutexLock lock(&mutex_);
      ++open_;
    }
    operation->claiming.set_deadline(absl::ToChronoTime(absl::Now() + kClaimMax));
    candidates_->async()->Claim(
        &operation->claiming, &operation->claim, &operation->claimed,
        [this, operation](const grpc::Status& status) { Claimed(operation, status); });
  }

  void Claimed(Operation* operation, const grpc::Status& status) {
    const absl::Duration took = absl::Now() - operation->due;
    {
      MutexLock lock(&mutex_);
      tally_.Add(status, took);
      const pb::Revision& revision = operation->claimed.revision();
      if (status.ok() && revision.number() > newest_.number()) newest_ = revision;
    }
    if (!status.ok()) return End(operation);
    operation->releasing.set_deadline(absl::ToChronoTime(absl::Now() + kClaimMax));
    operation->release.set_consumer_uuid(operation->consumer);
    allocations_->async()->DeleteAllocations(&operation->releasing, &operation->release,
                                             &operation->released,
                                             [this, operation](const grpc::Status& released) {
                                               if (!released.ok()) {
                                                 MutexLock lock(&mutex_);
                                                 tally_.Add(released, absl::ZeroDuration());
                                               }
                                               End(operation);
                                             });
  }

  void End(Operation* operation) {
    delete operation;
    MutexLock lock(&mutex_);
    --open_;
    ended_.SignalAll();
  }

  const double rate_;
  const std::unique_ptr<pb::CandidateService::Stub> candidates_;
  const std::unique_ptr<pb::AllocationService::Stub> allocations_;
  mutable placement::Mutex mutex_;
  placement::CondVar ended_;
  int64_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  CallTally tally_ ABSL_GUARDED_BY(mutex_);
  pb::Revision newest_ ABSL_GUARDED_BY(mutex_);
};

HonestScheduler::HonestScheduler(const std::shared_ptr<grpc::Channel>& channel, double rate)
    : impl_(std::make_unique<Impl>(channel, rate)) {}
HonestScheduler::~HonestScheduler() = default;

CallFigures HonestScheduler::ClaimFor(absl::Duration duration) { return impl_->ClaimFor(duration); }
pb::Revision HonestScheduler::newest() const { return impl_->newest(); }

}  // namespace berth::fairness
