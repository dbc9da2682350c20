// The address and the name of this host, as the operating system knows them.
#ifndef BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_
#define BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_

#include <string>

namespace berth::tracker {

// Returns the IPv4 address of the interface with the default route, or 127.0.0.1 if there is no
// such route (T-69). Sends no packet.
std::string DefaultHostAddress();

// Returns the host name, or localhost if the operating system does not tell it.
std::string SystemHostName();

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_HOST_ADDRESS_H_
