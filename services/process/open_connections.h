// OpenConnections: the connections over TCP of a server, how many there may be, and how many of them
// one address may have.
//
// gRPC does not tell when it closes a connection. So a connection is known by the number of its
// descriptor and by the cookie of its socket, which the kernel never gives to another socket: when
// the descriptor does not lead to this cookie any more, the connection has ended. This is looked at
// when it matters.
//
// A connection comes, and the Acceptor has it. It begins when gRPC gets it. It has begun when it makes
// its first call, when gRPC has not closed it for want of a handshake, or after a second if others
// wait.
#ifndef BERTH_SERVICES_PROCESS_OPEN_CONNECTIONS_H_
#define BERTH_SERVICES_PROCESS_OPEN_CONNECTIONS_H_

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "placement/ground/mutex.h"

namespace berth::services {

struct ConnectionBounds {
  int connections_max = 0;
  int beginning_max = 0;  // connections that may begin at once
  // How long a connection may send nothing, and then, when gRPC has it, how long its handshakes may
  // take.
  absl::Duration handshake_max = absl::Seconds(10);
};

// Returns the bounds for a process with the hard limit `files` of open files. A `connections_max` of 0
// means as many connections as the files are enough for, but at most 20,000. Fails with
//   kInvalidArgument     `connections_max` is below 0, or above 1,000,000
//   kFailedPrecondition  so many connections need more files
absl::StatusOr<ConnectionBounds> ConnectionBoundsFor(int connections_max, int64_t files);

// The hard limit of open files of this process.
int64_t FilesMax();
// Raises the limit of open files of this process to what `bounds` need, at most to the hard limit.
void RaiseFileLimit(const ConnectionBounds& bounds);

// Where a connection comes from: an IPv4 address, or the first 64 bits of an IPv6 address, because
// one machine can usually have all addresses that begin with them.
using Origin = uint64_t;

struct Peer {
  Origin origin = 0;
  std::string name;  // as gRPC writes it: "ipv4:192.0.2.1:4711"
};
// REQUIRES: an address of IPv4 or IPv6.
Peer PeerOf(const sockaddr_storage& address);

// Places that origins share. An origin may have as many as twice the free places, or its share if
// that is more: a tenth of all places, but at least one. So one origin alone may have two thirds of
// them. Not thread-safe.
class Places {
 public:
  explicit Places(int places_max);

  bool MayEnter(Origin origin) const { return !full() && !UsesUpShare(origin); }
  bool UsesUpShare(Origin origin) const;
  bool full() const { return size_ >= places_max_; }
  int size() const { return size_; }

  void Enter(Origin origin);
  // REQUIRES: the origin has entered as often as it has left, and once more.
  void Leave(Origin origin);

 private:
  const int places_max_;
  const int share_;
  int size_ = 0;
  absl::flat_hash_map<Origin, int> counts_;  // above 0
};

// Why a connection is closed that gRPC would have kept.
enum class ConnectionRefusal {
  kFull,    // there are connections_max already, or the kernel has no memory for one more
  kShare,   // those of its address use up the share of the address
  kSilent,  // it sent nothing in time, or others came while it was silent
};

// Thread-safe.
class OpenConnections {
 public:
  explicit OpenConnections(const ConnectionBounds& bounds);
  OpenConnections(const OpenConnections&) = delete;
  OpenConnections& operator=(const OpenConnections&) = delete;

  const ConnectionBounds& bounds() const { return bounds_; }

  // Why one more connection of `origin` may not come: kShare or, if it is not that, kFull. Nothing if
  // it may.
  std::optional<ConnectionRefusal> WhyNot(Origin origin, placement::BootTime now);
  // Notes that a connection of `origin` has come, or that the Acceptor has closed it.
  void Come(Origin origin);
  void Leave(Origin origin);
  // Whether one more connection of `origin` may begin.
  bool MayBegin(Origin origin) const;
  // Whether no connection may begin, wherever it comes from.
  bool BeginningIsFull() const;
  // Notes that gRPC gets the socket `descriptor` of a connection that has come. To be called before
  // gRPC has it.
  void Begin(int descriptor, const Peer& peer, placement::BootTime now);

  // Looks at the connections that begin. If `others_wait`, those that have been at it for a second
  // and have nothing left to read count as begun. So it takes a flood of connections that never
  // finish their handshakes a second to get the places of those before. gRPC closes them later.
  void LookAtBeginning(placement::BootTime now, bool others_wait);
  // How many connections begin.
  int beginning() const { return beginning_count_.load(std::memory_order_relaxed); }
  // Notes that the connection of `peer` makes a call. `peer` returns the name as in Peer, and is only
  // called if a connection begins at the moment.
  template <typename PeerName>
  void NoteCall(const PeerName& peer) {
    if (beginning() != 0) HasBegun(peer());
  }

  void CountRefusal(ConnectionRefusal why) { ++refused_[static_cast<size_t>(why)]; }
  int64_t refused(ConnectionRefusal why) const { return refused_[static_cast<size_t>(why)].load(); }
  // How many connections there are. Looks at each that gRPC has.
  int Count();

 private:
  struct Connection {
    int descriptor;
    Origin origin;
    bool begins;
  };
  struct Beginner {
    uint64_t cookie;
    placement::BootTime since;
  };
  using Beginners = std::multimap<std::string, Beginner, std::less<>>;

  void HasBegun(absl::string_view peer);
  // No longer counts the connection at `at` among those that begin. Returns the next one.
  Beginners::iterator Settle(Beginners::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the connections that have ended, except those that begin: these LookAtBeginning forgets.
  void ForgetEnded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(uint64_t cookie) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ConnectionBounds bounds_;
  mutable placement::Mutex mutex_;
  Places places_ ABSL_GUARDED_BY(mutex_);     // of all connections
  Places beginning_ ABSL_GUARDED_BY(mutex_);  // of those that begin
  absl::flat_hash_map<uint64_t, Connection> connections_ ABSL_GUARDED_BY(mutex_);  // by cookie
  Beginners beginners_ ABSL_GUARDED_BY(mutex_);                                    // by peer
  placement::BootTime looked_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  std::atomic<int> beginning_count_ = 0;
  std::array<std::atomic<int64_t>, 3> refused_ = {};
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_OPEN_CONNECTIONS_H_
