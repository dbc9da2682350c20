#include "tracker/hypervisor/guest_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth::tracker {

absl::StatusOr<std::vector<GuestReader::Reading>> GuestReader::Read(
    absl::Time now, absl::Duration interval, std::vector<std::string>* warnings) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<ListedGuest> listed, hypervisor_->Guests());
  std::map<std::string, int64_t> run_by_uuid;
  for (const ListedGuest& guest : listed) run_by_uuid[guest.uuid.ToString()] = guest.run;
  const std::vector<std::string> wanted = definitions_.Plan(run_by_uuid, now, interval);
  std::vector<ListedGuest> asked;
  for (const ListedGuest& guest : listed) {
    if (std::binary_search(wanted.begin(), wanted.end(), guest.uuid.ToString()))
      asked.push_back(guest);
  }
  BERTH_ASSIGN_OR_RETURN(const DocumentTexts texts, hypervisor_->Definitions(asked));
  std::set<std::string> removed;
  for (size_t i = 0; i < asked.size(); ++i) {
    const std::string uuid = asked[i].uuid.ToString();
    if (absl::IsNotFound(texts[i].status())) {
      definitions_.Forget(uuid);
      removed.insert(uuid);
      continue;
    }
    absl::StatusOr<GuestDefinition> parsed =
        texts[i].ok() ? ParseGuestDefinition(*texts[i]) : texts[i].status();
    if (parsed.ok()) {
      definitions_.Store(uuid, asked[i].run, {*std::move(parsed)});
    } else {
      warnings->push_back(absl::StrCat("guest ", uuid, ": ", parsed.status().message()));
    }
  }
  std::vector<Reading> guests;
  for (const ListedGuest& guest : listed) {
    if (removed.count(guest.uuid.ToString()) == 0) {
      guests.push_back({guest, definitions_.Find(guest.uuid.ToString())});
    }
  }
  return guests;
}

}  // namespace berth::tracker
