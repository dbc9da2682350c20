// AccessFile: the operator's file of what identities may do, read into an AccessPolicy.
//
// The file is read at the start and whenever ReadAgain is called. A file with a fault never replaces
// the rules that are in force. One thread calls the functions that read; Measure is thread-safe.
#ifndef BERTH_SERVICES_PLACEMENT_ACCESS_FILE_H_
#define BERTH_SERVICES_PLACEMENT_ACCESS_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/access/policy.h"
#include "services/access/rules.h"
#include "services/process/metrics.h"

namespace berth::services {

inline constexpr char kDefaultAccessFile[] = "/etc/berth/access.toml";

// The rules in the file of the setting --access-file. If `setting` is empty, reads
// kDefaultAccessFile, and without such a file nothing is limited. Fails with kInvalidArgument for a
// fault in the text, and with kFailedPrecondition if the file that `setting` names does not exist,
// or if a file cannot be read. The message is for the person who wrote the file.
absl::StatusOr<RulesInForce> LoadRules(const std::string& setting);

class AccessFile {
 public:
  // `policy` must outlive the AccessFile.
  AccessFile(std::string setting, AccessPolicy* policy)
      : setting_(std::move(setting)), policy_(policy) {}

  // Reads the file for the first time. Fails like LoadRules. `identified`: whether callers have
  // certificates; if not, a file limits nobody, and a warning says so.
  absl::Status Read(bool identified);
  // Reads the file again. A file with a fault changes nothing; a warning says why.
  void ReadAgain();

 private:
  void Tell(const RulesInForce& rules, absl::string_view words) const;

  const std::string setting_;
  AccessPolicy* const policy_;
};

// Adds to `metrics`, which `policy` must outlive, which file is in force.
void MeasureAccess(const AccessPolicy* policy, Metrics* metrics);

}  // namespace berth::services

#endif  // BERTH_SERVICES_PLACEMENT_ACCESS_FILE_H_
