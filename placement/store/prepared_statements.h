// PreparedStatements: which statements are prepared on one connection, and under which names.
//
// Statements are found by their texts. Not thread-safe.
#ifndef BERTH_PLACEMENT_STORE_PREPARED_STATEMENTS_H_
#define BERTH_PLACEMENT_STORE_PREPARED_STATEMENTS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace berth::placement {

class PreparedStatements {
 public:
  // The name of the statement with the text `text`; empty if it is not prepared.
  std::string NameOf(const std::string& text) const {
    const auto known = names_.find(text);
    return known == names_.end() ? std::string() : absl::StrCat("s", known->second);
  }

  // Chooses a name for `text`, appends to `sql` what prepares the statement under it, and returns
  // the name. To be followed by KeepChosen if `sql` succeeds.
  std::string AppendPrepare(absl::string_view text, std::string* sql) {
    if (last_chosen_ - last_forgotten_ >= kMax) {
      names_.clear();
      forgets_ = true;
      absl::StrAppend(sql, "DEALLOCATE ALL; ");
    }
    // Each number is used only once: after a failure nobody knows whether a statement has it.
    const std::string name = absl::StrCat("s", ++last_chosen_);
    absl::StrAppend(sql, "PREPARE ", name, " AS ", text);
    return name;
  }

  // Keeps `text` under the name that was chosen last.
  void KeepChosen(const std::string& text) {
    if (std::exchange(forgets_, false)) last_forgotten_ = last_chosen_ - 1;
    names_.emplace(text, last_chosen_);
  }

  // The next call with `text` prepares the statement anew.
  void Forget(const std::string& text) { names_.erase(text); }

 private:
  // Batches need only a few different statements. After this many attempts to prepare one, failed
  // attempts included, all prepared statements are deallocated.
  static constexpr int kMax = 64;

  absl::flat_hash_map<std::string, int> names_;  // the name of 7 is s7
  int last_chosen_ = 0;
  int last_forgotten_ = 0;  // the newest one that was deallocated
  bool forgets_ = false;    // what AppendPrepare appended last deallocates all statements
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STORE_PREPARED_STATEMENTS_H_
