// NodeAccount: what a node has promised, and to whom.
//
// The account follows from four things: the records of instances and migrations that placement
// keeps, the open claims of this tracker, what the node has, and the sum of the orphans that the
// last audit found. Nothing else enters it: neither what the hypervisor measures of other guests
// (T-51), nor what a process remembers of earlier accounts. The one exception is failed_builds.
//
// A value that may be copied. Not thread-safe; the node's lock protects it.
//
// Invariants, true after every call:
//   1. For each amount, used = reserve + orphans + all that instances and migrations hold (T-105,
//      T-392), and free = total - used. Free may be negative (T-107). Allocation ratios have no
//      effect (T-109).
//   2. But for failed_builds, the account equals the one that is built anew from the same four
//      things (T-394).
//   3. A CPU, a device or a named unit has one owner at most (T-395).
#ifndef BERTH_TRACKER_ACCOUNT_ACCOUNT_H_
#define BERTH_TRACKER_ACCOUNT_ACCOUNT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tracker/account/amounts.h"
#include "tracker/account/holding.h"
#include "tracker/account/open_claim.h"
#include "tracker/account/owners.h"
#include "tracker/account/ownership.h"
#include "tracker/account/records.h"
#include "tracker/account/statistics.h"
#include "tracker/devices/device_table.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// What a node has, before anything is promised.
struct NodeResources {
  Amounts total;
  Amounts reserve;  // for the host itself
  Overheads overheads;
  std::optional<NumaTopology> topology;  // absent: the node has no NUMA cells
  DeviceSpecs device_specs;
  std::vector<PciDevice> devices;  // all that the node lists
  std::set<std::string>
      attached;  // the addresses of devices that guests have, with or without records
  std::set<NamedUnit> units;
};

// An amount, and how many of its virtual CPUs have a host CPU of their own (T-110).
struct Usage {
  Amounts amounts;
  int64_t pcpus = 0;
  friend bool operator==(const Usage&, const Usage&) = default;
};

// What instances and migrations hold, by the reason for which it counts.
struct PromisedUsage {
  Usage instances;   // recorded instances
  Usage migrations;  // what migrations hold in addition
  Usage claims;      // open claims, which the records do not say yet
  friend bool operator==(const PromisedUsage&, const PromisedUsage&) = default;
};

// A record of placement that the account could not count completely (T-61).
struct AccountFault {
  Uuid instance_uuid;
  std::string text;
  friend bool operator==(const AccountFault&, const AccountFault&) = default;
};

class NodeAccount {
 public:
  // An account without records and claims. `orphans` is the sum over the guests without a record
  // (T-138).
  NodeAccount(HostAndNode self, NodeResources resources, Amounts orphans = {});

  // Replace a record, or add it. A record counts only while its instance or migration concerns the
  // node (T-111, T-123). An open claim ends when the records say the same as the claim, or when
  // they show that nobody needs the claim any more (T-166).
  void PutInstance(Instance instance);
  void PutMigration(Migration migration);
  // Remove a record. An open claim of the instance or of the migration stays. Return false if there
  // is no such record.
  bool DropInstance(const Uuid& uuid);
  bool DropMigration(const Uuid& uuid);

  // Replaces all records. Open claims stay. Of several records with one uuid the last one counts.
  void ReplaceRecords(std::vector<Instance> instances, std::vector<Migration> migrations);

  // Opens a claim, which counts from now on.
  //
  // REQUIRES: the instance has no open claim.
  void Open(OpenClaim claim);
  // Ends the open claim `claim_id` of the instance. Returns false if the instance has no open claim
  // with this id.
  bool Close(const Uuid& instance_uuid, absl::string_view claim_id);

  void SetResources(NodeResources resources);
  // The uuids of the providers in placement that count devices: see DeviceTable::SetProviders.
  void SetDeviceProviders(std::map<std::string, Uuid> provider_by_address) {
    device_providers_ = std::move(provider_by_address);
  }
  const std::map<std::string, Uuid>& device_providers() const { return device_providers_; }
  void SetOrphans(Amounts orphans) { orphans_ = orphans; }

  // The number of builds on the node that failed, since the last one that succeeded there or, if
  // none did, since this process was started (T-122). A build has succeeded when a record comes in
  // which an instance of the node that was `building` is `active`.
  void CountFailedBuild() { ++failed_builds_; }
  void ForgetFailedBuilds() { failed_builds_ = 0; }
  int64_t failed_builds() const { return failed_builds_; }

  // Returns this account, computed anew from its records, its open claims and its resources.
  NodeAccount Rebuilt() const;

  const HostAndNode& self() const { return self_; }
  const NodeResources& resources() const { return resources_; }
  Amounts used() const;
  Amounts free() const;
  // The used disk in whole GiB, rounded down, as node records state it (T-108).
  int64_t used_disk_gib() const { return WholeGib(used().disk_mib); }
  int64_t free_disk_gib() const { return WholeGib(resources_.total.disk_mib) - used_disk_gib(); }
  // All that is used beside the reserve and the orphans. The sum over the parts.
  PromisedUsage promised() const;
  const Statistics& statistics() const { return statistics_; }
  // The reference is valid until the next change.
  const Owners& owners() const { return ownership().owners(); }
  // All devices of the node that guests may get, with their owners. A device that a guest has
  // without a record that says so is offered to nobody (T-256).
  DeviceTable Devices() const;
  // The addresses of these devices.
  std::vector<std::string> stray_devices() const;
  // What is wrong with the devices: see DeviceTable::warnings (T-239).
  std::vector<std::string> device_warnings() const { return OwnedDevices().warnings(); }

  // The instances that count on the node (T-115).
  std::vector<Uuid> tracked_instances() const;
  // For each instance with a migration that holds something on the node: the migration (T-134).
  std::map<Uuid, Uuid> tracked_migrations() const;
  // The migrations whose status should become `error` (T-129, gate 5), sorted.
  std::vector<Uuid> stale_migrations() const;
  // What could not be counted completely, by instance. If not empty, the audit is degraded (T-61).
  std::vector<AccountFault> faults() const;
  // The part of faults() that is about records of which a part could not be read.
  std::vector<AccountFault> unreadable() const;

  // The record of an instance with the changes of its open claim. Absent: neither is known.
  std::optional<Instance> FindInstance(const Uuid& uuid) const;
  // The record of the migration without the changes of an open claim, or null. The pointer is valid
  // until the next change.
  const Migration* FindMigration(const Uuid& uuid) const;
  // The records of placement by uuid, without the changes of open claims. They also have instances
  // and migrations that hold nothing on the node.
  const std::map<Uuid, Instance>& instances() const { return instances_; }
  const std::map<Uuid, Migration>& migrations() const { return migrations_; }
  // Whether the account has the record in this generation.
  bool HasInstance(const Uuid& uuid, int64_t generation) const;
  bool HasMigration(const Uuid& uuid, int64_t generation) const;
  // Whether the record of the instance has this claim and no other one: the instance is on the node
  // by a claim that is based on the same generation, or has a context of the claim's migration.
  bool HasClaim(const OpenClaim& claim) const;
  // Whether the instance counts on the node.
  bool IsTracked(const Uuid& instance_uuid) const;
  // Whether the account counts what the consumer holds. The consumer is an instance, or a
  // migration: then what the migration holds counts in the entry of its instance (T-221).
  bool Counts(const Uuid& consumer_uuid) const;
  // Whether what the open claim took would still count if the records said what the claim says. If
  // not, somebody else would get it as soon as they do: for example, the instance does not move.
  //
  // REQUIRES: the claim is open.
  bool CountsWhenRecorded(const OpenClaim& claim) const;
  // The open claim of the instance, or null. The pointer is valid until the next change.
  const OpenClaim* OpenClaimOf(const Uuid& instance_uuid) const;

  // Whether both count the same: amounts, failed builds, instances, statistics, owners and faults.
  friend bool operator==(const NodeAccount& a, const NodeAccount& b);

 private:
  // `recorded`: as if the open claim had ended, and the records said what it says.
  InstanceEntry Judge(const Uuid& instance_uuid, bool recorded = false) const;
  void Recount(const Uuid& instance_uuid);
  void AddAmounts(const InstanceEntry& entry);
  void RemoveAmounts(const InstanceEntry& entry);
  void EndClaimIfSettled(const Uuid& instance_uuid);
  DeviceTable OwnedDevices() const;
  const Ownership& ownership() const;  // of entries_, counted

  HostAndNode self_;
  NodeResources resources_;
  Amounts orphans_;
  std::map<std::string, Uuid> device_providers_;  // by address
  int64_t failed_builds_ = 0;
  std::map<Uuid, Instance> instances_;    // by uuid
  std::map<Uuid, Migration> migrations_;  // by uuid
  // The instance and the uuid of each element of migrations_.
  std::set<std::pair<Uuid, Uuid>> migrations_of_;
  std::map<Uuid, OpenClaim> claims_;  // by instance uuid

  // What follows from the above.
  std::map<Uuid, InstanceEntry> entries_;  // by instance uuid; no empty ones
  Amounts promised_;                       // the sum over entries_
  Statistics statistics_;
  mutable Ownership ownership_;  // of entries_; counted when somebody asks
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_ACCOUNT_ACCOUNT_H_
