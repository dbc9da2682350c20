#include "placement/store/database_watch.h"

namespace berth::placement {

void DatabaseWatch::Add(const std::shared_ptr<Database>& database) {
  const MutexLock lock(&mutex_);
  if (closed_) return database->Shut();
  databases_.push_back(database);
}

void DatabaseWatch::ShutIfSlow(absl::Duration limit) {
  const MutexLock lock(&mutex_);
  std::erase_if(databases_, [limit](const std::weak_ptr<Database>& watched) {
    const std::shared_ptr<Database> database = watched.lock();
    if (database != nullptr) database->ShutIfSlow(limit);
    return database == nullptr;
  });
}

void DatabaseWatch::Close() {
  const MutexLock lock(&mutex_);
  closed_ = true;
  for (const std::weak_ptr<Database>& watched : databases_) {
    const std::shared_ptr<Database> database = watched.lock();
    if (database != nullptr) database->Shut();
  }
}

}  // namespace berth::placement
