// Watch: a stream of WatchService.Watch. Mirror: the entities that a watcher builds from its
// messages.
//
// One thread each.
#ifndef BERTH_TESTS_PROCESSES_WATCH_MIRROR_H_
#define BERTH_TESTS_PROCESSES_WATCH_MIRROR_H_

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace berth::e2e {

// Kind and key of an entity.
using Key = std::pair<int, std::string>;

inline constexpr absl::Duration kWatchMax = absl::Minutes(10);

// One stream.
class Watch {
 public:
  Watch(const std::shared_ptr<grpc::Channel>& channel, const placement::v1::WatchRequest& request)
      : stub_(placement::v1::WatchService::NewStub(channel)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + kWatchMax));
    reader_ = stub_->Watch(&context_, request);
  }
  bool Next(placement::v1::WatchResponse* response) { return reader_->Read(response); }
  void Cancel() { context_.TryCancel(); }
  grpc::Status End() {
    placement::v1::WatchResponse rest;
    while (reader_->Read(&rest)) {
    }
    return reader_->Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<placement::v1::WatchService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<placement::v1::WatchResponse>> reader_;
};

inline placement::v1::WatchRequest FromSnapshot() {
  placement::v1::WatchRequest request;
  request.mutable_snapshot();
  return request;
}

inline placement::v1::WatchRequest After(const placement::v1::Revision& revision) {
  placement::v1::WatchRequest request;
  *request.mutable_after_revision() = revision;
  return request;
}

inline Key KeyOf(const placement::v1::Entity& entity) {
  switch (entity.entity_case()) {
    case placement::v1::Entity::kProvider:
      return {1, entity.provider().uuid()};
    case placement::v1::Entity::kProviderUsage:
      return {2, entity.provider_usage().provider_uuid()};
    case placement::v1::Entity::kConsumer:
      return {3, entity.consumer().uuid()};
    case placement::v1::Entity::kResourceClass:
      return {4, entity.resource_class().name()};
    case placement::v1::Entity::kTrait:
      return {5, entity.trait().name()};
    case placement::v1::Entity::kService:
    case placement::v1::Entity::kNode:
    case placement::v1::Entity::kAggregate:
    case placement::v1::Entity::kServerGroup:
    case placement::v1::Entity::kInstance:
    case placement::v1::Entity::kMigration:
    case placement::v1::Entity::ENTITY_NOT_SET:
      break;
  }
  return {0, ""};
}

// The entities that a watcher has built, and every change that it received.
struct Mirror {
  std::map<Key, placement::v1::Entity> things;
  placement::v1::Revision position;                   // of the last complete message
  std::vector<std::pair<int64_t, std::string>> told;  // revision and change
  std::vector<placement::v1::Change> open;            // of the revision that is not complete yet

  void Take(const placement::v1::WatchResponse& response) {
    open.insert(open.end(), response.changes().begin(), response.changes().end());
    if (!response.complete()) return;
    EXPECT_GE(response.revision().number(), position.number());
    EXPECT_TRUE(open.empty() || response.revision().number() > position.number());
    for (const placement::v1::Change& change : open) {
      told.emplace_back(response.revision().number(), change.ShortDebugString());
      if (change.has_present()) {
        things[KeyOf(change.present())] = change.present();
      } else {
        things.erase({change.removed().kind(), change.removed().key()});
      }
    }
    open.clear();
    position = response.revision();
  }
};

inline bool Same(const Mirror& a, const Mirror& b) {
  if (a.things.size() != b.things.size()) return false;
  for (const auto& [key, entity] : a.things) {
    const auto found = b.things.find(key);
    if (found == b.things.end() ||
        !google::protobuf::util::MessageDifferencer::Equals(entity, found->second))
      return false;
  }
  return true;
}

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_WATCH_MIRROR_H_
