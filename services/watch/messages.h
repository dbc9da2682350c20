// Committed batches as WatchResponse messages, encoded once and shared by all watchers.
//
// Values; free of gRPC. A message consists of the encoded fields of a WatchResponse, followed by
// encoded elements of `changes`, since protobuf allows to concatenate the parts of a message. So
// each change is encoded once, and a filter only chooses among the elements.
#ifndef BERTH_SERVICES_WATCH_MESSAGES_H_
#define BERTH_SERVICES_WATCH_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "berth/placement/v1/watch.pb.h"
#include "placement/log/feed.h"
#include "placement/state/state.h"
#include "services/watch/filter.h"
#include "services/watch/name_book.h"

namespace berth::services {

// The approximate limit of a message: after so many bytes of elements a new message begins.
inline constexpr size_t kWatchMessageBytesMax = 256 << 10;

// A WatchResponse, encoded.
using WatchMessage = std::shared_ptr<const std::string>;

// One revision with its changes, encoded for all watchers. Immutable.
class ToldRevision {
 public:
  // Encodes `batch`. Fails with kOutOfRange / REVISION_COMPACTED if the batch names a class or a
  // trait that `names` does not know.
  static absl::StatusOr<std::shared_ptr<const ToldRevision>> Of(const placement::FeedBatch& batch,
                                                                const Names& names);

  placement::Revision revision() const { return revision_; }
  const std::vector<ToldChange>& changes() const { return changes_; }
  // Returns the messages with the changes that pass `filter`. The last message is marked as
  // complete. Returns no messages if no change passes.
  std::vector<WatchMessage> MessagesFor(const WatchFilter& filter) const;

 private:
  std::vector<WatchMessage> Compose(const WatchFilter& filter) const;

  placement::Revision revision_;
  std::string part_;  // the fields of each message except the last
  std::string last_;  // the fields of the last message
  std::vector<ToldChange> changes_;
  std::vector<WatchMessage> whole_;  // for watchers without a filter
};
using ToldRevisionPtr = std::shared_ptr<const ToldRevision>;

// The kind of entity as messages name it.
pb::EntityKind WireKind(placement::EntityKind kind);

// A message without changes, which says that everything up to `revision` was sent.
WatchMessage BeatMessage(placement::Revision revision);

// `change` as an element of WatchResponse.changes.
std::string WatchElement(const pb::Change& change);
void FillProviderUsage(const placement::Catalog& names, const placement::ProviderUsed& used,
                       placement::ProviderId root, pb::ProviderUsage* to);
// Fills `to` with `node`, but leaves out the fields that come from the node's service.
void FillNodeRecord(const placement::NodeRecord& node, pb::Node* to);
// Fills `to` with `consumer` and all its allocations.
void FillHeld(const placement::Catalog& names, const placement::Consumer& consumer,
              pb::Consumer* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_MESSAGES_H_
