// What a replay of a life of PCI devices checks by itself: whether a rule is the reason of a
// difference, and whether a claim did what the rules say, whatever was recorded.
//
// Pure functions. Those that return a text return the first difference, or an empty text.
#ifndef BERTH_TESTS_ORACLE_NOVA_PCI_RULES_H_
#define BERTH_TESTS_ORACLE_NOVA_PCI_RULES_H_

#include <map>
#include <string>
#include <vector>

#include "tests/oracle/nova/pci_form.h"
#include "tracker/devices/device_table.h"

namespace berth::oracle::nova {

// Whether two definitions of one alias name no device_type (T-244).
bool HasTwoWithoutType(const std::vector<std::string>& aliases);
// Whether a request of the step asks for no device (T-244).
bool AsksForNone(const PciJson& step);

// Returns the values of device_spec with a letter that no address has in place of the upper-case
// digits of regular expressions. Nova's expressions are case-sensitive against lower-case fields, so
// such a digit never matches (T-234).
std::vector<std::string> SpecsAsNova(const std::vector<std::string>& options);

// Returns the recorded devices without those that are free and not listed any more: such a device
// goes at once (T-239).
PciJson WithoutUnlisted(PciJson devices, const std::map<std::string, PciJson>& listed);

// The status of each device, and its owner.
PciJson DevicesOf(const tracker::DeviceTable& table);
std::string CompareDevices(const PciJson& wanted, const tracker::DeviceTable& table);

std::vector<tracker::PciDevice> DevicesIn(const tracker::DeviceTable& table);

// Whether the operation changes who has devices, and gives none to anybody.
bool ChangesOwners(const std::string& op);
// The records of the devices that have an owner after such a step. `table`: before the step.
std::vector<tracker::DeviceRecord> OwnedAfter(const PciJson& step,
                                              const tracker::DeviceTable& table);

// Returns the rule by which the recorded devices differ from those of the table, if they differ only
// in the status of devices that nobody has and that are not available in the table. Nova's status of
// such a device depends on the order in which its relatives were taken, freed and plugged in. Here
// who has the relatives says it (T-252). If one of them is available in the recording, Nova offers a
// device of which a relative is taken (T-396). Empty: they differ in nothing, or in more.
std::string RuleOfRelatives(const PciJson& wanted, const tracker::DeviceTable& table);

// A claim gives the instance the devices, takes their relatives out of the pools, and changes no
// other device. `before`: DevicesOf the table before the claim.
std::string CheckClaimed(const tracker::DeviceTable& table, const std::string& instance,
                         const PciJson& before, const std::vector<tracker::ClaimedDevice>& claimed);

// The requests are served by the devices that were taken, in any order of pools, and these are the
// first of their pools (T-249). `pools`: before the claim.
std::string CheckChoice(const std::vector<tracker::DevicePool>& pools,
                        const tracker::DeviceTable& table,
                        const std::vector<tracker::DeviceRequest>& requests,
                        const tracker::GuestAffinity& affinity,
                        const std::vector<tracker::ClaimedDevice>& claimed);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_PCI_RULES_H_
