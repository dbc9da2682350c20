// NameThread: gives the calling thread a name, which `top -H` and profilers show.
#ifndef BERTH_PLACEMENT_GROUND_THREAD_NAME_H_
#define BERTH_PLACEMENT_GROUND_THREAD_NAME_H_

#include <pthread.h>

namespace berth::placement {

// REQUIRES: `name` has at most 15 characters; a longer name changes nothing.
inline void NameThread(const char* name) { (void)pthread_setname_np(pthread_self(), name); }

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_GROUND_THREAD_NAME_H_
