// HostIndex: the ids of the records of each host. A value, whose copy costs one pointer.
#ifndef BERTH_PLACEMENT_STATE_HOST_INDEX_H_
#define BERTH_PLACEMENT_STATE_HOST_INDEX_H_

#include <compare>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "placement/state/persistent_map.h"

namespace berth::placement {

template <typename IdType>
class HostIndex {
 public:
  void Put(const std::string& host, IdType id) { keys_.Put(Key{host, id}, {}); }
  void Erase(const std::string& host, IdType id) { keys_.Erase(Key{host, id}); }

  // Calls visit(id) for each id of `host`, in ascending order. The cost does not grow with the
  // number of ids of other hosts.
  template <typename Visit>
  void ForEach(absl::string_view host, Visit visit) const {
    keys_.ForEachFrom(Before{host}, [&](const Key& key, std::monostate) {
      if (key.host != host) return false;
      visit(key.id);
      return true;
    });
  }

 private:
  struct Key {
    std::string host;
    IdType id;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // A probe that finds the first key of `host`: it is less than each key of the host and equal to
  // none.
  struct Before {
    absl::string_view host;

    friend bool operator<(const Key& key, const Before& probe) { return key.host < probe.host; }
    friend bool operator<(const Before& probe, const Key& key) { return !(key < probe); }
  };

  PersistentMap<Key, std::monostate> keys_;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_HOST_INDEX_H_
