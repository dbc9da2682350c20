// Listener: whom to tell what peers do, where a library calls functions of ours without any context.
//
// Thread-safe. The teller may be replaced while another thread tells.
#ifndef BERTH_SERVICES_TLS_LISTENER_H_
#define BERTH_SERVICES_TLS_LISTENER_H_

#include <functional>
#include <string>
#include <utility>

#include "placement/ground/mutex.h"

namespace berth::services {

class Listener {
 public:
  // `wrong`: something has failed. Null tells nobody.
  using Teller = std::function<void(bool wrong, const std::string& text)>;

  void Put(Teller teller) {
    placement::MutexLock lock(&mutex_);
    teller_ = std::move(teller);
  }
  void Tell(bool wrong, const std::string& text) const {
    Teller teller;
    {
      placement::MutexLock lock(&mutex_);
      teller = teller_;
    }
    if (teller) teller(wrong, text);
  }

 private:
  mutable placement::Mutex mutex_;
  Teller teller_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TLS_LISTENER_H_
