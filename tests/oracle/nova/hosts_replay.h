// Replays what Nova's scheduler knew of hosts, which of them it took, and what it took from them.
//
// Everything in `expect` must be equal (floats: 1e-9 relative). NUMA cells are fitted by the
// tracker's rooms, as on a host. Exceptions:
//   - T-336: a guest whose cells do not fit takes nothing, and the host is no candidate any more.
//     Nova takes everything but the cells;
//   - a request that asks for a number of aggregate metadata that is none: Nova gives the request
//     up, here the host does not pass.
#ifndef BERTH_TESTS_ORACLE_NOVA_HOSTS_REPLAY_H_
#define BERTH_TESTS_ORACLE_NOVA_HOSTS_REPLAY_H_

#include <string>

#include "tests/oracle/nova/replay.h"

namespace berth::oracle::nova {

Report ReplayHosts(const Json& line, const std::string& where);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_HOSTS_REPLAY_H_
