#include "tests/fault/groups/group_recorder.h"

#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/identity.h"
#include "tests/processes/watch_mirror.h"

namespace berth::fault {
namespace {

constexpr absl::Duration kWatchAgainAfter = absl::Milliseconds(20);

}  // namespace

void GroupRecorder::Run() {
  for (int turn = 0; !IsAtEnd(); ++turn) {
    if (turn > 0) absl::SleepFor(kWatchAgainAfter);
    const std::string address = AddressIn(plan_->address_files[turn % kGroupServers]);
    if (address.empty()) continue;
    e2e::Watch watch(testing::OwnChannel(address, e2e::CredentialsOf()),
                     newest_ == 0 ? e2e::FromSnapshot() : e2e::After(position_));
    RecordedRevision open;  // what a cut stream had begun comes again
    placement::v1::WatchResponse response;
    while (!IsAtEnd() && watch.Next(&response)) Take(response, &open);
    watch.Cancel();
    watch.End();
  }
}

void GroupRecorder::Take(const placement::v1::WatchResponse& response, RecordedRevision* open) {
  open->changes.insert(open->changes.end(), response.changes().begin(), response.changes().end());
  if (!response.complete()) return;
  position_ = response.revision();
  open->number = position_.number();
  if (!open->changes.empty()) revisions_.push_back(std::move(*open));
  *open = RecordedRevision();
  newest_ = position_.number();
}

}  // namespace berth::fault
