// TrackerStream: a tracker at the other end of a stream, as the registry of all streams sees it.
#ifndef BERTH_SERVICES_TRACKER_STREAM_H_
#define BERTH_SERVICES_TRACKER_STREAM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "placement/feed.h"
#include "services/liveness.h"

namespace berth::services {

// Implementations are thread-safe; none of the calls blocks or calls back.
class TrackerStream {
 public:
  virtual ~TrackerStream() = default;

  // Who it is, and the nodes that its Hello named. They stay while it is attached.
  virtual const Liveness::Key& key() const = 0;
  virtual placement::Uuid incarnation() const = 0;
  virtual std::vector<placement::ProviderId> node_ids() const = 0;

  // A committed command touched the tree of `node`; its service; anything at all.
  virtual void Touch(placement::ProviderId node, const placement::FeedCommand& command) = 0;
  virtual void TouchService() = 0;
  virtual void TouchAll() = 0;
  // Has a worker tell what is to be pushed, if anything is.
  virtual void FlushPushes() = 0;

  virtual void OrderSnapshot(placement::ProviderId node) = 0;
  virtual void OrderAudit(const std::string& order_id, placement::ProviderId node) = 0;
  // Ends the stream once what is being written is out. Idempotent.
  virtual void End(const absl::Status& status) = 0;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_STREAM_H_
