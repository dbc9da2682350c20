// Reads lists page by page and joins the pages into one answer.
#ifndef BERTH_SERVICES_CLI_SESSION_PAGES_H_
#define BERTH_SERVICES_CLI_SESSION_PAGES_H_

#include <algorithm>

#include "absl/status/status.h"
#include "services/cli/session/session.h"

namespace berth::cli {

// The default limits of lists. Lists of names have short entries, so their limit is larger.
inline constexpr int kListed = 1'000;
inline constexpr int kListedNames = 10'000;

inline constexpr int kPageSizeMax = 1000;

// Reads pages of `request` into `answer` until `answer` holds `limit` entries, as counted by
// `count`. `answer` keeps the revision of the first page and the token of the last page. If this
// token is not empty, the server has more entries. Fails like Session::Call.
template <typename Request, typename Answer, typename Count>
absl::Status CallPaged(Session& session, Request request, int limit, Count count, Answer* answer) {
  while (true) {  // ends: each page has at least one entry or is the last
    request.set_page_size(std::min(kPageSizeMax, limit - static_cast<int>(count(*answer))));
    Answer page;
    BERTH_RETURN_IF_ERROR(session.Call(request, &page));
    if (answer->has_revision()) page.clear_revision();
    const bool last = page.next_page_token().empty() || count(page) == 0;
    request.set_page_token(page.next_page_token());
    answer->clear_next_page_token();
    answer->MergeFrom(page);
    if (last || static_cast<int>(count(*answer)) >= limit) return absl::OkStatus();
  }
}

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_PAGES_H_
