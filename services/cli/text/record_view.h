// Formats the records of instances and migrations, server groups and aggregates as text for
// people. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_RECORD_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_RECORD_VIEW_H_

#include <string>

#include "berth/placement/v1/aggregate.pb.h"
#include "berth/placement/v1/record.pb.h"
#include "berth/placement/v1/server_group.pb.h"
#include "google/protobuf/repeated_field.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

// One line for each instance.
Table InstanceTable(const google::protobuf::RepeatedPtrField<placement::v1::Instance>& instances);

// One line for each migration.
Table MigrationTable(
    const google::protobuf::RepeatedPtrField<placement::v1::Migration>& migrations);

// The record of one instance, without the providers of its PCI requests. While a migration changes
// the instance, the tables also say what it has before and after the migration.
std::string InstancePage(const placement::v1::Instance& instance, const Screen& screen);

// Everything about one migration.
std::string MigrationPage(const placement::v1::Migration& migration);

// The vm_state with the task, for example "active, task migrating".
std::string StateOf(const placement::v1::Instance& instance);

// The kind of move in one word, for example "live".
std::string TypeWord(const placement::v1::Migration& migration);

// One line for each group.
Table GroupTable(const google::protobuf::RepeatedPtrField<placement::v1::ServerGroup>& groups);

// A group with its members, and where they are.
std::string GroupPage(const placement::v1::GetServerGroupResponse& answer);

// The group without its members.
std::string GroupPage(const placement::v1::ServerGroup& group);

// One line for each aggregate.
Table AggregateTable(
    const google::protobuf::RepeatedPtrField<placement::v1::Aggregate>& aggregates);

// An aggregate with its metadata, sorted by key.
std::string AggregatePage(const placement::v1::Aggregate& aggregate);

// The policy in one word, for example "anti-affinity", with a maximum above 1 as "anti-affinity:2".
std::string PolicyWord(const placement::v1::ServerGroup& group);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_RECORD_VIEW_H_
