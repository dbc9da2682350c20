// DocumentCache: libvirt's documents as they were read last, and which of them a pass reads again.
// A document is the definition of a guest or the description of a device of the host.
//
// To read a document costs one call of libvirt, so a pass over an unchanged host must not read all
// of them. A pass lists the names of all documents with one call, and then reads a document if
//   it is new,
//   its guest was started or stopped since it was read,
//   an event said that it may have changed, or the last attempt to read it failed, or
//   it is its turn in the sweep.
// The sweep finds changes for which libvirt sends no event, for example of a stopped guest's number
// of CPUs. Each pass reads the documents that were read longest ago, so many that every document is
// read again within ten intervals between passes.
//
// Owns what was read. Calls nothing and knows no time but the times that it is given. Not
// thread-safe.
#ifndef BERTH_TRACKER_FACTS_DOCUMENT_CACHE_H_
#define BERTH_TRACKER_FACTS_DOCUMENT_CACHE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tracker/ground/boot_clock.h"

namespace berth::tracker {

// What is known about one document, apart from its content.
struct KnownDocument {
  // Tells the runs of a guest apart: libvirt's id of the running guest, -1 while it is stopped.
  // Always 0 for devices.
  int64_t run = 0;
  int64_t read_number = 0;  // of two documents, the one with the smaller number was read earlier
  bool outdated = false;    // an event came for it, or reading it failed
};

// Returns the documents to read, in ascending order: those of `listed`, which has the run of each
// document, that are unknown or outdated or have another run, and of the others the
// `sweep_share` documents that were read longest ago.
std::vector<std::string> DocumentsToRead(const std::map<std::string, int64_t>& listed,
                                         const std::map<std::string, KnownDocument>& known,
                                         int64_t sweep_share);

// Returns how many of `documents` the sweep reads in a pass that begins `since_last` after the pass
// before it. If passes come every `interval`, or more often, the sweep reads every document at
// least once in nine intervals. The tenth interval is for delayed passes.
int64_t SweepShare(int64_t documents, absl::Duration since_last, absl::Duration interval);

template <typename Content>
class DocumentCache {
 public:
  // Makes the next pass read these documents, as far as they exist.
  void Outdate(const std::set<std::string>& names) {
    for (const std::string& name : names) {
      const auto found = known_.find(name);
      if (found != known_.end()) found->second.outdated = true;
    }
  }
  // To be called when events may have been lost.
  void OutdateAll() {
    for (auto& [name, document] : known_) document.outdated = true;
  }

  // Begins a pass: forgets all documents that are not in `listed`, and returns those to read. Each
  // of them counts as outdated until it is stored.
  std::vector<std::string> Plan(const std::map<std::string, int64_t>& listed, MonotonicTime now,
                                absl::Duration interval) {
    std::erase_if(known_, [&](const auto& one) { return listed.count(one.first) == 0; });
    std::erase_if(contents_, [&](const auto& one) { return listed.count(one.first) == 0; });
    const absl::Duration since_last = absl::FromChrono(now - planned_at_.value_or(now));
    planned_at_ = now;
    std::vector<std::string> names =
        DocumentsToRead(listed, known_, SweepShare(known_.size(), since_last, interval));
    Outdate({names.begin(), names.end()});
    return names;
  }
  void Store(const std::string& name, int64_t run, Content content) {
    known_[name] = {run, ++read_number_, false};
    contents_.insert_or_assign(name, std::move(content));
  }
  void Forget(const std::string& name) {
    known_.erase(name);
    contents_.erase(name);
  }
  // Returns null if the document was never read. The pointer is valid until the document is stored
  // again or forgotten.
  Content* Find(const std::string& name) {
    const auto found = contents_.find(name);
    return found == contents_.end() ? nullptr : &found->second;
  }
  const std::map<std::string, Content>& contents() const { return contents_; }

 private:
  std::map<std::string, KnownDocument> known_;
  std::map<std::string, Content> contents_;  // the same names as known_
  std::optional<MonotonicTime> planned_at_;
  int64_t read_number_ = 0;
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DOCUMENT_CACHE_H_
