// Prints the records of instances and migrations as a recording of Nova has them, and changes them as
// its steps say.
//
// Pure functions.
#ifndef BERTH_TESTS_ORACLE_NOVA_RECORD_FORM_H_
#define BERTH_TESTS_ORACLE_NOVA_RECORD_FORM_H_

#include "tests/oracle/nova/nova_world.h"

namespace berth::oracle::nova {

// Does what a `set_instance` says.
void SetValues(const NovaWorld& world, const Json& values, tracker::Instance* instance);

Json DescribeInstance(const NovaWorld& world, const tracker::Instance& instance);
Json DescribeMigration(const NovaWorld& world, const tracker::Migration& migration);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_RECORD_FORM_H_
