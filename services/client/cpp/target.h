// TargetOf: where a channel leads, in the form that costs gRPC least.
#ifndef BERTH_SERVICES_CLIENT_CPP_TARGET_H_
#define BERTH_SERVICES_CLIENT_CPP_TARGET_H_

#include <arpa/inet.h>

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"

namespace berth::client {

// The target of a channel to `address`. For an address of IPv4 or IPv6 with a port, the form for which
// gRPC needs no resolver of names. The resolver begins anew after an attempt that failed, and gRPC
// then reads the certificate, the key and the CAs again. Anything else is returned as it is.
inline std::string TargetOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return address;
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (port.empty() || !std::all_of(port.begin(), port.end(), absl::ascii_isdigit)) return address;
  in6_addr bits;
  if (inet_pton(AF_INET, host.c_str(), &bits) == 1) return "ipv4:" + address;
  if (host.size() < 2 || host.front() != '[' || host.back() != ']') return address;
  const std::string six = host.substr(1, host.size() - 2);
  return inet_pton(AF_INET6, six.c_str(), &bits) == 1 ? "ipv6:" + address : address;
}

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_TARGET_H_
