// Reads lists page by page and joins the pages into one answer.
#ifndef BERTH_SERVICES_CLI_SESSION_PAGES_H_
#define BERTH_SERVICES_CLI_SESSION_PAGES_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// The default limits of lists. Lists of names have short entries, so their limit is larger.
inline constexpr int kListed = 1'000;
inline constexpr int kListedNames = 10'000;

inline constexpr int kPageSizeMax = 1000;

// The uuids of entities, in their order.
template <typename Entities>
std::vector<std::string> UuidsOf(const Entities& entities) {
  std::vector<std::string> uuids;
  for (const auto& entity : entities) uuids.push_back(entity.uuid());
  return uuids;
}

// Returns the answer to `request`, which lists entities. Reads as many pages as `limit` entries
// need, and joins them. The answer has the revision of the first page and the token of the last
// page. If this token is not empty, the server has more entries. `trim` removes entries that the
// caller does not want from each page; they do not count for `limit`. Fails like Session::Call.
// REQUIRES: the list is the only repeated field of an Answer.
template <typename Answer, typename Request>
absl::StatusOr<Answer> CallPaged(
    Session& session, Request request, int limit, void (*trim)(Answer*) = [](Answer*) {}) {
  const auto* list = Answer::descriptor()->field(0);
  for (int i = 1; !list->is_repeated(); ++i) list = Answer::descriptor()->field(i);
  const auto count = [&](const Answer& of) { return of.GetReflection()->FieldSize(of, list); };
  Answer answer;
  while (true) {  // ends: each page of the server has at least one entry or is the last
    request.set_page_size(std::min(kPageSizeMax, limit - count(answer)));
    BERTH_ASSIGN_OR_RETURN(Answer page, session.Call<Answer>(request));
    if (answer.has_revision()) page.clear_revision();
    const bool last = page.next_page_token().empty() || count(page) == 0;
    request.set_page_token(page.next_page_token());
    trim(&page);
    answer.clear_next_page_token();
    answer.MergeFrom(page);
    if (last || count(answer) >= limit) return answer;
  }
}

// If the server has more entries, tells the user that the list in `answer` ends at `limit`.
template <typename Answer>
void SayIfCut(Session& session, const Answer& answer, int limit) {
  if (answer.next_page_token().empty()) return;
  session.Say(absl::StrCat("only the first ", limit, " are shown; a larger --limit shows more"));
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_PAGES_H_
