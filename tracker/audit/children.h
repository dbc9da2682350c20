// Describes the child providers of a node: one for each physical GPU from which guests get virtual
// GPUs, and one for each kind of memory encryption (T-184). Those of PCI devices are described in
// device_children.h.
//
// A pure function.
#ifndef BERTH_TRACKER_AUDIT_CHILDREN_H_
#define BERTH_TRACKER_AUDIT_CHILDREN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tracker/audit/records.h"
#include "tracker/audit/report.h"
#include "tracker/facts/facts.h"
#include "tracker/ground/uuid.h"
#include "tracker/settings/configuration.h"

namespace berth::tracker {

struct ChildProviders {
  std::vector<WantedProvider> providers;
  std::vector<std::string> problems;  // one text per setting that does not fit the host
};

// A GPU offers as many virtual GPUs of its configured type as exist or can still be made, but not
// more than max_instances (T-207). A kind of memory encryption offers as many guests as the
// hypervisor or the setting allows, whichever is less (T-208). A child that offers nothing is left
// out, and placement deletes it. But of what consumers hold, a child always offers as much: otherwise
// placement would refuse the whole report. If the devices could not be listed, the GPUs stay as
// placement has them.
//
// A child keeps the uuid of the provider with its name in `records`, which may be null. Otherwise its
// uuid follows from the node's uuid and the child's name. If somebody else has made a provider with
// its name, the child is left out (T-202).
ChildProviders DescribeChildren(const Facts& facts, const NodeConfiguration& configuration,
                                const Uuid& node_uuid, absl::string_view node_name,
                                const Records* records);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_AUDIT_CHILDREN_H_
