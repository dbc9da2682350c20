// Page: one page of a list: its size, the key after which it begins, and the token of the next page
// (AIP-158).
//
// A token is valid for one method with the same filters. It carries the revision of the first page,
// so a caller that has read all pages can watch from that revision: no page is older. Values.
#ifndef BERTH_SERVICES_API_PAGE_H_
#define BERTH_SERVICES_API_PAGE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "placement/values/types.h"

namespace berth::services {

// A page ends when it has more bytes than this, which is far below the limit of a gRPC message.
inline constexpr size_t kPageBytesMax = 1 << 20;

class Page {
 public:
  // The page that `request` asks for; it must have the fields page_size and page_token. Fails with
  // INVALID_FIELD for a negative size, and with PAGE_TOKEN_MISMATCH for the token of another list
  // or of other filters.
  static absl::StatusOr<Page> Of(const google::protobuf::Message& request);

  // The revision of the first page, if `request` has the token of a later page that Of can read.
  static std::optional<placement::Revision> FirstRevision(const google::protobuf::Message& request);

  int limit() const { return limit_; }  // 1..1000
  // The key after which this page begins; nothing for the first page.
  const std::optional<std::string>& after() const { return after_; }
  // The revision to put into the answer: the revision of the first page. If this is the first page,
  // that is `read_at`, the revision at which this page was read.
  placement::Revision RevisionToAnswer(placement::Revision read_at) const;
  // The token of the next page, which begins after `last_key`. `read_at`: the revision at which
  // this page was read.
  std::string NextToken(const std::string& last_key, placement::Revision read_at) const;

 private:
  int limit_ = 0;
  std::string filters_;  // digest of the request's filters
  std::optional<std::string> after_;
  placement::Revision first_page_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_PAGE_H_
