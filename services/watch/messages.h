// What those who watch are told: committed batches as WatchResponse messages, encoded once and
// shared by all who are told them.
//
// Values; free of gRPC.
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

namespace berth::services {

// Whatever a message holds more than this goes into the next one.
inline constexpr size_t kWatchMessageBytesMax = 256 << 10;

// A WatchResponse, encoded.
using WatchMessage = std::shared_ptr<const std::string>;

// Names of classes and traits, also of those that are gone: what is told may be of the past.
struct Names {
  placement::Catalog newest;  // each name with the newest id that it had
  // Older ids of names that were deleted and made again.
  absl::flat_hash_map<placement::ClassId, std::string> older_classes;
  absl::flat_hash_map<placement::TraitId, std::string> older_traits;
};

// Learns them. Not thread-safe.
class NameBook {
 public:
  // Learns what `catalog` knows.
  void Learn(const placement::Catalog& catalog);
  // Learns the names that `changes` bring.
  void Learn(const placement::Changes& changes);
  std::shared_ptr<const Names> names() const { return names_; }

 private:
  // A copy, to be changed and published.
  std::shared_ptr<Names> Copy() const;

  std::shared_ptr<const Names> names_ = std::make_shared<Names>();
};

// One revision, as it is told to everybody.
class ToldRevision {
 public:
  // Encodes `batch`. kOutOfRange / REVISION_COMPACTED where it names a class or a trait that `names`
  // does not know.
  static absl::StatusOr<std::shared_ptr<const ToldRevision>> Of(const placement::FeedBatch& batch,
                                                                const Names& names);

  placement::Revision revision() const { return revision_; }
  const std::vector<ToldChange>& changes() const { return changes_; }
  // What `filter` lets through, the last message marked as complete. None: nothing is.
  std::vector<WatchMessage> MessagesFor(const WatchFilter& filter) const;

 private:
  std::vector<WatchMessage> Compose(const WatchFilter& filter) const;

  placement::Revision revision_;
  std::string part_;  // the fields of a message that does not complete the revision
  std::string last_;  // of the one that does
  std::vector<ToldChange> changes_;
  std::vector<WatchMessage> whole_;  // for who filters nothing
};
using ToldRevisionPtr = std::shared_ptr<const ToldRevision>;

// An empty message: all up to `revision` has been told.
WatchMessage BeatMessage(placement::Revision revision);

// `change` as an element of WatchResponse.changes.
std::string WatchElement(const pb::Change& change);
void FillProviderUsage(const placement::Catalog& names, const placement::ProviderUsed& used,
                       placement::ProviderId root, pb::ProviderUsage* to);
// A node without what its service tells.
void FillNodeRecord(const placement::NodeRecord& node, pb::Node* to);
// A consumer with all it holds.
void FillHeld(const placement::Catalog& names, const placement::Consumer& consumer,
              pb::Consumer* to);

}  // namespace berth::services

#endif  // BERTH_SERVICES_WATCH_MESSAGES_H_
