// Replays one audit of Nova's resource tracker: what a node uses.
//
// Everything must be as recorded, except
//   - a field that `decided_by_rule` of the line names, or `*` for all of them: there the naive
//     account says what the rule demands. The line must have what the rule is about: for example
//     T-108 decides only if swap or the reserve is not whole GiB;
//   - cells, if an instance is resized on its own node and has its old flavor still (T-395): Nova
//     frees its CPUs while the guest runs on them;
//   - cells that are as recorded if each instance on the node has the new values of a context that
//     belongs to another migration than any that brings it here (T-50, T-395): Nova counts cells of
//     the next node, and frees CPUs that the guest uses;
//   - configured allocation ratios of a new node: Nova's first audit writes the initial ones (T-206),
//     and so its second audit writes again (T-393).
// Counters of operating systems are left out: records have none. The driver's own statistics are
// left out, too: they are no part of an account.
#ifndef BERTH_TESTS_ORACLE_NOVA_ACCOUNT_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_ACCOUNT_REPLAY_H_

#include <string>

#include "tests/oracle/nova/nova_world.h"

namespace berth::oracle::nova {

Report ReplayAccount(const Json& line, const std::string& where);

// Returns the recorded statistics without what an account does not count.
Json CountedStatistics(const Json& stats, const Json& setup);

// Reports each difference between `want` and `got`, which both are objects. `what` names the object.
void CompareFields(const Json& want, const Json& got, const std::string& what,
                   const std::string& where, Report* report);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_ACCOUNT_REPLAY_H_
