// What the bench asks of placement, as bytes: flat hosts with three classes each, claims on them,
// and the search for candidates.
#ifndef BERTH_TESTS_BENCH_REQUESTS_H_
#define BERTH_TESTS_BENCH_REQUESTS_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/placement/v1/candidate.pb.h"

namespace berth::bench {

// Hosts are known by their number, 0 first. The number is the end of the uuid, in decimal digits,
// so that SQL can make it as well.
std::string HostUuid(int64_t number);
std::string HostName(int64_t number);

std::string CreateHostRequest(int64_t number);
// The inventories of topology.h.
std::string HostInventoriesRequest(int64_t number, int64_t generation);

std::string HostTraitsRequest(int64_t number, int64_t generation);
std::string HostAggregatesRequest(int64_t number, int64_t generation);
// The first number of hosts that a bench registers, in four calls and in one.
inline constexpr int64_t kNewHosts = 500'000'000;
inline constexpr int64_t kOtherNewHosts = 600'000'000;
// A host that no bench fills, with the same three classes.
inline constexpr int64_t kHotHost = 999'999'999;

// What a claim takes of a host.
struct Amounts {
  int64_t vcpu = 1;
  int64_t memory_mb = 256;
  int64_t disk_gb = 1;
};

// One that hosts have few places for; see topology.h.
inline constexpr Amounts kBusyClaim{.vcpu = 8, .memory_mb = 32'768, .disk_gb = 400};

// Claims by consumers that were never there, each on one host. Serialized once; the uuids are
// written over.
class ClaimRequests {
 public:
  // `consumers`: claims of one message, one or all of which take effect. `with_request_id`: each
  // message has a request id that was never used.
  explicit ClaimRequests(int64_t host_count, int consumers = 1, const Amounts& amounts = Amounts(),
                         bool with_request_id = false);
  // On hosts taken at random.
  std::string Next();
  // Each on the host of that number. REQUIRES: one for each consumer.
  std::string NextOn(absl::Span<const int64_t> hosts);
  // All on the host of that uuid.
  std::string NextOn(const std::string& host);
  // The last consumer that claimed.
  const std::string& consumer() const { return consumer_; }

 private:
  // Writes a new consumer and a host into the claim at `at`.
  void Put(size_t at, const std::string& host);
  void PutRequestId();

  const int64_t host_count_;
  std::string bytes_;
  std::vector<size_t> consumers_at_;
  std::vector<size_t> hosts_at_;
  size_t request_id_at_ = std::string::npos;  // npos: messages have none
  std::string consumer_;
  std::mt19937_64 random_{std::random_device{}()};
};

std::string ReleaseRequest(const std::string& consumer);

// Claims on three providers of a tree of topology.h, one tree after the other.
class TreeClaimRequests {
 public:
  explicit TreeClaimRequests(int64_t tree_count);
  std::string Next();

 private:
  const int64_t tree_count_;
  int64_t next_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
};
// Where such a claim could go; there are kTreeCandidates ways in each tree. 0: no limit.
placement::v1::FindCandidatesRequest TreeCandidatesRequest(int limit);
inline constexpr int kTreeCandidates = 2;

// A claim of what `candidate` says, by a consumer that was never there.
std::string ClaimOf(const placement::v1::Candidate& candidate, std::mt19937_64& random);

// The same claims as on hosts, each leaving it to placement where: the first host that has room, or the one where
// most is free.
class ClaimSearchRequests {
 public:
  explicit ClaimSearchRequests(bool spread);
  std::string Next();

 private:
  std::string bytes_;
  size_t consumer_at_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
};

// Up to `limit` places for such a claim, with summaries.
placement::v1::FindCandidatesRequest CandidatesRequest(int limit,
                                                       const Amounts& amounts = Amounts());
// What OpenStack's gate asks: places on hosts that have trait and aggregate of topology.h.
placement::v1::FindCandidatesRequest MarkedCandidatesRequest(int limit);
// Places for a claim in any order, without summaries.
std::string RandomCandidatesRequest(int limit, const Amounts& amounts);

// Places that no host has room for.
inline constexpr Amounts kTooMuch{.vcpu = 100'000, .memory_mb = 256, .disk_gb = 1};

inline constexpr int kDeviceCandidates = 10;
// kDeviceCandidates ways to take `groups` devices of one host, each from another provider.
std::string DevicesRequest(int groups);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_REQUESTS_H_
