// Formats the PCI devices and the NUMA cells of a node as text for people. Pure: takes messages,
// returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_DEVICE_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_DEVICE_VIEW_H_

#include <cstdint>
#include <string>

#include "berth/placement/v1/node.pb.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// One line for each PCI device of a node in the full view.
Table DeviceTable(const placement::v1::Node& node);

// One line for each NUMA cell of a node in the full view. What is used of a cell is "-" if the
// tracker has not reported it.
Table NodeCellTable(const placement::v1::Node& node);

// The ids in their order, with ranges for consecutive ids, for example "0-3,8".
std::string IdRanges(const google::protobuf::RepeatedField<int32_t>& ids);

// The size of a memory page, for example "2 MiB" for 2048.
std::string PageSize(int64_t size_kib);

// The kind of PCI function in words, for example "virtual function".
std::string DeviceTypeWords(const placement::v1::PciDevice& device);

// The id of the NUMA cell to which the device is attached, or "-".
std::string CellOf(const placement::v1::PciDevice& device);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_DEVICE_VIEW_H_
