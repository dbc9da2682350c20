#include "tests/oracle/candidates_replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/values/refusal.h"
#include "tests/oracle/recorded_world.h"
#include "tests/oracle/state_subject.h"
#include "tests/worlds/brute_force.h"

namespace berth::oracle {
namespace {

using placement::GroupPolicy;
using placement::RequestGroup;

FoundCandidate RecordedCandidate(const Json& from, const Ids& ids) {
  FoundCandidate candidate;
  for (const auto& [name, classes] : from.at("allocations").items()) {
    candidate.allocations[ids.at(name)] = AmountsOf(classes);
  }
  for (const auto& [suffix, names] : from.at("mappings").items()) {
    for (const std::string name : names) candidate.mappings[suffix].insert(ids.at(name));
  }
  return candidate;
}

Found RecordedAnswer(const Json& expect, const Ids& ids) {
  Found found;
  for (const Json& from : expect.at("allocation_requests")) {
    found.candidates.insert(RecordedCandidate(from, ids));
  }
  for (const auto& [name, from] : expect.at("provider_summaries").items()) {
    Summary& summary = found.summaries[ids.at(name)];
    if (!from.at("parent").is_null()) summary.parent = ids.at(from["parent"]);
    summary.root = ids.at(from.at("root"));
    summary.traits = StringsOf(from.at("traits"));
    for (const auto& [resource_class, amounts] : from.at("resources").items()) {
      summary.capacity[resource_class] = amounts.at("capacity");
      summary.used[resource_class] = amounts.at("used");
    }
  }
  return found;
}

// What trying everything gives in the world that `model` holds.
std::set<FoundCandidate> Everything(const StateSubject& model, const CandidateRequest& request) {
  std::set<FoundCandidate> all;
  for (const placement::PlainCandidate& plain : AllCandidates(model.state(), request)) {
    FoundCandidate candidate;
    for (const auto& [key, amount] : plain.allocations) {
      candidate.allocations[key.first][key.second] = amount;
    }
    candidate.mappings = plain.mappings;
    all.insert(std::move(candidate));
  }
  return all;
}

// The providers of all trees with a provider that serves something (P-205).
std::set<ProviderId> ServingTrees(StateSubject& model, const Ids& ids, const Found& found) {
  std::set<ProviderId> roots;
  for (const FoundCandidate& candidate : found.candidates) {
    for (const auto& [suffix, providers] : candidate.mappings) {
      for (ProviderId provider : providers) roots.insert(model.Provider(provider)->root);
    }
  }
  std::set<ProviderId> providers;
  for (const auto& [name, id] : ids) {
    if (roots.contains(model.Provider(id)->root)) providers.insert(id);
  }
  return providers;
}

bool HasResourceless(const CandidateRequest& request) {
  return std::any_of(request.groups.begin(), request.groups.end(),
                     [](const RequestGroup& group) { return group.resources.empty(); });
}

// Whether two groups ask for one class, so that amounts add up.
bool AddsUp(const CandidateRequest& request) {
  std::set<std::string> seen;
  for (const RequestGroup& group : request.groups) {
    for (const placement::NamedAmount& wanted : group.resources) {
      if (!seen.insert(wanted.resource_class).second) return true;
    }
  }
  return false;
}

// Whether what was recorded lacks nothing but what the recorded placement loses: it keeps one root
// for equal partial answers of the unsuffixed group, so that sharing providers that serve it alone
// are combined with the other groups under that root only (P-177 allows any).
bool LacksRootsOnly(const CandidateRequest& request, const Found& found, const Found& recorded,
                    const std::set<ProviderId>& sharing) {
  if (request.groups.size() < 2) return false;
  const auto& ours = found.candidates;
  if (!std::includes(ours.begin(), ours.end(), recorded.candidates.begin(),
                     recorded.candidates.end())) {
    return false;
  }
  return std::all_of(ours.begin(), ours.end(), [&](const FoundCandidate& candidate) {
    if (recorded.candidates.contains(candidate)) return true;
    const auto unsuffixed = candidate.mappings.find("");
    return unsuffixed != candidate.mappings.end() &&
           std::includes(sharing.begin(), sharing.end(), unsuffixed->second.begin(),
                         unsuffixed->second.end());
  });
}

// One query, its recorded answer, and the world it is about.
class Query {
 public:
  Query(std::string where, const Json& recorded, StateSubject& model, const Ids& ids)
      : where_(std::move(where)),
        request_(RequestOf(recorded.at("query"))),
        expect_(recorded.at("expect")),
        model_(model),
        ids_(ids) {}

  Report Judge(const absl::StatusOr<Found>& answer) {
    if (expect_.contains("error")) {
      JudgeError(answer.status());
    } else if (!answer.ok()) {
      JudgeRefusal(answer.status());
    } else {
      JudgeAnswer(*answer, RecordedAnswer(expect_, ids_));
    }
    return std::move(report_);
  }

 private:
  void Pass() { ++report_.passed; }
  void Except(const std::string& rule, const std::string& what) {
    Pass();
    report_.Except(rule, where_, what);
  }
  void Fail(const std::string& what) { report_.failures.push_back(where_ + ": " + what); }

  void JudgeError(const absl::Status& status);
  void JudgeRefusal(const absl::Status& status);
  void JudgeAnswer(const Found& found, const Found& recorded);
  void JudgeSummaries(const Found& found, const Found& recorded);
  // The rule by which the candidates may differ from what was recorded; empty: none.
  std::string RuleFor(const Found& found, const Found& recorded);

  std::string where_;
  CandidateRequest request_;
  const Json& expect_;
  StateSubject& model_;
  const Ids& ids_;
  Report report_;
};

// HTTP 400 is recorded for faults of form and for unknown names.
void Query::JudgeError(const absl::Status& status) {
  const int code = expect_["error"].at("status");
  const bool nested_sharing = code >= 500;  // P-111: it failed where a sharing provider is no root
  if (nested_sharing && status.ok()) {
    Except("P-111 (D-8)", absl::StrCat("answered where ", code, " was recorded"));
  } else if (code == 400 && (absl::IsInvalidArgument(status) || absl::IsNotFound(status))) {
    Pass();
  } else {
    Fail(absl::StrCat("recorded HTTP ", code, ", got ", status.ToString()));
  }
}

void Query::JudgeRefusal(const absl::Status& status) {
  if (absl::IsNotFound(status) && expect_.at("allocation_requests").empty()) {
    Except("P-174", status.ToString());
  } else {
    Fail(absl::StrCat("recorded an answer, got ", status.ToString()));
  }
}

void Query::JudgeAnswer(const Found& found, const Found& recorded) {
  if (found.candidates == recorded.candidates) {
    JudgeSummaries(found, recorded);
    return;
  }
  const std::string rule = RuleFor(found, recorded);
  const std::string counts =
      absl::StrCat(found.candidates.size(), " candidates, recorded ", recorded.candidates.size());
  if (rule.empty()) {
    Fail(counts);
  } else if (found.candidates != Everything(model_, request_)) {
    Fail(absl::StrCat(counts, "; ", rule, " would allow it, but trying everything says otherwise"));
  } else {
    Except(rule, counts);
  }
}

std::string Query::RuleFor(const Found& found, const Found& recorded) {
  if (request_.group_policy != GroupPolicy::kNone && AddsUp(request_)) return "P-197 (D-4)";
  if (HasResourceless(request_)) return "P-183 (D-10)";
  std::set<ProviderId> sharing;
  for (const auto& [name, id] : ids_) {
    if (model_.Provider(id)->traits.contains("MISC_SHARES_VIA_AGGREGATE")) sharing.insert(id);
  }
  return LacksRootsOnly(request_, found, recorded, sharing) ? "P-177" : "";
}

void Query::JudgeSummaries(const Found& found, const Found& recorded) {
  if (found.summaries == recorded.summaries) {
    Pass();
    return;
  }
  for (const auto& [id, summary] : recorded.summaries) {
    const auto ours = found.summaries.find(id);
    if (ours == found.summaries.end() || !(ours->second == summary)) {
      Fail(absl::StrCat("the summary of ", id.ToString(), " differs"));
      return;
    }
  }
  std::set<ProviderId> summarized;
  for (const auto& [id, summary] : found.summaries) summarized.insert(id);
  if (HasResourceless(request_) && summarized == ServingTrees(model_, ids_, found)) {
    Except("P-205", "summaries of trees that only a resourceless group touches");
  } else {
    Fail(absl::StrCat(found.summaries.size(), " summaries, recorded ", recorded.summaries.size()));
  }
}

}  // namespace

Report ReplayCandidates(Subject& subject, const Json& line) {
  Report report;
  const std::string name = line.at("case");
  StateSubject model;
  const Ids ids = IdsOf(line.at("setup"));
  for (Subject* each : {static_cast<Subject*>(&model), &subject}) {
    if (const absl::Status status = Build(*each, line); !status.ok()) {
      report.failures.push_back(absl::StrCat(name, ": the world was refused: ", status.ToString()));
    }
  }
  int number = 0;
  for (const Json& recorded : line.at("queries")) {
    Query query(absl::StrCat(name, " query ", number++), recorded, model, ids);
    report.Add(query.Judge(subject.Find(RequestOf(recorded.at("query")))));
  }
  if (const absl::Status status = TakeAway(subject, line); !status.ok()) {
    report.failures.push_back(absl::StrCat(name, ": could not be removed: ", status.ToString()));
  }
  return report;
}

}  // namespace berth::oracle
