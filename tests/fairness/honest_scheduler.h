// HonestScheduler: claims at a fixed rate, whatever placement does, and gives back what it got.
//
// A claim counts from the moment at which it is due until its answer is there. So a claim that is
// begun late has waited, too. For one thread; newest() is for every thread.
#ifndef BERTH_TESTS_FAIRNESS_HONEST_SCHEDULER_H_
#define BERTH_TESTS_FAIRNESS_HONEST_SCHEDULER_H_

#include <grpcpp/channel.h>

#include <memory>

#include "absl/time/time.h"
#include "berth/placement/v1/revision.pb.h"
#include "tests/fairness/call_tally.h"

namespace berth::fairness {

class HonestScheduler {
 public:
  // Claims `rate` times a second.
  HonestScheduler(const std::shared_ptr<grpc::Channel>& channel, double rate);
  ~HonestScheduler();
  HonestScheduler(const HonestScheduler&) = delete;
  HonestScheduler& operator=(const HonestScheduler&) = delete;

  // Claims for so long, and returns when all claims are answered and given back. A claim that is
  // not given back counts as a call of its own that took no time.
  CallFigures ClaimFor(absl::Duration duration);

  // The newest revision that an answer had.
  placement::v1::Revision newest() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_HONEST_SCHEDULER_H_
