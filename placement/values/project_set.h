// ProjectSet: the projects whose consumers, instances and migrations one caller may write.
//
// A plain value, which never changes once it is shared.
#ifndef BERTH_PLACEMENT_VALUES_PROJECT_SET_H_
#define BERTH_PLACEMENT_VALUES_PROJECT_SET_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace berth::placement {

using ProjectSet = std::set<std::string, std::less<>>;
// Null: every project. An empty set: no project.
using ProjectSetPtr = std::shared_ptr<const ProjectSet>;

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_VALUES_PROJECT_SET_H_
