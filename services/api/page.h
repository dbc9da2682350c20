// Pages of a list: how many, after what, and the token that asks for the next (AIP-158).
//
// A token is bound to the call and its filters; it carries the revision of the first page, so that
// whoever reads all pages knows from where to watch. Values.
#ifndef BERTH_SERVICES_API_PAGE_H_
#define BERTH_SERVICES_API_PAGE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "placement/values/types.h"

namespace berth::services {

class Page {
 public:
  // What `request` asks for: a message with page_size and page_token. Fails with INVALID_FIELD for a
  // negative size, PAGE_TOKEN_MISMATCH for a token of another list or other filters.
  static absl::StatusOr<Page> Of(const google::protobuf::Message& request);

  int limit() const { return limit_; }  // 1..1000
  // The key after which this page begins; none: the first page.
  const std::optional<std::string>& after() const { return after_; }
  // The revision to answer: that of the first page.
  placement::Revision RevisionToAnswer(placement::Revision read_at) const;
  // The token of the page after `last_key`.
  std::string NextToken(const std::string& last_key, placement::Revision read_at) const;

 private:
  int limit_ = 0;
  std::string filters_;  // digest
  std::optional<std::string> after_;
  placement::Revision first_page_;
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_API_PAGE_H_
