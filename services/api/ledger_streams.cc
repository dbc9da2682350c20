#include "services/api/ledger_streams.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "placement/ground/boot_clock.h"
#include "placement/state/lookup.h"
#include "services/api/kept_reply.h"
#include "services/process/caller.h"
#include "services/process/digest.h"
#include "services/process/gate.h"
#include "services/process/open_calls.h"
#include "services/process/status.h"
#include "services/watch/entity_walk.h"
#include "services/wire/import.h"

namespace berth::services {
namespace {

// A message of an export ends after the entity with which it becomes larger than this.
constexpr size_t kExportMessageBytesMax = 256 << 10;
constexpr size_t kImportBytesMax = 256 << 20;
// How long an import may take; other calls have less time.
constexpr absl::Duration kImportDeadlineMax = absl::Minutes(10);  // after all its records came

absl::Status Overloaded(absl::string_view why) {
  return placement::Refuse(absl::StatusCode::kUnavailable, "OVERLOADED", why, {}, absl::Seconds(1));
}

class ExportStream final : public grpc::ServerWriteReactor<pb::ExportLedgerResponse> {
 public:
  ExportStream(Edge* edge, ExportPlaces* places, Context* context,
               const pb::ExportLedgerRequest& request)
      : edge_(edge), places_(places), context_(context), request_(request) {}

  void Open() {
    ticket_ = places_->Take(owner_, begun_, [this](const absl::Status& status) { End(status); });
    if (ticket_ == 0) return End(Overloaded("too many exports are running: try again later"));
    if (!request_.has_minimum_revision()) return Begin(edge_->ledger()->Fresh());
    edge_->ledger()->AwaitRevision(
        RevisionOf(request_.minimum_revision()), begun_ + TimeLeft(*context_, absl::Minutes(1)),
        {owner_, cancelled_},
        [this](absl::StatusOr<placement::StatePtr> state) { Begin(std::move(state)); });
  }

  void OnWriteDone(bool ok) override {
    if (!places_->Heard(ticket_, placement::BootNow())) return;
    if (!ok) return End(absl::CancelledError("the caller has gone"));
    Continue();
  }
  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

 private:
  void Begin(absl::StatusOr<placement::StatePtr> state) {
    if (!state.ok()) return End(state.status());
    SetRevision((*state)->position().revision, &revision_);
    walk_.emplace(*std::move(state), WatchFilter(), EntityWalk::Content::kExport);
    Continue();
  }

  void Continue() {
    if (open_ != nullptr && !open_->ending().ok()) return End(open_->ending());
    if (walk_->done()) return End(absl::OkStatus());
    const auto refuse = [this] {
      End(Overloaded("too many calls are waiting: begin the export again"));
    };
    const bool taken = edge_->workers()->Submit(
        {owner_, placement::Priority::kBulk}, [this] { WriteNext(); }, refuse);
    if (!taken) refuse();
  }

  void WriteNext() {
    if (total_count_ < 0) total_count_ = placement::EntityCount(walk_->state());
    message_.Clear();
    *message_.mutable_revision() = revision_;
    message_.set_total_count(total_count_);
    size_t bytes = 0;
    walk_->Fill([&]() -> pb::Entity* {
      const int count = message_.entities_size();
      if (count > 0) bytes += message_.entities(count - 1).ByteSizeLong();
      return bytes < kExportMessageBytesMax ? message_.add_entities() : nullptr;
    });
    places_->Await(ticket_, placement::BootNow(), [this] { StartWrite(&message_); });
  }

  // Ends the call. Called once. While a message is being sent, `places_` calls this. At any other
  // time the thread that works for the call calls it.
  void End(const absl::Status& status) {
    places_->Leave(ticket_);
    walk_.reset();  // a caller who does not read keeps this object, but not the state
    Finish(edge_->recorder().End(request_, *context_, EndingOf(open_, status), begun_));
  }

  Edge* const edge_;
  ExportPlaces* const places_;
  Context* const context_;
  const OpenCallPtr open_ = OpenCall::Current();  // null: the connection has no TLS
  const pb::ExportLedgerRequest request_;
  const std::string owner_ = ActorOf(*context_);
  const placement::BootTime begun_ = placement::BootNow();
  const std::shared_ptr<std::atomic<bool>> cancelled_ = CancelledFlagOf(open_);
  int64_t ticket_ = 0;  // 0: no place was free
  pb::Revision revision_;
  int64_t total_count_ = -1;  // below 0: the entities are not counted yet
  std::optional<EntityWalk> walk_;
  pb::ExportLedgerResponse message_;  // the message that is being sent
};

class ImportStream final : public grpc::ServerReadReactor<pb::ImportLedgerRequest> {
 public:
  ImportStream(Edge* edge, ImportPlace* place, Context* context, pb::ImportLedgerResponse* response)
      : edge_(edge),
        place_(place),
        context_(context),
        response_(response),
        deadline_(begun_ + TimeLeft(*context, ImportPlace::kReadingMax + kImportDeadlineMax)) {}

  void Open() {
    ticket_ = place_->Take(begun_, [this](const absl::Status& status) { End(status); });
    if (ticket_ == 0) return End(Overloaded("another import is running: try again later"));
    ReadNext();
  }

  void OnReadDone(bool ok) override {
    if (!place_->Heard(ticket_)) return;
    if (cancelled_->load()) return End(absl::CancelledError("the caller has gone"));
    const auto refuse = [this] {
      End(Overloaded("too many calls are waiting: nothing was imported, try again"));
    };
    const bool taken = edge_->workers()->Submit(
        {owner_, placement::Priority::kBulk}, [this, ok] { ok ? Take() : Decide(); }, refuse);
    if (!taken) refuse();
  }
  void OnCancel() override { cancelled_->store(true); }
  void OnDone() override { delete this; }

 private:
  void Take() {
    const absl::Status taken = TakeMessage();
    if (!taken.ok()) return End(taken);
    ReadNext();
  }

  void ReadNext() {
    place_->Await(ticket_, placement::BootNow(), [this] { StartRead(&message_); });
  }

  absl::Status TakeMessage() {
    if (!first_) {
      BERTH_RETURN_IF_ERROR(TakeFirst());
    } else if (message_.has_total_count()) {
      return InvalidField("total_count", "is allowed only in the first message");
    }
    bytes_ += message_.ByteSizeLong();
    if (bytes_ > kImportBytesMax) {
      return InvalidField(
          "entities", absl::StrCat("must be ", kImportBytesMax, " bytes at most in one import"));
    }
    for (const pb::Entity& entity : message_.entities()) {
      BERTH_RETURN_IF_ERROR(records_.Add(entity));
      if (!first_->request_id().empty()) digest_ = ChainedDigest(digest_, entity);
    }
    return absl::OkStatus();
  }

  // Reads the fields that only the first message of an import has.
  absl::Status TakeFirst() {
    first_.emplace(message_);
    first_->clear_entities();
    BERTH_RETURN_IF_ERROR(CheckText(*first_));
    BERTH_RETURN_IF_ERROR(CheckRequestId(first_->request_id()));
    if (!first_->has_total_count()) return InvalidField("total_count", "is required");
    if (first_->total_count() < 0) return InvalidField("total_count", "must not be negative");
    digest_ = MessageDigest(*first_, {"request_id"});
    return absl::OkStatus();
  }

  // Submits or refuses the import. Called when all messages have come, or when the stream broke.
  void Decide() {
    if (!first_) return End(InvalidField("total_count", "is required"));
    if (records_.count() != first_->total_count()) {
      return End(InvalidField("total_count", absl::StrCat("is ", first_->total_count(), ", but ",
                                                          records_.count(), " entities arrived")));
    }
    placement::ImportLedger import = records_.TakeCommand();
    import.require_empty = first_->require_empty();
    import.validate_only = first_->validate_only();
    placement::Command command;
    command.actor = owner_;
    command.method = edge_->recorder().LoggedMethodOf(*first_);
    command.request_id = first_->request_id();
    command.body = std::move(import);
    if (!command.request_id.empty()) {
      command.body_hash = digest_;
      command.asked = AskedBy(*first_, edge_->recorder().MethodOf(*first_));
    }
    const auto deadline = std::min(deadline_, placement::BootNow() + kImportDeadlineMax);
    if (open_ != nullptr) open_->AnswerInAnyCase();
    edge_->ledger()->Submit(std::move(command), deadline, cancelled_,
                            [this](const placement::Decision& decision) { Answer(decision); });
  }

  void Answer(const placement::Decision& decision) {
    if (!decision.status.ok()) return End(decision.status);
    const placement::StatePtr state = edge_->ledger()->Newest();
    SetRevision(decision.revision, response_->mutable_revision());
    FillImportLedger(WriteAnswer{decision, *state, state->catalog()}, response_);
    End(absl::OkStatus());
  }

  // Ends the call. Called once. While the call waits for the client's next message, `place_` calls
  // this. At any other time the thread that works for the call calls it.
  void End(const absl::Status& status) {
    place_->Leave(ticket_);
    const auto& request = first_.value_or(pb::ImportLedgerRequest());
    Finish(edge_->recorder().End(request, *context_, EndingOf(open_, status), begun_));
  }

  Edge* const edge_;
  ImportPlace* const place_;
  Context* const context_;
  pb::ImportLedgerResponse* const response_;
  const std::string owner_ = ActorOf(*context_);
  const placement::BootTime begun_ = placement::BootNow();
  const placement::BootTime deadline_;            // the caller's
  const OpenCallPtr open_ = OpenCall::Current();  // null: the connection has no TLS
  const std::shared_ptr<std::atomic<bool>> cancelled_ = CancelledFlagOf(open_);
  int64_t ticket_ = 0;                            // 0: another import has the place
  pb::ImportLedgerRequest message_;               // the message being read or handled
  std::optional<pb::ImportLedgerRequest> first_;  // the first message, without its entities
  size_t bytes_ = 0;
  std::string digest_;
  ImportRecords records_;
};

}  // namespace

grpc::ServerWriteReactor<pb::ExportLedgerResponse>* OpenExport(
    Edge* edge, ExportPlaces* places, Context* context, const pb::ExportLedgerRequest& request) {
  auto* stream = new ExportStream(edge, places, context, request);
  stream->Open();
  return stream;
}

grpc::ServerReadReactor<pb::ImportLedgerRequest>* OpenImport(Edge* edge, ImportPlace* place,
                                                             Context* context,
                                                             pb::ImportLedgerResponse* response) {
  auto* stream = new ImportStream(edge, place, context, response);
  stream->Open();
  return stream;
}

}  // namespace berth::services
