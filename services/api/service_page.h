// FillServicePage: one page of a list of services, for the calls that list them.
//
// Pure, except that it calls the functions that it is given.
#ifndef BERTH_SERVICES_API_SERVICE_PAGE_H_
#define BERTH_SERVICES_API_SERVICE_PAGE_H_

#include <algorithm>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "placement/state/state.h"
#include "services/api/page.h"
#include "services/wire/form.h"

namespace berth::services {

// Separates the parts of a key in a list of services. No name contains this character.
inline constexpr char kServiceKeySeparator = '\n';

// Fills the revision and the next page token of `response`, and calls `add` for each service of the
// page that `passes`. Services are sorted by host, then by kind of process. Fails like Page::Of.
template <typename Request, typename Response>
absl::Status FillServicePage(const placement::State& state, const Request& request,
                             Response* response,
                             absl::FunctionRef<bool(const placement::ServiceRecord&)> passes,
                             absl::FunctionRef<void(const placement::ServiceRecord&)> add) {
  BERTH_ASSIGN_OR_RETURN(const auto page, Page::Of(request));
  const placement::Revision read_at = state.position().revision;
  SetRevision(page.RevisionToAnswer(read_at), response->mutable_revision());
  std::string last;
  int count = 0;
  const auto visit = [&](const auto& key, const placement::ServicePtr& service) {
    if (!passes(*service)) return true;
    if (count++ == page.limit()) {
      response->set_next_page_token(page.NextToken(last, read_at));
      return false;
    }
    add(*service);
    last = absl::StrCat(key.first, std::string(1, kServiceKeySeparator), key.second);
    return true;
  };
  const std::string after = page.after().value_or("");
  const size_t cut = std::min(after.find(kServiceKeySeparator), after.size());
  const std::pair key(after.substr(0, cut), after.substr(std::min(cut + 1, after.size())));
  page.after() ? state.services().ForEachFrom(key, visit) : state.services().ForEach(visit);
  return absl::OkStatus();
}

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_SERVICE_PAGE_H_
