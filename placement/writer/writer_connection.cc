#include "placement/writer/writer_connection.h"

#include <algorithm>
#include <string>
#include <utility>

#include "placement/store/rows.h"
#include "placement/store/schema.h"

namespace berth::placement {
namespace {

constexpr absl::Duration kPauseMin = absl::Milliseconds(20);
constexpr absl::Duration kPauseMax = absl::Seconds(1);
// A call may take longer than no_progress_max: by this much for each row that it writes.
constexpr absl::Duration kProgressPerRow = absl::Milliseconds(1);

}  // namespace

WriterConnection::WriterConnection(const LedgerOptions& options, CommandQueue* queue,
                                   Health* health)
    : options_(options), queue_(queue), health_(health), pause_(kPauseMin) {}

bool WriterConnection::Open() {
  connecting_since_ns_ = absl::ToInt64Nanoseconds(options_.boot_clock());
  auto database = ConnectToPrimary(options_.database_url, "berth-placement writer");
  absl::Status status = database.status();
  if (status.ok()) status = (*database)->Run(WriterSettingsSql(), nullptr);
  connecting_since_ns_ = 0;
  health_->reachable = status.ok();
  if (!status.ok()) {
    health_->Tell(std::string(status.message()));
    return false;
  }
  const MutexLock lock(&mutex_);
  database_ = *std::move(database);
  open_ = database_.get();
  return true;
}

void WriterConnection::Close() {
  open_ = nullptr;
  std::shared_ptr<Database> database;  // freed after the lock is released
  const MutexLock lock(&mutex_);
  database.swap(database_);
}

bool WriterConnection::Rollback() {
  if (open_->Run("ROLLBACK", nullptr).ok()) return true;
  Close();
  return false;
}

void WriterConnection::EndIdleHolder() {
  const absl::StatusOr<bool> found = EndIdleLockHolder(*open_);
  health_->Tell(found.ok() && *found ? "another process was paused while it held the ledger's "
                                       "lock: its database session was ended"
                                     : "the ledger's lock is held by another process");
}

void WriterConnection::Pause() {
  queue_->Rest(pause_);
  pause_ = std::min(2 * pause_, kPauseMax);
}

void WriterConnection::Succeeded() {
  pause_ = kPauseMin;
  losses_ = 0;
}

void WriterConnection::Lost() {
  Close();
  if (++losses_ > 1) Pause();
}

void WriterConnection::Watch() {
  const MutexLock lock(&mutex_);
  if (!database_) return;
  database_->ShutIfSlow(options_.no_progress_max + writing_rows_.load() * kProgressPerRow);
}

void WriterConnection::Shut() {
  const MutexLock lock(&mutex_);
  if (database_) database_->Shut();
}

bool WriterConnection::ConnectsSlowly() const {
  const int64_t since_ns = connecting_since_ns_;
  return since_ns != 0 &&
         options_.boot_clock() - absl::Nanoseconds(since_ns) >= options_.no_progress_max;
}

}  // namespace berth::placement
