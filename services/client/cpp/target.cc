#include "services/client/cpp/target.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"

namespace berth::client {

std::string TargetOf(const std::string& address) {
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
