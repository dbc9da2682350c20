#include "placement/commands/outcome.h"

#include <memory>
#include <utility>

namespace berth::placement {

Outcome PutProvider(ProviderConfig config, ProviderId root) {
  Outcome outcome;
  auto shared = std::make_shared<const ProviderConfig>(std::move(config));
  outcome.result.providers.push_back({shared, root});
  outcome.changes.push_back(ProviderPut{std::move(shared)});
  return outcome;
}

Outcome KeepProvider(const ProviderPlace& place) {
  Outcome outcome;
  outcome.result.providers.push_back(
      {place.tree->shape->configs[place.position], place.tree->root_id()});
  return outcome;
}

}  // namespace berth::placement
