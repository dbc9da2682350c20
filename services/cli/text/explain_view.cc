#include "services/cli/text/explain_view.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/text/amounts.h"
#include "services/cli/text/table.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

std::string AmountOf(const std::string& name, int64_t amount) {
  const std::string size = SizeOf(name, amount);
  return absl::StrCat(amount, " ", name, size.empty() ? "" : absl::StrCat(" (", size, ")"));
}

std::string RootWords(const pb::Constraint& constraint, const char* with, const char* without) {
  const std::string& first = constraint.names(0);
  if (first.front() == '!') return absl::StrCat("root ", without, " ", first.substr(1));
  return absl::StrCat("root ", with, " ", absl::StrJoin(constraint.names(), " or "));
}

// Returns, as text, what the constraint asks of a root. Leaves out the suffix of the group.
std::string PlainWords(const pb::Constraint& constraint) {
  const std::string any = absl::StrJoin(constraint.names(), " or ");
  const std::string all = absl::StrJoin(constraint.names(), ", ");
  const std::string name = constraint.names().empty() ? "" : constraint.names(0);
  switch (constraint.kind()) {
    case pb::CONSTRAINT_KIND_ROOT_TRAITS:
      return RootWords(constraint, "with", "without");
    case pb::CONSTRAINT_KIND_ROOT_AGGREGATES:
      return RootWords(constraint, "in aggregate", "not in aggregate");
    case pb::CONSTRAINT_KIND_FORBIDDEN_ROOTS:
      return "none of the forbidden roots";
    case pb::CONSTRAINT_KIND_IN_TREE:
      return absl::StrCat("in the tree of ", name);
    case pb::CONSTRAINT_KIND_STALENESS:
      return "not retired (nor stale, if excluded)";
    case pb::CONSTRAINT_KIND_INVENTORY:
      return absl::StrCat("offers ", AmountOf(name, constraint.amount()));
    case pb::CONSTRAINT_KIND_FREE:
      return absl::StrCat(AmountOf(name, constraint.amount()), " free");
    case pb::CONSTRAINT_KIND_REQUIRED_TRAITS:
      return absl::StrCat("with ", any);
    case pb::CONSTRAINT_KIND_FORBIDDEN_TRAITS:
      return absl::StrCat("without ", all);
    case pb::CONSTRAINT_KIND_MEMBER_OF:
      return absl::StrCat("in aggregate ", any);
    case pb::CONSTRAINT_KIND_FORBIDDEN_AGGREGATES:
      return absl::StrCat("not in aggregate ", any);
    case pb::CONSTRAINT_KIND_ISOLATE:
      return absl::StrCat(all, " on different providers");
    case pb::CONSTRAINT_KIND_SAME_SUBTREE:
      return absl::StrCat(all, " in one subtree");
    case pb::CONSTRAINT_KIND_SEPARATE_SUBTREES:
      return absl::StrCat(all, " in separate subtrees");
    case pb::CONSTRAINT_KIND_COMBINATION:
      return "all groups together";
    default:
      return "a constraint that this client does not know";
  }
}

std::string ConstraintWords(const pb::Constraint& constraint) {
  const std::string words = PlainWords(constraint);
  return constraint.suffix().empty() ? words : absl::StrCat(constraint.suffix(), ": ", words);
}

// Returns, as text, what is missing, for example "16 VCPU free, has 12".
std::string LackOf(const pb::Shortfall& shortfall) {
  const std::string words = ConstraintWords(shortfall.constraint());
  if (shortfall.constraint().amount() == 0) return words;
  return absl::StrCat(words, ", has ", shortfall.available());
}

std::string ChangeOf(const pb::Relaxation& relaxation) {
  const pb::Constraint& constraint = relaxation.constraint();
  if (relaxation.fitting_amount() == 0)
    return absl::StrCat("leave out: ", ConstraintWords(constraint));
  const std::string group =
      constraint.suffix().empty() ? "" : absl::StrCat(constraint.suffix(), ": ");
  return absl::StrCat(group, "at most ",
                      AmountOf(constraint.names(0), relaxation.fitting_amount()));
}

std::string Roots(int64_t count) { return absl::StrCat(count, count == 1 ? " root" : " roots"); }

}  // namespace

std::string ExplanationPage(const pb::Explanation& explanation, const Screen& screen) {
  Table steps({{"ROOTS", Column::Kind::kNumber}, {"LEFT AFTER", Column::Kind::kText}});
  steps.Add({absl::StrCat(explanation.root_count()), "all roots"});
  for (const pb::FilterStep& step : explanation.steps()) {
    steps.Add({absl::StrCat(step.roots_after()), ConstraintWords(step.constraint())});
  }
  std::string page = absl::StrCat(
      "fits under ", explanation.fitting_root_count(), " of ", Roots(explanation.root_count()),
      explanation.truncated() ? " (not all were tried)" : "", "\n\n", steps.Render(screen));
  if (!explanation.near_misses().empty()) {
    Table nearest({{"NEARLY FITS", Column::Kind::kText},
                   {"LACKS", Column::Kind::kText},
                   {"UUID", Column::Kind::kSpare}});
    for (const pb::NearMiss& miss : explanation.near_misses()) {
      std::vector<std::string> lacks;
      for (const pb::Shortfall& shortfall : miss.shortfalls()) lacks.push_back(LackOf(shortfall));
      nearest.Add({miss.name(), absl::StrJoin(lacks, "; "), miss.root_uuid()});
    }
    absl::StrAppend(&page, "\n", nearest.Render(screen));
  }
  if (!explanation.relaxations().empty()) {
    Table changes(
        {{"ROOTS", Column::Kind::kNumber}, {"CHANGE THAT WOULD HELP", Column::Kind::kText}});
    for (const pb::Relaxation& relaxation : explanation.relaxations()) {
      changes.Add({absl::StrCat(relaxation.root_count()), ChangeOf(relaxation)});
    }
    absl::StrAppend(&page, "\n", changes.Render(screen));
  }
  return page;
}

std::string CapacityPage(const pb::GetCapacityResponse& answer, const Screen& screen) {
  Table roots({{"ROOT", Column::Kind::kText},
               {"FITS", Column::Kind::kNumber},
               {"UUID", Column::Kind::kSpare}});
  for (const pb::RootCapacity& root : answer.roots()) {
    roots.Add({root.name(), absl::StrCat(root.count()), root.root_uuid()});
  }
  const std::string total = absl::StrCat(
      "fits ", answer.truncated() ? "at least " : "", answer.total_count(),
      answer.total_count() == 1 ? " time" : " times", ", under ", Roots(answer.root_count()), "\n");
  return roots.empty() ? total : absl::StrCat(total, "\n", roots.Render(screen));
}

}  // namespace berth::cli
