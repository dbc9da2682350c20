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
// more than a thousand claims.
std::string HostInventoriesRequest(int64_t number, int64_t generation);

// Claims of 1 VCPU, 256 MiB and 1 GiB by a consumer that was never there, each on one host.
// Serialized once; the uuids are written over.
class ClaimRequests {
 public:
  explicit ClaimRequests(int64_t host_count);
  // On a host taken at random.
  std::string Next();

 private:
  const int64_t host_count_;
  std::string bytes_;
  size_t consumer_at_ = 0;
  size_t host_at_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
};

// Up to `limit` places for such a claim, with summaries.
std::string CandidatesRequest(int limit);

}  // namespace berth::bench

#endif  // BERTH_TESTS_BENCH_REQUESTS_H_
