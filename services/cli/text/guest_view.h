// Formats what an instance has or asks for as tables for people. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_GUEST_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_GUEST_VIEW_H_

#include <string>

#include "berth/placement/v1/record.pb.h"
#include "google/protobuf/map.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

// The tables of the flavor, the extra specs, the cells, the PCI requests, the PCI devices and the
// named units of an instance. Tables without rows are left out, except the flavor's. While a
// migration changes the instance, the column WHEN says whether a row is of now, or of before or
// after the migration.
std::string GuestTables(const placement::v1::Instance& instance, const Screen& screen);

// The properties by rising name, for example "os_distro=debian, os_type=linux".
std::string PropertyWords(const google::protobuf::Map<std::string, std::string>& properties);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_GUEST_VIEW_H_
