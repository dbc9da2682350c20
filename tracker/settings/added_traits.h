// AddedTraitsFile: remembers which traits provider configuration files have added to providers, so
// that the tracker can remove these traits when the files no longer have them. Placement does not
// know which traits an operator has set by hand; those must stay.
//
// Owns the content of one file in the state directory. Thread-safe, but one thread at a time may
// call Remember.
#ifndef BERTH_TRACKER_SETTINGS_ADDED_TRAITS_H_
#define BERTH_TRACKER_SETTINGS_ADDED_TRAITS_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tracker/ground/mutex.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {

// Traits by the uuid of their provider.
using AddedTraits = std::map<Uuid, std::set<std::string>>;

class AddedTraitsFile {
 public:
  // Reads the file `added_traits.json` in `directory`. If there is none, nothing is remembered.
  //
  // FailedPrecondition, with the path, if the file cannot be read or has another form.
  absl::Status Open(const std::string& directory);

  // Remembers `traits`, and writes the file if its content changes. After a crash the file has the
  // old content or the new one.
  //
  // FailedPrecondition if the file cannot be written; then the traits are remembered until the
  // process ends.
  absl::Status Remember(const AddedTraits& traits);
  // Forgets one trait, because placement has removed it. The next Remember writes this to the file.
  void Forget(const Uuid& provider_uuid, const std::string& trait);

  AddedTraits traits() const;

 private:
  std::string path_;     // empty: Open was not called
  AddedTraits written_;  // the content of the file
  mutable Mutex mutex_;
  AddedTraits traits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_SETTINGS_ADDED_TRAITS_H_
