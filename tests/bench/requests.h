// What the bench asks of placement, as bytes: flat hosts with three classes each, claims on them,
// and the search for candidates.
#ifndef BERTH_TESTS_BENCH_REQUESTS_H_
#define BERTH_TESTS_BENCH_REQUESTS_H_

#include <cstdint>
#include <random>
#include <string>

namespace berth::bench {

// Hosts are known by their number, 0 first. The number is the end of the uuid, in decimal digits,
// so that SQL can make it as well.
std::string HostUuid(int64_t number);

std::string CreateHostRequest(int64_t number);
// 64 VCPU at ratio 16, 256 GiB of memory of which 512 MiB are reserved, 4 TiB of disk: room for
// more than a thousand claims. The hot host has a million times as much.
std::string HostInventoriesRequest(int64_t number, int64_t generation);

std::string HostTraitsRequest(int64_t number, int64_t generation);
std::string HostAggregatesRequest(int64_t number, int64_t generation);
// The first number of hosts that a bench registers.
inline constexpr int64_t kNewHosts = 500'000'000;
// A host that no bench fills, with the same three classes.
inline constexpr int64_t kHotHost = 999'999'999;

// A host of another kind, with devices below it, each a provider with one unit. Number 0 is the
// host itself, which has nothing to give.
inline constexpr int kDeviceCount = 8;
std::string DeviceClassRequest();
std::string CreateDeviceRequest(int device);
std::string DeviceInventoriesRequest(int device, int64_t generation);

// Claims of 1 VCPU, 256 MiB and 1 GiB by a consumer that was never there, each on one host.
// Serialized once; the uuids are written over.
class ClaimRequests {
 public:
  explicit ClaimRequests(int64_t host_count);
  // On a host taken at random.
  std::string Next();
  // On the host of that number.
  std::string NextOn(int64_t host);

 private:
  const int64_t host_count_;
  std::string bytes_;
  size_t consumer_at_ = 0;
  size_t host_at_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
};

// The same claims, each leaving it to placement where: the first host that has room, or the one where
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
std::string CandidatesRequest(int limit);
inline constexpr int kDeviceCandidates = 10;
// kDeviceCandidates ways to take `groups` devices of one host, each from another provider.
std::string DevicesRequest(int groups);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_REQUESTS_H_
