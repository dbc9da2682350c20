// QueryOf: what a flavor asks of placement.
//
// Candidates: what FindCandidates answers in the form CANDIDATE_FORM_TABLE, by root.
//
// A table of 1,000 candidates is read in a tenth of the time that their messages take. Only a
// candidate that is wanted is made a message. A value that moves.
#ifndef BERTH_SERVICES_CLIENT_CPP_CANDIDATES_H_
#define BERTH_SERVICES_CLIENT_CPP_CANDIDATES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/placement/v1/candidate.pb.h"
#include "berth/placement/v1/instance.pb.h"

namespace berth::client {

// Asks for the amounts of the flavor in one group without a suffix: VCPU, or PCPU if
// `hw:cpu_policy` is dedicated; MEMORY_MB; DISK_GB, with the swap in whole GiB. The extra specs
// `resources:CLASS` replace amounts (0: the class is not asked for), and `trait:NAME` requires or
// forbids a trait. Leaves out stale roots and disabled hosts (T-340). Fails with kInvalidArgument if
// such a spec has another value, or a numbered group (`resources1:`). It looks at no other extra spec:
// devices and NUMA cells are claimed on the host.
absl::StatusOr<placement::v1::CandidateQuery> QueryOf(const placement::v1::Flavor& flavor);

class Candidates {
 public:
  // Fails with kDataLoss if the lists of the table do not fit each other, or if something is left
  // over.
  static absl::StatusOr<Candidates> Of(placement::v1::CandidateTable table);

  Candidates(Candidates&&) = default;
  Candidates& operator=(Candidates&&) = default;

  // The uuids of the roots, each once, that of the best candidate first. The texts live as long as
  // this object, or as the one to which it is moved.
  const std::vector<absl::string_view>& roots() const { return roots_; }

  // The best candidate of a root. Nothing: no candidate has this root.
  std::optional<placement::v1::Candidate> BestOf(absl::string_view root_uuid) const;

 private:
  struct Place {
    int shape = 0;
    int providers = 0;  // where those of the candidate begin in candidate_providers
  };

  Candidates() = default;

  absl::string_view NextUuid(int* next) const;

  placement::v1::CandidateTable table_;
  // Of all providers, one after the other: a thousand texts of their own would take longer to make
  // than all the rest.
  std::vector<char> uuids_;
  std::vector<absl::string_view> roots_;
  std::vector<Place> best_;  // for each root
};

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_CANDIDATES_H_
