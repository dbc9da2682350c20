#include "services/process/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/server_builder.h"
#include "placement/ground/check.h"
#include "placement/ground/thread_name.h"

namespace berth::services {

using placement::BootNow;
using placement::BootTime;

namespace {

constexpr int kBacklog = 65'535;  // the kernel takes net.core.somaxconn if that is less
constexpr int kAcceptsAtOnce = 64;
constexpr int kEventsAtOnce = 256;
constexpr absl::Duration kLookStep = absl::Milliseconds(100);
constexpr absl::Duration kLookStepIfOthersWait = absl::Milliseconds(10);
constexpr absl::Duration kWaitForDescriptors = absl::Milliseconds(50);
// A client sends at once when it is connected. Else it would be closed for the next one of a flood.
constexpr absl::Duration kSilentLeast = absl::Milliseconds(20);
constexpr uint32_t kEnded = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr uint64_t kStopId = 0;  // then the listeners, by their place; then the connections

template <typename T>
void SetOption(int descriptor, int level, int name, T value) {
  (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

// Whether an address means all addresses of the machine.
bool IsWildcard(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    sockaddr_in four = {};
    std::memcpy(&four, address.ai_addr, sizeof four);
    return four.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  sockaddr_in6 six = {};
  std::memcpy(&six, address.ai_addr, sizeof six);
  return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

int PortOf(int descriptor) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  sockaddr_in6 six = {};  // the port stands at the same place in both families
  std::memcpy(&six, &address, sizeof six);
  return ntohs(six.sin6_port);
}

char* PlaceOfPort(const addrinfo& address) {
  return reinterpret_cast<char*>(address.ai_addr) + (address.ai_family == AF_INET
                                                         ? offsetof(sockaddr_in, sin_port)
                                                         : offsetof(sockaddr_in6, sin6_port));
}

void SetPort(addrinfo* address, int port) {
  const in_port_t number = htons(static_cast<in_port_t>(port));
  std::memcpy(PlaceOfPort(*address), &number, sizeof number);
}

// Returns the addresses of "HOST:PORT" for a listener; null if there are none.
std::unique_ptr<addrinfo, void (*)(addrinfo*)> AddressesOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  (void)getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  return {found, [](addrinfo* list) {
            if (list != nullptr) freeaddrinfo(list);
          }};
}

// The address [::]:PORT, which means all addresses of IPv6 and, for our listeners, of IPv4.
struct AnyAddress {
  explicit AnyAddress(const addrinfo& wildcard) {
    six.sin6_family = AF_INET6;
    std::memcpy(&six.sin6_port, PlaceOfPort(wildcard), sizeof six.sin6_port);
    info.ai_family = AF_INET6;
    info.ai_addr = reinterpret_cast<sockaddr*>(&six);
    info.ai_addrlen = sizeof six;
  }
  sockaddr_in6 six = {};
  addrinfo info = {};
};

bool IsLackOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Whether a peer has sent something, and not only the end of the connection.
bool HasSent(int descriptor) {
  char byte = 0;
  return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace

Acceptor::Acceptor(std::shared_ptr<OpenConnections> connections, absl::Duration unacknowledged_max)
    : connections_(std::move(connections)), unacknowledged_max_(unacknowledged_max) {}

Acceptor::~Acceptor() { Stop(); }

absl::StatusOr<int> Acceptor::Listen(const std::string& address) {
  const auto found = AddressesOf(address);
  int port = 0;
  for (addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    if (port != 0) SetPort(one, port);
    if (IsWildcard(*one)) {
      const AnyAddress any(*one);
      const int any_port = ListenOn(any.info);
      if (any_port != 0) return any_port;
    }
    const int one_port = ListenOn(*one);
    if (one_port != 0) port = one_port;
  }
  if (port != 0) return port;
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
}

int Acceptor::ListenOn(const addrinfo& address) {
  const int listener = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return 0;
  SetOption(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) SetOption(listener, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  // The connections inherit these from the listener.
  SetOption(listener, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(listener, IPPROTO_TCP, TCP_USER_TIMEOUT,
            static_cast<unsigned int>(absl::ToInt64Milliseconds(unacknowledged_max_)));
  if (bind(listener, address.ai_addr, address.ai_addrlen) != 0 || listen(listener, kBacklog) != 0) {
    close(listener);
    return 0;
  }
  listeners_.push_back(listener);
  return PortOf(listener);
}

void Acceptor::Start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> server) {
  BERTH_CHECK(!thread_.joinable());
  server_ = std::move(server);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  BERTH_CHECK(epoll_ >= 0 && stop_ >= 0);
  BERTH_CHECK(Watch(EPOLL_CTL_ADD, stop_, EPOLLIN, kStopId));
  for (size_t i = 0; i < listeners_.size(); ++i) {
    BERTH_CHECK(Watch(EPOLL_CTL_ADD, listeners_[i], EPOLLIN, i + 1));
  }
  next_id_ = listeners_.size() + 1;
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    BERTH_CHECK(write(stop_, &one, sizeof one) == sizeof one);
    thread_.join();
    close(epoll_);
    close(stop_);
  }
  for (const int listener : std::exchange(listeners_, {})) close(listener);
  while (!by_id_.empty()) Close(by_id_.begin()->second);
}

bool Acceptor::Watch(int operation, int descriptor, uint32_t events, uint64_t id) const {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll_, operation, descriptor, &event) == 0;
}

void Acceptor::Run() {
  placement::NameThread("acceptor");
  std::array<epoll_event, kEventsAtOnce> events;
  while (true) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), WaitMilliseconds(BootNow()));
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[i].data.u64;
      if (id == kStopId) return;
      id <= listeners_.size() ? Accept(listeners_[id - 1]) : Heard(id, events[i].events);
    }
    const BootTime now = BootNow();
    if (now >= next_look_) Look(now);
    LetBegin();
  }
}

// How long the thread may sleep; -1: until something happens.
int Acceptor::WaitMilliseconds(BootTime now) const {
  if (silent_.empty() && waiting_.empty() && connections_->beginning() == 0) return -1;
  const absl::Duration step = waiting_.empty() ? kLookStep : kLookStepIfOthersWait;
  const absl::Duration wait = std::clamp(next_look_ - now, absl::ZeroDuration(), step);
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
}

void Acceptor::Accept(int listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    sockaddr_storage address = {};
    socklen_t size = sizeof address;
    const int descriptor = accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                   SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      Receive({descriptor, PeerOf(address), BootNow(), next_id_++});
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (IsLackOfDescriptors(errno)) RestWithout(std::strerror(errno));
    return;
  }
}

void Acceptor::Receive(Newcomer newcomer) {
  const Origin origin = newcomer.peer.origin;
  const auto why = connections_->WhyNot(origin, newcomer.since);
  const bool has_room = !why || CloseOldestSilent(origin, *why);
  connections_->Come(origin);
  const auto at = silent_.insert(silent_.end(), std::move(newcomer));
  by_id_[at->id] = at;
  silent_by_origin_[{origin, at->id}] = at;
  // The kernel may have no memory for the events.
  const bool stays = has_room && Watch(EPOLL_CTL_ADD, at->descriptor, EPOLLIN | EPOLLRDHUP, at->id);
  if (!stays) Refuse(at, why.value_or(ConnectionRefusal::kFull));
}

bool Acceptor::CloseOldestSilent(Origin origin, ConnectionRefusal why) {
  while (!silent_.empty()) {
    auto oldest = silent_.begin();
    if (why == ConnectionRefusal::kShare) {
      const auto found = silent_by_origin_.lower_bound({origin, 0});
      if (found == silent_by_origin_.end() || found->first.first != origin) return false;
      oldest = found->second;
    }
    if (HasSent(oldest->descriptor)) {
      LetWait(oldest);  // before its event has come
      continue;
    }
    if (BootNow() - oldest->since < kSilentLeast) return false;
    Refuse(oldest, ConnectionRefusal::kSilent);
    return true;
  }
  return false;
}

void Acceptor::Heard(uint64_t id, uint32_t events) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;  // closed after the event came
  if ((events & kEnded) != 0) return Close(found->second);
  if (!found->second->waits) LetWait(found->second);
}

void Acceptor::LetWait(Line::iterator at) {
  at->waits = true;
  silent_by_origin_.erase({at->peer.origin, at->id});
  Line& line = waiting_[at->peer.origin];
  line.splice(line.end(), silent_, at);
  if (!Watch(EPOLL_CTL_MOD, at->descriptor, EPOLLRDHUP, at->id)) Close(at);
}

Acceptor::Newcomer Acceptor::Take(Line::iterator at) {
  Newcomer newcomer = std::move(*at);
  by_id_.erase(newcomer.id);
  if (newcomer.waits) {
    const auto line = waiting_.find(newcomer.peer.origin);
    line->second.erase(at);
    if (line->second.empty()) waiting_.erase(line);
  } else {
    silent_by_origin_.erase({newcomer.peer.origin, newcomer.id});
    silent_.erase(at);
  }
  return newcomer;
}

void Acceptor::Close(Line::iterator at) {
  const Newcomer newcomer = Take(at);
  close(newcomer.descriptor);
  connections_->Leave(newcomer.peer.origin);
}

void Acceptor::Look(BootTime now) {
  while (!silent_.empty() && now - silent_.front().since >= connections_->bounds().handshake_max) {
    // The thread may have stood still, so that it has not heard of what was sent.
    if (HasSent(silent_.front().descriptor)) {
      LetWait(silent_.begin());
    } else {
      Refuse(silent_.begin(), ConnectionRefusal::kSilent);
    }
  }
  const bool others_wait = !waiting_.empty();
  connections_->LookAtBeginning(now, others_wait);
  next_look_ = now + (others_wait ? kLookStepIfOthersWait : kLookStep);
}

void Acceptor::LetBegin() {
  while (!waiting_.empty() && !connections_->BeginningIsFull()) {
    const Waiting::iterator turn = NextTurn();
    if (turn == waiting_.end()) return;
    served_ = turn->first;
    GiveToServer(Take(turn->second.begin()));
  }
}

// Returns the first origin after the one that had the last turn of which a connection may begin.
Acceptor::Waiting::iterator Acceptor::NextTurn() {
  auto turn = waiting_.upper_bound(served_);
  for (size_t i = 0; i < waiting_.size(); ++i, ++turn) {
    if (turn == waiting_.end()) turn = waiting_.begin();
    if (connections_->MayBegin(turn->first)) return turn;
  }
  return waiting_.end();
}

void Acceptor::GiveToServer(const Newcomer& newcomer) {
  (void)epoll_ctl(epoll_, EPOLL_CTL_DEL, newcomer.descriptor, nullptr);
  connections_->Begin(newcomer.descriptor, newcomer.peer, BootNow());
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = newcomer.descriptor;
  server_->HandleNewConnection(&parameters);
}

void Acceptor::Refuse(Line::iterator at, ConnectionRefusal why) {
  connections_->CountRefusal(why);
  const char* text = "it has sent nothing";
  if (why == ConnectionRefusal::kFull) text = "there are too many";
  if (why == ConnectionRefusal::kShare) text = "there are too many of its address";
  int64_t omitted = 0;
  if (pace_.Lets("refused", BootNow(), &omitted)) {
    Log(LogLevel::kWarning, "a connection was closed",
        {{"peer", at->peer.name}, {"why", std::string(text)}, {"omitted", omitted}});
  }
  Close(at);
}

void Acceptor::RestWithout(const char* lack) {
  int64_t omitted = 0;
  if (pace_.Lets("waits", BootNow(), &omitted)) {
    Log(LogLevel::kError, "a connection has to wait",
        {{"why", std::string(lack)}, {"omitted", omitted}});
  }
  absl::SleepFor(kWaitForDescriptors);
}

}  // namespace berth::services
