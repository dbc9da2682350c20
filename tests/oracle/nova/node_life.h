// NodeLife: a node with its account, and the records as placement would keep them, through the steps
// of a recorded life.
//
// Records that others write are put into the account at once. The records of a claim are put there
// after the claim, as placement would send them back.
#ifndef BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_
#define BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/oracle/nova/nova_world.h"
#include "tracker/claims/claim.h"
#include "tracker/claims/ending.h"

namespace berth::oracle::nova {

// The status that an aborted move gets here. In the recordings the next step sets it.
inline constexpr char kAbortedStatus[] = "failed";

struct StepOutcome {
  std::vector<std::string> reasons;  // of a refusal
  // The records that are to be compared. Empty: none.
  tracker::Uuid instance;
  tracker::Uuid migration;
  // True: Nova does the rest of what is one command in Berth in the steps that follow.
  bool half = false;
  std::string wrong;  // what must never be, whatever was recorded. Empty: nothing
  // The reasons of a refusal that are about memory, which Nova does not test (T-162).
  std::vector<std::string> memory_reasons;
  // The rule by which Berth refuses what Nova granted. The records are those that Berth writes
  // without this rule, so the life goes on like Nova's. Empty: none.
  std::string refused_by;
  // True: Nova answers otherwise than Berth, because its account counts until its next audit what is
  // gone. Reasons and records are those of Berth on a node that has what Nova counts, so the life
  // goes on like Nova's. Reasons about memory are those of Berth's own answer.
  bool lags = false;
};

class NodeLife {
 public:
  explicit NodeLife(const Json& setup);

  StepOutcome Do(const Json& step);

  const tracker::NodeAccount& account() const { return account_; }
  // The named units that count on the node and that no record of Nova has. See ForgetUnits.
  std::vector<std::string> UnstoredUnits() const;
  int64_t stored_failed_builds() const { return stored_failed_builds_; }
  // The naive account over all records.
  Json Naive() const;
  // Whether an instance is resized on its own node and has its old flavor still.
  bool ResizesInPlace() const;
  // Whether Nova leaves its devices to the owner: it has a record on the node, or a migration from
  // or to the node that is not over (T-255).
  bool KeepsDevices(const tracker::Uuid& owner) const;
  // The records, as far as a recording has them. A refused move's migration is as Nova left it.
  Json DescribeInstance(const tracker::Uuid& uuid) const;
  Json DescribeMigration(const tracker::Uuid& uuid) const;

 private:
  StepOutcome ClaimInstance(const Json& step);
  StepOutcome ClaimMove(const Json& step);
  StepOutcome Abort(const Json& step);
  StepOutcome Drop(const Json& step, bool at_source);
  void SetInstance(const Json& step);
  void SetMigration(const Json& step);
  tracker::NaiveAccount CountAll() const;
  void Write(const tracker::Ending& ending);
  // Puts the records of a claim into the account.
  void Put(const Json& step, const tracker::OpenClaim& claim);
  void Record(const Json& step, const tracker::OpenClaim& claim, StepOutcome* outcome);
  // `claim`: the answer without the rule.
  void RecordAnyway(const Json& step, const std::string& rule,
                    const absl::StatusOr<tracker::OpenClaim>& claim, StepOutcome* outcome);
  void ForgetUnits();
  void RememberUnits(const Json& step, StepOutcome* outcome);
  // Nova's answer, if Nova counts otherwise than `before` and `answer` differs for this reason alone:
  // on a node that has what Nova counts, `claim` is answered as recorded. Nothing otherwise, and
  // nothing during a resize in place: then Nova may count less than the guest uses (T-395).
  using Ask = std::function<absl::StatusOr<tracker::OpenClaim>(tracker::NodeAccount*)>;
  std::optional<absl::StatusOr<tracker::OpenClaim>> AnswerOfNova(
      const Json& step, const Ask& claim, const tracker::NodeAccount& before,
      const absl::StatusOr<tracker::OpenClaim>& answer) const;
  // Goes on with Nova's answer.
  void Take(const Json& step, const absl::StatusOr<tracker::OpenClaim>& lagging,
            StepOutcome* outcome);
  void PutInstance(tracker::Instance instance);
  void PutMigration(tracker::Migration migration);
  absl::Time now() const { return absl::FromUnixSeconds(steps_); }

  NovaWorld world_;
  tracker::ClaimSettings settings_;
  tracker::NodeAccount account_;
  std::map<tracker::Uuid, tracker::Instance> instances_;
  std::map<tracker::Uuid, tracker::Migration> migrations_;
  std::map<std::string, tracker::OpenClaim> handles_;
  std::set<std::string> aborted_;  // handles
  // Migrations as Nova left them when it refused a move. They are written with the next
  // set_migration.
  std::map<tracker::Uuid, tracker::Migration> refused_;
  std::map<tracker::Uuid, std::vector<tracker::NamedUnit>> unstored_units_;  // by instance
  Json recorded_;  // Nova's account after the last step that has one. Null: none yet
  int64_t stored_failed_builds_ = 0;
  int64_t steps_ = 0;
};

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_
