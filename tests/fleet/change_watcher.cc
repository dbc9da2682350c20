#include "tests/fleet/change_watcher.h"

#include "tests/processes/identity.h"

namespace berth::fleet {

namespace v1 = placement::v1;

ChangeWatcher::ChangeWatcher(const std::string& target)
    : stub_(v1::WatchService::NewStub(grpc::CreateChannel(target, e2e::CredentialsOf()))) {
  v1::WatchRequest request;
  request.add_kinds(v1::ENTITY_KIND_PROVIDER);
  stream_ = stub_->Watch(&context_, request);
  v1::WatchResponse begun;  // a watch from now on gets an empty message at once
  stream_->Read(&begun);
  thread_ = std::thread([this] { Listen(); });
}

ChangeWatcher::~ChangeWatcher() {
  context_.TryCancel();
  thread_.join();
  stream_->Finish();
}

void ChangeWatcher::Listen() {
  v1::WatchResponse response;
  while (stream_->Read(&response)) {
    tracker::MutexLock lock(&mutex_);
    for (const v1::Change& change : response.changes()) {
      heard_.insert(change.present().provider().uuid());
    }
    changed_.NotifyAll();
  }
}

bool ChangeWatcher::Await(const std::string& provider_uuid, std::chrono::nanoseconds limit) {
  const auto deadline = tracker::BootClock::now() + limit;
  tracker::MutexLock lock(&mutex_);
  while (heard_.erase(provider_uuid) == 0) {
    if (!changed_.WaitUntil(&mutex_, deadline)) return heard_.erase(provider_uuid) > 0;
  }
  return true;
}

}  // namespace berth::fleet
