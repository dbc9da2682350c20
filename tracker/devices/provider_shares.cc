#include "tracker/devices/provider_shares.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// What each request gets of each provider. A request is named by its index.
class Division {
 public:
  // `left`: what is to be divided. `serving`: by request, the providers that can serve it.
  Division(ProviderAmounts left, std::vector<std::set<Uuid>> serving)
      : left_(std::move(left)), serving_(std::move(serving)), given_(serving_.size()) {}

  // Gives the request `amount` devices. Other requests change their providers for that, but not
  // their numbers. Returns false if it got fewer, because no such change helps.
  bool Give(size_t request, int64_t amount) {
    while (amount > 0) {
      visited_.clear();
      const int64_t moved = Move(request, amount);
      if (moved == 0) return false;
      amount -= moved;
    }
    return true;
  }

  // The providers of the request; none of them with 0 devices.
  const ProviderAmounts& given(size_t request) const { return given_[request]; }

 private:
  // Gives the request 1 to `amount` more devices. Returns how many; 0 if there is no way. Between
  // two calls by Give a provider is visited at most once, so the recursion ends.
  int64_t Move(size_t request, int64_t amount) {
    for (const Uuid& provider : serving_[request]) {
      if (!visited_.insert(provider).second) continue;
      int64_t moved = std::min(amount, left_[provider]);
      if (moved > 0) left_[provider] -= moved;
      if (moved == 0) moved = TakeFromOthers(provider, amount);
      if (moved == 0) continue;
      given_[request][provider] += moved;
      return moved;
    }
    return 0;
  }

  // Lets a request that has devices of `provider` take others instead. Returns how many it gave up.
  int64_t TakeFromOthers(const Uuid& provider, int64_t amount) {
    for (size_t other = 0; other < given_.size(); ++other) {
      const auto found = given_[other].find(provider);
      if (found == given_[other].end()) continue;
      const int64_t moved = Move(other, std::min(amount, found->second));
      if (moved == 0) continue;
      found->second -= moved;
      if (found->second == 0) given_[other].erase(found);
      return moved;
    }
    return 0;
  }

  ProviderAmounts left_;
  const std::vector<std::set<Uuid>> serving_;
  std::vector<ProviderAmounts> given_;
  std::set<Uuid> visited_;
};

// What is left of `allocated` for the requests that name no providers.
ProviderAmounts Unnamed(const ProviderAmounts& allocated,
                        const std::vector<DeviceRequest>& requests) {
  ProviderAmounts left = allocated;
  for (const DeviceRequest& request : requests) {
    for (const auto& [provider, amount] : request.providers.value_or(ProviderAmounts())) {
      const auto found = left.find(provider);
      if (found != left.end()) found->second = std::max<int64_t>(found->second - amount, 0);
    }
  }
  return left;
}

// The allocated providers whose pools can serve the request; none if it gets no share.
std::set<Uuid> ServingProviders(const DeviceRequest& request, const ProviderAmounts& allocated,
                                const std::vector<DevicePool>& pools) {
  std::set<Uuid> serving;
  if (request.source != DeviceRequestSource::kFlavorAlias || request.providers) return serving;
  for (const DevicePool& pool : pools) {
    const bool known = allocated.count(pool.provider_uuid) != 0;
    if (known && HasWhatIsAsked(pool, request)) serving.insert(pool.provider_uuid);
  }
  return serving;
}

}  // namespace

std::vector<DeviceRequest> ShareProviders(const ProviderAmounts& allocated,
                                          const std::vector<DevicePool>& pools,
                                          std::vector<DeviceRequest> requests) {
  std::vector<std::set<Uuid>> serving;
  serving.reserve(requests.size());
  for (const DeviceRequest& request : requests) {
    serving.push_back(ServingProviders(request, allocated, pools));
  }
  Division division(Unnamed(allocated, requests), serving);
  bool enough = true;  // after the first failure the requests cannot all be served
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!serving[i].empty()) enough = enough && division.Give(i, requests[i].count);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!serving[i].empty()) requests[i].providers = division.given(i);
  }
  return requests;
}

}  // namespace berth::tracker
