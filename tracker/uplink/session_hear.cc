// The methods of UplinkSession that process received messages.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/messages.h"
#include "tracker/uplink/push.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/session.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

// How long a refused report waits if placement could not decide it, or if the tracker has reached a
// daily limit and the node has no periodic passes.
constexpr std::chrono::seconds kSendAgain{2};
constexpr std::chrono::minutes kSendSlowly{1};

Standing ReadStanding(v1::NodeStanding standing) {
  switch (standing) {
    case v1::NODE_STANDING_KNOWN:
      return Standing::kKnown;
    case v1::NODE_STANDING_SEND_ALL:
      return Standing::kSendAll;
    case v1::NODE_STANDING_WAIT:
      return Standing::kWait;
    case v1::NODE_STANDING_STANDBY:
      return Standing::kStandby;
    default:
      return Standing::kNone;
  }
}

NodeRecord ReadRecord(const v1::RecordedNode& wire) {
  return {UuidOrNil(wire.node_uuid()), wire.node_name(), wire.host()};
}

LimitsByProvider ReadLimits(const v1::Ack& ack) {
  LimitsByProvider limits;
  for (const v1::ProviderLimits& wire : ack.limited()) {
    ProviderLimits& provider = limits[UuidOrNil(wire.provider_uuid())];
    provider.traits.insert(wire.traits().begin(), wire.traits().end());
    for (const v1::LimitedClass& of_class : wire.classes()) {
      provider.classes[of_class.resource_class()] = {
          of_class.withheld(), std::clamp<int64_t>(of_class.stored_total(), 0, kRecordAmountMax)};
    }
  }
  return limits;
}

// At most an hour; 0 if the duration is negative.
std::chrono::milliseconds ReadInterval(const google::protobuf::Duration& wire) {
  constexpr std::chrono::hours kMax{1};
  const absl::Duration interval = absl::Seconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  return std::min<std::chrono::milliseconds>(
      kMax, absl::ToChronoMilliseconds(std::max(interval, absl::ZeroDuration())));
}

// How long a report that exceeds a daily limit waits: until the next pass would be due, so that the
// tracker does not ask more often than it audits.
std::chrono::milliseconds DailyPause(const Node& node) {
  const std::chrono::milliseconds interval = node.options().pass_interval.value_or(kSendSlowly);
  return std::max<std::chrono::milliseconds>(interval, kSendAgain);
}

// Whether an equal report will be refused until somebody changes the settings of the host: the
// report is not lawful, a name in it belongs to another provider, or the node has less than what
// consumers hold, and not because of placement's limits (NamesLimits). Everything else may change by itself, for example when a consumer goes.
bool NeedsSettings(absl::StatusCode code) {
  return code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kAlreadyExists ||
         code == absl::StatusCode::kResourceExhausted;
}

// Placement tells a tracker with a certificate nothing of nodes that are not of its host.
std::string WithheldText(const std::string& name) {
  return absl::StrCat("placement has node ", name, " on another host, or has a provider tree with ",
                      "its uuid: the node waits until an operator gives it to this host, by ",
                      "`berth node adopt` or `berth node create`");
}

}  // namespace

void UplinkSession::Hear(const Response& response) {
  if (response.has_welcome()) {
    // Each later Hello has this uuid, and placement refuses a Hello with a text that is none.
    const std::optional<Uuid> service = ParseName(response.welcome().service().uuid());
    if (service && counts_->registered.service_uuid().empty()) {
      counts_->registered.set_service_uuid(service->ToString());
      *counts_->registered.mutable_revision() = response.revision();
    }
    HearWelcome(response.welcome());
  }
  if (response.has_ack()) HearAck(response.ack());
  if (response.has_reject()) HearReject(response.reject());
  if (response.has_push()) HearPush(response);
  if (response.has_record_answer()) HearRecordAnswer(response);
  if (response.has_snapshot_order()) {
    Node* const node = Find(response.snapshot_order().node_uuid());
    if (node != nullptr) node->Reports([](NodeReports* reports) { reports->OrderSnapshot(); });
  }
  if (response.has_audit_order()) {
    callbacks_.audit_ordered(response.audit_order().order_id(),
                             UuidOrNil(response.audit_order().node_uuid()));
  }
}

void UplinkSession::HearWelcome(const v1::Welcome& welcome) {
  const std::chrono::milliseconds interval = ReadInterval(welcome.heartbeat_interval());
  if (interval.count() > 0) heartbeat_ = interval;
  next_beat_ = std::min(next_beat_, Clock::now() + heartbeat_);
  std::vector<NodeRecord> records;
  for (const v1::RecordedNode& node : welcome.recorded_nodes()) records.push_back(ReadRecord(node));
  const bool disabled = welcome.service().disabled();
  HearService(disabled);
  for (const v1::NodeWelcome& told : welcome.nodes()) {
    // Each Hello names all nodes, so placement may welcome a node again. Only the first welcome
    // counts. Exception: AskForStandby makes the next welcome of a node on standby count, too.
    Node* const node = Find(told.node_uuid());
    if (node == nullptr || !welcomed_nodes_.insert(node->identity()->uuid).second) continue;
    WelcomeNode(told, records, node);
    // Placement pushes the records of a recorded node. For a new node placement pushes nothing, so
    // the records of the node begin empty.
    if (told.has_recorded() && !node->view().has_records) continue;
    const auto disable = [&](Records* own, NodeAccount*) {
      return std::exchange(own->service_disabled, disabled) != disabled;
    };
    node->ChangeRecords(disable, Clock::now());
  }
  if (!welcomed_.exchange(true)) ++counts_->sessions;
  if (std::exchange(counts_->away, false)) {
    callbacks_.log(absl::OkStatus(), "there is a session with placement again");
  }
}

void UplinkSession::WelcomeNode(const v1::NodeWelcome& told, std::vector<NodeRecord> records,
                                Node* node) {
  if (told.has_recorded()) {
    const Uuid uuid = UuidOrNil(told.node_uuid());
    std::erase_if(records, [&](const NodeRecord& one) { return one.uuid == uuid; });
    records.push_back(ReadRecord(told.recorded()));
  }
  const absl::StatusOr<IdentityCheck> check = node->CheckRecords(records);
  const Standing standing = check.ok() ? ReadStanding(told.standing()) : Standing::kRefused;
  node->Reports([&](NodeReports* reports) { reports->Welcome(standing, told.last_sequence()); });
  if (!check.ok()) return callbacks_.refused(node->name(), check.status(), first_);
  if (standing == Standing::kStandby && !told.has_recorded()) {
    if (withheld_.insert(UuidOrNil(told.node_uuid())).second) {
      callbacks_.log(absl::OkStatus(), WithheldText(node->name()));
    }
    return;
  }
  withheld_.erase(UuidOrNil(told.node_uuid()));
  for (const std::string& warning : check->warnings) callbacks_.log(absl::OkStatus(), warning);
}

void UplinkSession::HearAck(const v1::Ack& ack) {
  Node* const node = Find(ack.node_uuid());
  if (node == nullptr) return;
  std::map<Uuid, int64_t> generations;
  for (const v1::ProviderGenerations& item : ack.generations()) {
    generations[UuidOrNil(item.provider_uuid())] = item.generation();
  }
  node->Audits([&](NodeAudits* audits) {
    audits->Acknowledge(ack.sequence(), generations,
                        {ack.unknown_traits().begin(), ack.unknown_traits().end()}, Clock::now(),
                        ReadLimits(ack));
  });
  refusals_.erase(node);
  for (const std::string& warning : ack.warnings()) callbacks_.log(absl::OkStatus(), warning);
}

void UplinkSession::HearReject(const v1::Reject& reject) {
  Node* const node = Find(reject.node_uuid());
  if (node == nullptr) return;
  const auto code = static_cast<absl::StatusCode>(reject.status().code());
  const std::string reason = ReadReason(reject.status());
  const bool gap = reason == "REPORT_GAP";
  const bool daily = reason == "DAILY_LIMIT_REACHED";
  const bool conflict = code == absl::StatusCode::kAborted;
  const bool later = code == absl::StatusCode::kUnavailable;
  if (conflict) ++counts_->conflicts;
  if (later) not_before_[node] = Clock::now() + kSendAgain;
  if (daily) not_before_[node] = Clock::now() + DailyPause(*node);
  std::optional<std::vector<KnownProvider>> tree;
  if (conflict) tree = ReadProviders(reject.providers(), UuidOrNil(reject.node_uuid()));
  // not_before_ paces the reports after a daily limit, which may last longer than four tries.
  const ReportRefusal how = daily                      ? ReportRefusal::kLater
                            : conflict || later || gap ? ReportRefusal::kAgain
                                                       : ReportRefusal::kForGood;
  const bool tolerable = node->Audits([&](NodeAudits* audits) {
    if (NamesLimits(reject.status()) && audits->PutOffMoves(reject.sequence(), Clock::now())) {
      return true;
    }
    return audits->Reject(reject.sequence(), how, std::move(tree), Clock::now());
  });
  if (gap) node->Reports([](NodeReports* reports) { reports->OrderSnapshot(); });
  if (conflict || later || gap) return;
  const absl::Status refusal(code, reject.status().message());
  if (std::exchange(refusals_[node], refusal) != refusal) {
    callbacks_.log(refusal, absl::StrCat("placement refused the report of node ", node->name()));
  }
  if (!tolerable && NeedsSettings(code)) callbacks_.reshape_failed(node->name(), refusal);
}

void UplinkSession::HearService(bool disabled) {
  if (std::exchange(service_disabled_, disabled) && !disabled) told_ready_.reset();
}

void UplinkSession::HearPush(const Response& response) {
  push_bytes_ += response.push().ByteSizeLong();
  if (push_bytes_ > static_cast<size_t>(options_.received_bytes_max)) {
    push_.Clear();
    callbacks_.log(absl::ResourceExhaustedError(
                       absl::StrCat("more than ", options_.received_bytes_max, " bytes")),
                   "placement has sent a push that is too large: the session ends");
    return context_.TryCancel();
  }
  push_.MergeFrom(response.push());
  if (response.push().more()) return;
  push_bytes_ = 0;
  Apply(std::exchange(push_, v1::Push()), response.revision());
}

void UplinkSession::LogUnmatched(const absl::Status& status) {
  callbacks_.log(status, "placement answered a write of records that does not wait for an answer");
}

void UplinkSession::HearRecordAnswer(const Response& response) {
  const v1::RecordAnswer& answer = response.record_answer();
  writes_unanswered_ = std::max(0, writes_unanswered_ - 1);
  Node* const node = Find(answer.node_uuid());
  const WriteAnswer read = {absl::Status(static_cast<absl::StatusCode>(answer.status().code()),
                                         answer.status().message()),
                            NamesRecord(answer.status()),
                            ReadReason(answer.status()) == "SERVER_GROUP_POLICY_VIOLATED"};
  if (node == nullptr) return LogUnmatched(read.status);
  const auto apply = [&](Records*, NodeAccount* account) { return ApplyAnswer(answer, account); };
  node->ChangeRecords(apply, Clock::now());
  const bool waited = node->Claims([&](NodeClaims* claims, ClaimReplies* replies) {
    return claims->AnswerWrite(answer.write_id(), read, Clock::now(), replies);
  });
  if (!waited) LogUnmatched(read.status);
}

void UplinkSession::Apply(const v1::Push& push, const v1::Revision& revision) {
  if (push.has_service()) HearService(push.service().disabled());
  Node* const addressee = Find(push.node_uuid());
  for (Node* const node : nodes_) {
    if (!node->identity()) continue;
    const bool meant = node == addressee;
    // A push for another node concerns this node only if it has a change of the service.
    if (!meant && !(push.has_service() && node->view().has_records)) continue;
    // Skips changes that come before the first complete push, which has all records of the node.
    if (!push.complete() && !node->view().has_records) continue;
    node->ChangeRecords(
        [&](Records* records, NodeAccount* account) {
          const bool changed = meant && ApplyPush(push, revision, records, account);
          return std::exchange(records->service_disabled, service_disabled_) != service_disabled_ ||
                 changed;
        },
        Clock::now());
  }
}

}  // namespace berth::tracker
