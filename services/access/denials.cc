#include "services/access/denials.h"

namespace berth::services {

bool DenialPace::Lets(const std::string& identity, placement::BootTime now, int64_t* omitted) {
  const placement::MutexLock lock(&mutex_);
  if (last_.size() >= kIdentitiesMax && !last_.contains(identity)) last_.clear();
  Last& last = last_[identity];
  if (now < last.line + kBetweenLines) {
    ++last.omitted;
    return false;
  }
  *omitted = last.omitted;
  last = {now, 0};
  return true;
}

}  // namespace berth::services
