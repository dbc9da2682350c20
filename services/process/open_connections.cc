#include "services/process/open_connections.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "placement/ground/check.h"

namespace berth::services {

using placement::BootTime;
using placement::MutexLock;

namespace {

constexpr int kConnectionsDefault = 20'000;
constexpr int kConnectionsMost = 1'000'000;
constexpr int kBeginningLeast = 64;
// About as many as two processors do in a second.
constexpr int kBeginningMost = 256;
// Of the files that a process may open, an eighth is for other things than connections, but not more
// than kOtherFilesMost: the database, libvirt, the log, the metrics.
constexpr int64_t kOtherFilesLeast = 32;
constexpr int64_t kOtherFilesMost = 512;
constexpr int kOriginsSharing = 10;
constexpr absl::Duration kBeginningIfOthersWait = absl::Seconds(1);
// gRPC's timer may be late.
constexpr absl::Duration kTimerDelayMax = absl::Seconds(1);
constexpr absl::Duration kLookPause = absl::Milliseconds(50);

int BeginningFor(int64_t connections) {
  return static_cast<int>(
      std::clamp<int64_t>(connections / kOriginsSharing, kBeginningLeast, kBeginningMost));
}

int64_t FilesFor(int64_t connections) {
  // An eighth of all files is a seventh of the rest.
  return connections + std::clamp(connections / 7 + 1, kOtherFilesLeast, kOtherFilesMost);
}

// The cookie of the socket `descriptor`; 0 if it is none.
uint64_t CookieOf(int descriptor) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const int failed = getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size);
  return failed == 0 ? cookie : 0;
}

// Whether all that the peer has sent was read, so that it is not this process that is slow.
bool IsPeersTurn(int descriptor) {
  int unread = 0;
  return ioctl(descriptor, FIONREAD, &unread) == 0 && unread == 0;
}

template <typename T>
std::string AddressText(int family, const T& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, &address, text, sizeof text);
  return text;
}

}  // namespace

absl::StatusOr<ConnectionBounds> ConnectionBoundsFor(int connections_max, int64_t files) {
  if (connections_max < 0 || connections_max > kConnectionsMost) {
    return absl::InvalidArgumentError(absl::StrCat("--connections-max is ", connections_max,
                                                   ", but must be 0 to ", kConnectionsMost,
                                                   "; 0 means as many as the files allow"));
  }
  const int64_t others = std::clamp(files / 8, kOtherFilesLeast, kOtherFilesMost);
  const int64_t most = std::max<int64_t>(files - others, 1);
  ConnectionBounds bounds;
  bounds.connections_max = connections_max;
  if (connections_max == 0) {
    bounds.connections_max = static_cast<int>(std::min<int64_t>(most, kConnectionsDefault));
  }
  bounds.beginning_max = BeginningFor(bounds.connections_max);
  if (bounds.connections_max <= most) return bounds;
  return absl::FailedPreconditionError(absl::StrCat(
      "--connections-max is ", connections_max, ", which takes ", FilesFor(connections_max),
      " open files, but this process may open ", files, ", which is enough for ", most,
      " connections: give less, or raise the hard limit (LimitNOFILE= of a unit, --ulimit of a "
      "container)"));
}

int64_t FilesMax() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  constexpr rlim_t kUnlimited = 1 << 30;
  return static_cast<int64_t>(std::min(limit.rlim_max, kUnlimited));
}

void RaiseFileLimit(const ConnectionBounds& bounds) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted =
      std::min(limit.rlim_max, static_cast<rlim_t>(FilesFor(bounds.connections_max)));
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // a process may always raise it to its hard limit
}

Peer PeerOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in four = {};
    std::memcpy(&four, &address, sizeof four);
    return {ntohl(four.sin_addr.s_addr),
            absl::StrCat("ipv4:", AddressText(AF_INET, four.sin_addr), ":", ntohs(four.sin_port))};
  }
  BERTH_CHECK(address.ss_family == AF_INET6);
  sockaddr_in6 six = {};
  std::memcpy(&six, &address, sizeof six);
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    sockaddr_in four = {};
    four.sin_family = AF_INET;
    four.sin_port = six.sin6_port;
    std::memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof four.sin_addr);
    sockaddr_storage mapped = {};
    std::memcpy(&mapped, &four, sizeof four);
    return PeerOf(mapped);
  }
  uint64_t prefix = 0;
  std::memcpy(&prefix, &six.sin6_addr, sizeof prefix);
  const std::string scope = six.sin6_scope_id == 0 ? "" : absl::StrCat("%25", six.sin6_scope_id);
  return {be64toh(prefix), absl::StrCat("ipv6:%5B", AddressText(AF_INET6, six.sin6_addr), scope,
                                        "%5D:", ntohs(six.sin6_port))};
}

Places::Places(int places_max)
    : places_max_(places_max), share_(std::max(places_max / kOriginsSharing, 1)) {}

bool Places::UsesUpShare(Origin origin) const {
  const auto count = counts_.find(origin);
  return count != counts_.end() && count->second >= std::max(share_, 2 * (places_max_ - size_));
}

void Places::Enter(Origin origin) {
  ++counts_[origin];
  ++size_;
}

void Places::Leave(Origin origin) {
  const auto count = counts_.find(origin);
  BERTH_CHECK(count != counts_.end() && count->second > 0);
  if (--count->second == 0) counts_.erase(count);
  --size_;
}

OpenConnections::OpenConnections(const ConnectionBounds& bounds)
    : bounds_(bounds), places_(bounds.connections_max), beginning_(bounds.beginning_max) {}

std::optional<ConnectionRefusal> OpenConnections::WhyNot(Origin origin, BootTime now) {
  MutexLock lock(&mutex_);
  if (places_.MayEnter(origin)) return std::nullopt;
  if (now - looked_ >= kLookPause) {
    looked_ = now;
    ForgetEnded();
  }
  if (places_.UsesUpShare(origin)) return ConnectionRefusal::kShare;
  if (places_.full()) return ConnectionRefusal::kFull;
  return std::nullopt;
}

void OpenConnections::Come(Origin origin) {
  MutexLock lock(&mutex_);
  places_.Enter(origin);
}

void OpenConnections::Leave(Origin origin) {
  MutexLock lock(&mutex_);
  places_.Leave(origin);
}

bool OpenConnections::MayBegin(Origin origin) const {
  MutexLock lock(&mutex_);
  return beginning_.MayEnter(origin);
}

bool OpenConnections::BeginningIsFull() const {
  MutexLock lock(&mutex_);
  return beginning_.full();
}

void OpenConnections::Begin(int descriptor, const Peer& peer, BootTime now) {
  const uint64_t cookie = CookieOf(descriptor);
  if (cookie == 0) return Leave(peer.origin);  // a kernel before Linux 4.12 cannot tell its end
  MutexLock lock(&mutex_);
  const Connection connection{descriptor, peer.origin, true};
  BERTH_CHECK(connections_.emplace(cookie, connection).second);  // the kernel gives it once
  beginning_.Enter(peer.origin);
  beginners_.emplace(peer.name, Beginner{cookie, now});
  ++beginning_count_;
}

void OpenConnections::LookAtBeginning(BootTime now, bool others_wait) {
  MutexLock lock(&mutex_);
  for (auto at = beginners_.begin(); at != beginners_.end();) {
    const Beginner beginner = at->second;
    const absl::Duration age = now - beginner.since;
    const int descriptor = connections_.at(beginner.cookie).descriptor;
    if (CookieOf(descriptor) != beginner.cookie) {
      at = Settle(at);
      Forget(beginner.cookie);
      continue;
    }
    const bool is_over = age >= bounds_.handshake_max + kTimerDelayMax;
    const bool makes_way = others_wait && age >= kBeginningIfOthersWait && IsPeersTurn(descriptor);
    at = is_over || makes_way ? Settle(at) : std::next(at);
  }
}

int OpenConnections::Count() {
  MutexLock lock(&mutex_);
  ForgetEnded();
  return places_.size();
}

void OpenConnections::HasBegun(absl::string_view peer) {
  MutexLock lock(&mutex_);
  auto at = beginners_.find(peer);
  // Two connections to different addresses of the server may come from the same one.
  while (at != beginners_.end() && at->first == peer) at = Settle(at);
}

OpenConnections::Beginners::iterator OpenConnections::Settle(Beginners::iterator at) {
  Connection& connection = connections_.at(at->second.cookie);
  connection.begins = false;
  beginning_.Leave(connection.origin);
  --beginning_count_;
  return beginners_.erase(at);
}

void OpenConnections::ForgetEnded() {
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto& [cookie, connection] = *at++;
    if (!connection.begins && CookieOf(connection.descriptor) != cookie) Forget(cookie);
  }
}

void OpenConnections::Forget(uint64_t cookie) {
  const auto found = connections_.find(cookie);
  places_.Leave(found->second.origin);
  connections_.erase(found);
}

}  // namespace berth::services
