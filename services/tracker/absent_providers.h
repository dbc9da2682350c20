// AbsentProviders: finds the entries of provider configuration files whose provider no node of this
// host has, and says when a warning about them is due.
//
// Not thread-safe.
#ifndef BERTH_SERVICES_TRACKER_ABSENT_PROVIDERS_H_
#define BERTH_SERVICES_TRACKER_ABSENT_PROVIDERS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace berth::services {

class AbsentProviders {
 public:
  // To be called after each audit. `node`: any value that is different for each node. `absent`: the
  // entries whose provider this node does not have. `nodes`: how many nodes the host has.
  //
  // Returns the entries that no node has, each once until a node has it again (T-219). Returns none
  // before each node has had an audit.
  std::vector<std::string> Update(const void* node, const std::vector<std::string>& absent,
                                  size_t nodes);

 private:
  std::map<const void*, std::set<std::string>> absent_by_node_;
  std::set<std::string> told_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_TRACKER_ABSENT_PROVIDERS_H_
