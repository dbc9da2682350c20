// Records as the public messages of record.proto, and as the bytes of these messages, which log,
// table and trackers get. Pure.
//
// A record keeps each field of its message once: in its index, or in its body, which is the bytes of
// the other fields. So a field that is added to record.proto is kept, sent and exported without a
// word here. Equal messages give equal bodies.
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

// Return the record that the message describes, without its generation and times. REQUIRES: the
// uuids in the message are in canonical form, and those of the index that are not optional are there.
InstanceRecord InstanceFrom(const v1::Instance& message);
MigrationRecord MigrationFrom(const v1::Migration& message);

// Fill the message, which must be empty, with all that the record has.
void FillInstance(const InstanceRecord& instance, v1::Instance* to);
void FillMigration(const MigrationRecord& migration, v1::Migration* to);

// The bytes of the message of the record: the bytes of the body, then those of the index. The body
// is neither read nor written anew.
std::string StoredBytes(const InstanceRecord& instance);
std::string StoredBytes(const MigrationRecord& migration);

// Return the record whose message the bytes hold; null if they hold none.
InstancePtr StoredInstanceIn(absl::string_view bytes);
MigrationPtr StoredMigrationIn(absl::string_view bytes);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_MESSAGE_H_
