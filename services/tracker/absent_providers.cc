#include "services/tracker/absent_providers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::services {

std::vector<std::string> AbsentProviders::Update(const void* node,
                                                 const std::vector<std::string>& absent,
                                                 size_t nodes) {
  std::set<std::string>& own = absent_by_node_[node];
  own = {absent.begin(), absent.end()};
  if (absent_by_node_.size() < nodes) return {};
  std::set<std::string> everywhere = own;
  for (const auto& of_node : absent_by_node_) {
    std::erase_if(everywhere,
                  [&](const std::string& entry) { return of_node.second.count(entry) == 0; });
  }
  std::vector<std::string> due;
  std::set_difference(everywhere.begin(), everywhere.end(), told_.begin(), told_.end(),
                      std::back_inserter(due));
  told_ = std::move(everywhere);
  return due;
}

}  // namespace berth::services
