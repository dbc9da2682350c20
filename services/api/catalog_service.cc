#include <set>

#include "absl/strings/match.h"
#include "berth/placement/v1/catalog.grpc.pb.h"
#include "services/api/edge.h"
#include "services/api/page.h"
#include "services/api/services.h"
#include "services/wire/catalog.h"

namespace berth::services {
namespace {

using placement::State;
using placement::TraitId;

// Calls `add` for each name on one page of `table` for which `is_wanted` is true.
template <typename IdType, typename Request, typename Response>
absl::Status ListNames(const State& state, const placement::NameTable<IdType>& table,
                       const Request& request, Response* response,
                       const std::function<bool(const std::string&, IdType)>& is_wanted,
                       const std::function<void(const std::string&)>& add) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  int count = 0;
  std::string last;
  const auto& names = table.by_name();
  for (auto at = page.after() ? names.upper_bound(*page.after()) : names.begin(); at != names.end();
       ++at) {
    if (!is_wanted(at->first, at->second)) continue;
    if (count == page.limit()) {
      response->set_next_page_token(page.NextToken(last, read_at));
      break;
    }
    add(last = at->first);
    ++count;
  }
  return absl::OkStatus();
}

absl::Status GetClass(const State& state, const pb::GetClassRequest& request,
                      pb::GetClassResponse* response) {
  BERTH_RETURN_IF_ERROR(CheckName(request.name()));
  if (!state.catalog().classes.Find(request.name())) {
    return placement::Refuse(absl::StatusCode::kNotFound, "RESOURCE_CLASS_NOT_FOUND",
                             absl::StrCat("there is no resource class ", request.name()),
                             {{{"resource_class", request.name()}}});
  }
  FillClass(request.name(), response->mutable_resource_class());
  return absl::OkStatus();
}

absl::Status GetTrait(const State& state, const pb::GetTraitRequest& request,
                      pb::GetTraitResponse* response) {
  BERTH_RETURN_IF_ERROR(CheckName(request.name()));
  if (!state.catalog().traits.Find(request.name())) {
    return placement::Refuse(absl::StatusCode::kNotFound, "TRAIT_NOT_FOUND",
                             absl::StrCat("there is no trait ", request.name()),
                             {{{"trait", request.name()}}});
  }
  FillTrait(request.name(), response->mutable_trait());
  return absl::OkStatus();
}

absl::Status ListClasses(const State& state, const pb::ListClassesRequest& request,
                         pb::ListClassesResponse* response) {
  return ListNames<placement::ClassId>(
      state, state.catalog().classes, request, response,
      [](const std::string&, placement::ClassId) { return true; },
      [response](const std::string& name) { FillClass(name, response->add_resource_classes()); });
}

absl::Status ListTraits(const State& state, const pb::ListTraitsRequest& request,
                        pb::ListTraitsResponse* response) {
  const std::set<std::string> names(request.names().begin(), request.names().end());
  const auto is_wanted = [&](const std::string& name, TraitId id) {
    return (names.empty() || names.contains(name)) && absl::StartsWith(name, request.prefix()) &&
           (!request.has_associated() || request.associated() == (state.providers_with(id) > 0));
  };
  return ListNames<TraitId>(
      state, state.catalog().traits, request, response, is_wanted,
      [response](const std::string& name) { FillTrait(name, response->add_traits()); });
}

class CatalogService final : public pb::CatalogService::CallbackService {
 public:
  explicit CatalogService(Edge* edge) : edge_(edge) {}

  Reactor* CreateClass(Context* context, const pb::CreateClassRequest* request,
                       pb::CreateClassResponse* response) override {
    return edge_->Write(context, request, response, CreateClassCommand);
  }
  Reactor* EnsureClass(Context* context, const pb::EnsureClassRequest* request,
                       pb::EnsureClassResponse* response) override {
    return edge_->Write(context, request, response, EnsureClassCommand, FillEnsureClass);
  }
  Reactor* GetClass(Context* context, const pb::GetClassRequest* request,
                    pb::GetClassResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetClass);
  }
  Reactor* ListClasses(Context* context, const pb::ListClassesRequest* request,
                       pb::ListClassesResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListClasses);
  }
  Reactor* DeleteClass(Context* context, const pb::DeleteClassRequest* request,
                       pb::DeleteClassResponse* response) override {
    return edge_->Write(context, request, response, DeleteClassCommand);
  }
  Reactor* EnsureTrait(Context* context, const pb::EnsureTraitRequest* request,
                       pb::EnsureTraitResponse* response) override {
    return edge_->Write(context, request, response, EnsureTraitCommand, FillEnsureTrait);
  }
  Reactor* GetTrait(Context* context, const pb::GetTraitRequest* request,
                    pb::GetTraitResponse* response) override {
    return edge_->Read(context, request, response, Cost::kLight, services::GetTrait);
  }
  Reactor* ListTraits(Context* context, const pb::ListTraitsRequest* request,
                      pb::ListTraitsResponse* response) override {
    return edge_->Read(context, request, response, Cost::kHeavy, services::ListTraits);
  }
  Reactor* DeleteTrait(Context* context, const pb::DeleteTraitRequest* request,
                       pb::DeleteTraitResponse* response) override {
    return edge_->Write(context, request, response, DeleteTraitCommand);
  }

 private:
  Edge* const edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCatalogService(Edge* edge) {
  return std::make_unique<CatalogService>(edge);
}

}  // namespace berth::services
