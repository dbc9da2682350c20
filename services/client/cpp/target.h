// TargetOf: where a channel leads, in the form that costs gRPC least.
#ifndef BERTH_SERVICES_CLIENT_CPP_TARGET_H_
#define BERTH_SERVICES_CLIENT_CPP_TARGET_H_

#include <string>

namespace berth::client {

// The target of a channel to `address`. For an address of IPv4 or IPv6 with a port, the form for which
// gRPC needs no resolver of names. The resolver begins anew after an attempt that failed, and gRPC
// then reads the certificate, the key and the CAs again. Anything else is returned as it is.
std::string TargetOf(const std::string& address);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_TARGET_H_
