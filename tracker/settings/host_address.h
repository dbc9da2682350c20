// The address by which this host reaches the others.
#ifndef BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_
#define BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_

#include <string>

namespace berth::tracker {

// The address of the interface with the default route, loopback's when there is none (T-69). Nothing is
// sent.
std::string DefaultHostAddress();

// The operating system's host name.
std::string SystemHostName();

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_
