// NodeLife: a node with its account, and the records as placement would keep them, through the steps
// of a recorded life.
//
// Records that others write are put into the account at once. The records of a claim are put there
// after the claim, as placement would send them back.
#ifndef BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_
#define BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/oracle/nova/nova_world.h"
#include "tracker/claims/claim.h"
#include "tracker/claims/ending.h"

namespace berth::oracle::nova {

struct StepOutcome {
  std::vector<std::string> reasons;  // of a refusal
  // The records that are to be compared. Empty: none.
  std::string instance;
  std::string migration;
  // True: Nova does the rest of what is one command in Berth in the steps that follow.
  bool half = false;
  std::string wrong;  // what must never be, whatever was recorded. Empty: nothing
  // Reasons of a refusal that Nova does not have, because it does not test these amounts (T-162).
  std::vector<std::string> amount_reasons;
  // Refused only because pinned guests without a page size need free pages (T-277): Nova compares
  // them with all pages of the cell.
  bool lacks_free_pages = false;
};

class NodeLife {
 public:
  explicit NodeLife(const Json& setup);

  StepOutcome Do(const Json& step);

  const tracker::NodeAccount& account() const { return account_; }
  // True: instances have named units that no record of Nova has. See ForgetUnits.
  bool has_unstored_units() const { return !unstored_units_.empty(); }
  int64_t stored_failed_builds() const { return stored_failed_builds_; }
  // The naive account over all records.
  Json Naive() const;
  // Whether an instance is resized on its own node and has its old flavor still.
  bool ResizesInPlace() const;
  Json DescribeInstance(const std::string& uuid) const;
  Json DescribeMigration(const std::string& uuid) const;

 private:
  StepOutcome ClaimInstance(const Json& step);
  StepOutcome ClaimMove(const Json& step);
  StepOutcome Abort(const Json& step);
  StepOutcome Drop(const Json& step, bool at_source);
  void SetInstance(const Json& step);
  void SetMigration(const Json& step);
  tracker::NaiveAccount CountAll() const;
  tracker::NodeAccount WithFreePages() const;
  void Write(const tracker::Ending& ending);
  void Record(const tracker::OpenClaim& claim, StepOutcome* outcome);
  void ForgetUnits();
  void PutInstance(tracker::Instance instance);
  void PutMigration(tracker::Migration migration);
  absl::Time now() const { return absl::FromUnixSeconds(steps_); }
  std::string FlavorName(const std::string& id) const;

  NovaWorld world_;
  tracker::ClaimSettings settings_;
  tracker::NodeAccount account_;
  std::map<std::string, tracker::Instance> instances_;
  std::map<std::string, tracker::Migration> migrations_;
  std::map<std::string, tracker::OpenClaim> handles_;
  // Migrations as Nova left them when it refused a move. They are written with the next
  // set_migration.
  std::map<std::string, tracker::Migration> refused_;
  std::set<std::string> unstored_units_;  // instances
  int64_t stored_failed_builds_ = 0;
  int64_t steps_ = 0;
};

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_NODE_LIFE_H_
