// Converts records of instances and migrations to and from the public messages of record.proto, and
// to and from the bytes of these messages, which log and table keep. Pure functions.
//
// A record keeps each field of its message once: in its index, or in its body, which is the bytes
// of all other fields (values/instance.h). So a field that is added to record.proto is kept, sent
// and exported without a change here.
#ifndef BERTH_PLACEMENT_RECORDS_MESSAGE_H_
#define BERTH_PLACEMENT_RECORDS_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "placement/values/instance.h"

namespace berth::placement {

namespace v1 {
class Instance;
class Migration;
}  // namespace v1

// Return the record that the message describes; its generation and times are unset. Equal messages
// give equal bodies. REQUIRES: each uuid in the message is in canonical form or empty; the uuid of
// the record is not empty, nor is that of the instance of a migration.
InstanceRecord InstanceFrom(v1::Instance message);
MigrationRecord MigrationFrom(v1::Migration message);

// Replace the content of the message by all that the record has.
void FillInstance(const InstanceRecord& instance, v1::Instance* to);
void FillMigration(const MigrationRecord& migration, v1::Migration* to);

// The bytes of the message of the record: the bytes of the body as they are, then those of the
// index.
std::string StoredBytes(const InstanceRecord& instance);
std::string StoredBytes(const MigrationRecord& migration);

// Return the record whose message is in `bytes`. Null if `bytes` is no message, or if a uuid of the
// index is malformed or, unless it is that of a node or group, missing. A fault inside a field of the body
// may stay unnoticed.
InstancePtr StoredInstanceIn(absl::string_view bytes);
MigrationPtr StoredMigrationIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_MESSAGE_H_
