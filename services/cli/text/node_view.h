// Formats nodes and services as text for people. Pure: takes messages, returns text.
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

// Removes all findings of the node but those of the kind DRIFT.
void KeepDrifts(placement::v1::Node* node);
// One line for each finding of the nodes.
Table DriftTable(const google::protobuf::RepeatedPtrField<placement::v1::Node>& nodes);

// One line for each service.
Table ServiceTable(const google::protobuf::RepeatedPtrField<placement::v1::Service>& services);

// Everything about one node in the full view: facts, account, orphans and findings.
std::string NodePage(const placement::v1::Node& node, const Screen& screen);

// The result of an audit in one line without a line feed, for example "complete; nothing had changed".
std::string AuditWords(const placement::v1::AuditSummary& audit);

// The name of an enum value without its prefix, in lower case: "active" for "GUEST_STATE_ACTIVE".
std::string ShortName(const std::string& value, const std::string& prefix);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_NODE_VIEW_H_
