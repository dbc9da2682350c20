// Nodes and services as people read them. Pure: messages in, text out.
#ifndef BERTH_SERVICES_CLI_TEXT_NODE_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_NODE_VIEW_H_

#include <string>

#include "berth/placement/v1/node.pb.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// One line for each node.
Table NodeTable(const google::protobuf::RepeatedPtrField<placement::v1::Node>& nodes);

// One line for each service.
Table ServiceTable(const google::protobuf::RepeatedPtrField<placement::v1::Service>& services);

// Everything about one node, in the full view: facts, what is accounted for, orphans, findings.
std::string NodePage(const placement::v1::Node& node, const Screen& screen);

// How an audit went, in a line without a line feed: "complete, nothing changed".
std::string AuditWords(const placement::v1::AuditSummary& audit);

// "ACTIVE" of "GUEST_STATE_ACTIVE", in small letters.
std::string ShortName(const std::string& value, const std::string& prefix);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_NODE_VIEW_H_
