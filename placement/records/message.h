// Records as the public messages of record.proto, and back. Pure.
//
// A record keeps each field of its message once: in its index, or in its body, which is the message
// without the fields of the index. So a field that is added to record.proto is kept, sent and
// exported without a word here. Equal messages give equal bodies.
#ifndef BERTH_PLACEMENT_RECORDS_MESSAGE_H_
#define BERTH_PLACEMENT_RECORDS_MESSAGE_H_

#include "placement/values/instance.h"

namespace berth::placement {

namespace v1 {
class Instance;
class Migration;
}  // namespace v1

// Return the record that the message describes, without its generation and times. REQUIRES: the
// uuids in the message are in canonical form, and those of the index that are not optional are there.
InstanceRecord InstanceFrom(v1::Instance message);
MigrationRecord MigrationFrom(v1::Migration message);

// Fill the message with all that the record has.
void FillInstance(const InstanceRecord& instance, v1::Instance* to);
void FillMigration(const MigrationRecord& migration, v1::Migration* to);

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_RECORDS_MESSAGE_H_
