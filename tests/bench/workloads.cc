#include "tests/bench/workloads.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/ledger.pb.h"
#include "tests/bench/echo.h"
#include "tests/bench/requests.h"
#include "tests/bench/topology.h"

namespace berth::bench {
namespace {

namespace pb = berth::placement::v1;

constexpr char kSetAllocations[] = "AllocationService/SetAllocations";
constexpr char kFindCandidates[] = "CandidateService/FindCandidates";
// What a client does between two calls is not the server's time, and lets it fall asleep.
constexpr int64_t kLookedAtEach = 64;
constexpr int kPlaces = 10;
// Of a step of the gate.
constexpr int kGateLimit = 5, kGateCalls = 4;

using Next = absl::StatusOr<std::optional<NextCall>>;

Next Failed(const grpc::Status& status) {
  return absl::UnknownError(
      absl::StrCat("code ", status.error_code(), ": ", status.error_message()));
}

// Schedule's loop: what each operation on its way has found.
class Scheduler {
 public:
  explicit Scheduler(int64_t hosts) : claims_(hosts, 1, kBusyClaim) {}

  Next After(int64_t number, const grpc::Status& status, absl::string_view reply) {
    Operation& operation = operations_[number];
    std::vector<std::string>& places = operation.places;
    if (operation.tries == 0) {
      pb::FindCandidatesResponse found;
      if (!status.ok()) return Failed(status);
      if (!found.ParseFromArray(reply.data(), static_cast<int>(reply.size()))) {
        return absl::InternalError("a wrong answer");
      }
      for (const pb::Candidate& place : found.candidates()) places.push_back(place.root_uuid());
      std::shuffle(places.begin(), places.end(), random_);
    } else if (status.ok()) {
      operations_.erase(number);
      return std::nullopt;
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      ++conflicts_;
    } else {
      return Failed(status);
    }
    if (places.empty()) return absl::ResourceExhaustedError("every place was taken meanwhile");
    ++tries_;
    ++operation.tries;
    const std::string place = std::move(places.back());
    places.pop_back();
    return NextCall{absl::StrCat(kService, kSetAllocations), claims_.NextOn(place)};
  }

  int64_t conflicts() const { return conflicts_; }
  int64_t tries() const { return tries_; }

 private:
  struct Operation {
    int tries = 0;
    std::vector<std::string> places;  // not yet tried
  };

  ClaimRequests claims_;
  absl::flat_hash_map<int64_t, Operation> operations_;
  std::mt19937_64 random_{std::random_device{}()};
  int64_t conflicts_ = 0;
  int64_t tries_ = 0;
};

pb::FindCandidatesRequest WantedBy(const Settings& settings) {
  if (settings.nested) return TreeCandidatesRequest(settings.limit);
  if (settings.marked) return MarkedCandidatesRequest(settings.limit);
  return CandidatesRequest(settings.limit, settings.none ? kTooMuch : Amounts());
}

std::string SearchOf(const Settings& settings) {
  pb::FindCandidatesRequest request = WantedBy(settings);
  if (settings.table) request.set_form(pb::CANDIDATE_FORM_TABLE);
  return request.SerializeAsString();
}

}  // namespace

int Claim(const Settings& settings) {
  ClaimRequests claims(settings.hosts, settings.consumers, Amounts(), settings.request_ids);
  TreeClaimRequests tree_claims(settings.hosts);
  const std::string hot = HostUuid(kHotHost);
  LoopOptions loop = Measuring(settings, kSetAllocations);
  loop.request = [&](int64_t) {
    if (settings.nested) return tree_claims.Next();
    return settings.hot ? claims.NextOn(hot) : claims.Next();
  };
  LoopResult result = RunLoop(loop);
  result.done *= settings.consumers;
  result.per_second *= settings.consumers;
  return Tell(result);
}

int ClaimAndRelease(const Settings& settings) {
  ClaimRequests claims(settings.hosts);
  absl::flat_hash_map<int64_t, std::string> claimed;
  LoopOptions loop = Measuring(settings, kSetAllocations);
  loop.request = [&](int64_t number) {
    std::string request = claims.Next();
    claimed[number] = claims.consumer();
    return request;
  };
  loop.next = [&](int64_t number, const grpc::Status& status, absl::string_view) -> Next {
    if (!status.ok()) return Failed(status);
    const auto of_claim = claimed.extract(number);
    if (of_claim.empty()) return std::nullopt;
    return NextCall{absl::StrCat(kService, "AllocationService/DeleteAllocations"),
                    ReleaseRequest(of_claim.mapped())};
  };
  return Tell(RunLoop(loop));
}

int ClaimSearch(const Settings& settings) {
  ClaimSearchRequests requests(settings.spread);
  LoopOptions loop = Measuring(settings, "CandidateService/Claim");
  loop.request = [&](int64_t) { return requests.Next(); };
  return Tell(RunLoop(loop));
}

int Schedule(const Settings& settings) {
  const std::string request = RandomCandidatesRequest(kPlaces, kBusyClaim);
  Scheduler scheduler(settings.hosts);
  LoopOptions loop = Measuring(settings, kFindCandidates);
  loop.request = [&](int64_t) { return request; };
  loop.next = [&](int64_t number, const grpc::Status& status, absl::string_view reply) {
    return scheduler.After(number, status, reply);
  };
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"tries", scheduler.tries()}, {"conflicts", scheduler.conflicts()}});
}

int FindCandidates(const Settings& settings) {
  const std::string request = SearchOf(settings);
  const int64_t all = settings.none     ? 0
                      : settings.nested ? kTreeCandidates * settings.hosts
                                        : settings.hosts;
  const int64_t expected = settings.limit > 0 ? std::min<int64_t>(settings.limit, all) : all;
  size_t answer_bytes = 0;
  absl::Duration decoding;
  int64_t decoded = 0;
  LoopOptions loop = Measuring(settings, kFindCandidates);
  loop.looked_at_each = kLookedAtEach;
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [&](int64_t, absl::string_view reply) {
    const absl::Time begun = absl::Now();
    pb::FindCandidatesResponse response;
    const bool parsed = response.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
    decoding += absl::Now() - begun;
    ++decoded;
    answer_bytes = reply.size();
    const int found =
        settings.table ? response.table().candidate_shapes_size() : response.candidates_size();
    return parsed && found == expected && !response.truncated();
  };
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"request_bytes", request.size()},
                       {"answer_bytes", answer_bytes},
                       {"decode_us", absl::ToDoubleMicroseconds(decoding) /
                                         static_cast<double>(std::max<int64_t>(decoded, 1))}});
}

int GateSteps(const Settings& settings) {
  Settings few = settings;
  few.limit = kGateLimit;
  few.table = false;
  const std::string first = SearchOf(few);
  const std::string all = SearchOf(settings);
  std::mt19937_64 random(std::random_device{}());
  int answered = 0;
  LoopOptions loop = Making(settings, kFindCandidates, settings.count, 1);
  loop.request = [&](int64_t) {
    answered = 0;
    return first;
  };
  loop.next = [&](int64_t, const grpc::Status& status, absl::string_view reply) -> Next {
    if (!status.ok()) return Failed(status);
    ++answered;
    if (answered == kGateCalls) return std::nullopt;
    if (answered > 1) return NextCall{absl::StrCat(kService, kFindCandidates), all};
    pb::FindCandidatesResponse found;
    if (!found.ParseFromArray(reply.data(), static_cast<int>(reply.size())) ||
        found.candidates_size() != kGateLimit) {
      return absl::InternalError("a wrong answer");
    }
    return NextCall{absl::StrCat(kService, kSetAllocations), ClaimOf(found.candidates(0), random)};
  };
  return Tell(RunLoop(loop));
}

int FindDevices(const Settings& settings) {
  const std::string request = DevicesRequest(settings.groups);
  LoopOptions loop = Measuring(settings, kFindCandidates);
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [&](int64_t, absl::string_view reply) {
    pb::FindCandidatesResponse response;
    return response.ParseFromArray(reply.data(), static_cast<int>(reply.size())) &&
           response.candidates_size() == kDeviceCandidates;
  };
  return Tell(RunLoop(loop));
}

int Echo(const Settings& settings) {
  const std::string request = EchoPayload(settings.request_bytes);
  LoopOptions loop = Measuring(settings, "");
  loop.method = kEchoMethod;
  loop.looked_at_each = kLookedAtEach;
  loop.request = [&](int64_t) { return request; };
  loop.is_right = [](int64_t, absl::string_view reply) { return IsEchoPayload(reply); };
  return Tell(RunLoop(loop));
}

int SelfCheck(const Settings& settings) {
  LoopOptions loop = Making(settings, "LedgerService/SelfCheck", 1, 1);
  loop.call_limit = absl::Minutes(5);  // millions of consumers take their time
  loop.request = [](int64_t) { return pb::SelfCheckRequest().SerializeAsString(); };
  std::string difference;
  loop.is_right = [&](int64_t, absl::string_view reply) {
    pb::SelfCheckResponse response;
    if (!response.ParseFromArray(reply.data(), static_cast<int>(reply.size()))) return false;
    if (response.differences_size() > 0) difference = response.differences(0).message();
    return response.clean();
  };
  const LoopResult result = RunLoop(loop);
  return Tell(result, {{"difference", difference}});
}

}  // namespace berth::bench
