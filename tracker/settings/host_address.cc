#include "tracker/settings/host_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <climits>

namespace berth::tracker {

std::string DefaultHostAddress() {
  const std::string fallback = "127.0.0.1";
  const int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return fallback;
  sockaddr_in target = {};
  target.sin_family = AF_INET;
  target.sin_port = htons(9);
  // The target is an address that is reserved for documentation. Connecting a datagram socket to it
  // sends nothing: the kernel only looks up the route.
  inet_pton(AF_INET, "192.0.2.1", &target.sin_addr);
  sockaddr_in own = {};
  socklen_t size = sizeof own;
  const bool routed =
      connect(probe, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0 &&
      getsockname(probe, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  close(probe);
  char text[INET_ADDRSTRLEN];
  if (!routed || inet_ntop(AF_INET, &own.sin_addr, text, sizeof text) == nullptr) return fallback;
  return text;
}

std::string SystemHostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

}  // namespace berth::tracker
