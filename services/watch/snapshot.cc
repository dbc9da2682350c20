#include "services/watch/snapshot.h"

#include <string>

namespace berth::services {

WatchMessage WatchSnapshot::Next() {
  std::string elements;
  pb::Change change;
  const auto take = [&] {
    if (change.has_present()) elements.append(WatchElement(change));
    change.Clear();
  };
  walk_.Fill([&]() -> pb::Entity* {
    take();
    return elements.size() < kWatchMessageBytesMax ? change.mutable_present() : nullptr;
  });
  take();
  pb::WatchResponse fields;
  SetRevision(revision(), fields.mutable_revision());
  SetTime(walk_.state().position().ledger_time, fields.mutable_committed_at());
  fields.set_snapshot(true);
  fields.set_complete(done());
  return std::make_shared<const std::string>(fields.SerializeAsString() + elements);
}

}  // namespace berth::services
