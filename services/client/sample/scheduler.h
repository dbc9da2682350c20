// Scheduler: a sample of a scheduler on the client library. It decides as OpenStack Nova's does:
// candidates from placement, filters, weighers, allocations on the best host, and the next host if
// they are refused.
#ifndef BERTH_SERVICES_CLIENT_SAMPLE_SCHEDULER_H_
#define BERTH_SERVICES_CLIENT_SAMPLE_SCHEDULER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/tracker/v1/tracker.pb.h"
#include "services/client/cpp/endpoint.h"
#include "services/client/cpp/hosts.h"
#include "services/client/cpp/mirror.h"

namespace berth::sample {

// Where an instance goes.
struct Place {
  std::string name;  // HOST:NODE
  std::string node_uuid;
  tracker::v1::Limits limits;  // for the claim on the host (T-337)
};

class Scheduler {
 public:
  explicit Scheduler(std::shared_ptr<client::Endpoints> endpoints);

  // Waits until the hosts are known. False: they have not come within `timeout`.
  bool AwaitHosts(absl::Duration timeout);

  // Allocates what the flavor of the recorded instance needs on the best host for it. Fails with
  // kResourceExhausted and "No valid node was found", with what each host lacks (T-342), or with the
  // failure of a call.
  absl::StatusOr<Place> PlaceInstance(const placement::v1::Instance& instance);

  const client::Mirror& mirror() const { return mirror_; }

 private:
  client::Failure Allocate(const placement::v1::Instance& instance,
                           const placement::v1::Candidate& candidate);
  absl::Status NoValidNode(const placement::v1::CandidateQuery& query, std::string refused);

  const std::shared_ptr<client::Endpoints> endpoints_;
  client::Hosts hosts_;
  client::Mirror mirror_;  // last: it calls `hosts_`
};

}  // namespace berth::sample

#endif  // BERTH_SERVICES_CLIENT_SAMPLE_SCHEDULER_H_
