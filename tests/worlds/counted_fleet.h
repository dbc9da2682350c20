// CountedFleet: a fleet of hosts in memory, for tests that count how many of its records a call
// reads.
//
// Each host has a tracker's service, which is up, and a node with one provider, on which each of
// the host's instances holds a VCPU. The service, the node and the first instance of each host are
// watched (touched_records.h). So a call that reads records of other hosts reads watched ones. One
// fleet at a time and one thread.
#ifndef BERTH_TESTS_WORLDS_COUNTED_FLEET_H_
#define BERTH_TESTS_WORLDS_COUNTED_FLEET_H_

#include <cstdint>
#include <functional>
#include <string>

#include "placement/commands/import.h"
#include "placement/state/state.h"
#include "placement/values/types.h"
#include "tests/worlds/touched_records.h"

namespace berth::placement {

class CountedFleet {
 public:
  // `instances`: on each host.
  CountedFleet(int hosts, int instances);

  // Hosts are counted from 1, the instances of a host from 0.
  static std::string HostOf(int host);
  static std::string NodeNameOf(int host);
  static ProviderId NodeOf(int host);
  static Uuid ServiceOf(int host);
  static Uuid ProcessOf(int host);
  static InstanceId InstanceOf(int host, int number);
  // The command that makes such a fleet.
  static ImportLedger Import(int hosts, int instances);
  // What it changes in a ledger that has only the standard names.
  static Changes ChangesOf(const ImportLedger& import);

  // Watches the service, the node and the first instance of each host that `changes` put.
  static void Watch(TouchedRecords* records, Changes* changes);

  const State& state() const { return state_; }
  // How many watched records `call` reads.
  int64_t Count(const std::function<void()>& call) { return records_.Count(call); }

 private:
  TouchedRecords records_;
  State state_;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_COUNTED_FLEET_H_
