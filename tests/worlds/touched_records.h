// TouchedRecords: counts how many of a test's records a call reads.
//
// Each record lies on a memory page of its own. While Count runs, all pages are closed; the first
// access to a page is caught, counted, and opens that page. So the number counts records, however
// often and by whatever path each is read, and the code under test needs no counter.
// One object at a time and one thread: the signal handler finds it in a static variable.
#ifndef BERTH_TESTS_WORLDS_TOUCHED_RECORDS_H_
#define BERTH_TESTS_WORLDS_TOUCHED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace berth::placement {

class TouchedRecords {
 public:
  // Takes up to `records_max` records.
  explicit TouchedRecords(size_t records_max);
  ~TouchedRecords();
  TouchedRecords(const TouchedRecords&) = delete;
  TouchedRecords& operator=(const TouchedRecords&) = delete;

  // `record` on a page of its own. REQUIRES: the pointer and its copies end before this object.
  template <typename Record>
  std::shared_ptr<const Record> Keep(Record record) {
    auto* kept = new (NextPage(sizeof(Record))) Record(std::move(record));
    return std::shared_ptr<const Record>(kept, [](const Record* each) { std::destroy_at(each); });
  }

  // How many of the records `call` reads.
  int64_t Count(const std::function<void()>& call);

 private:
  void* NextPage(size_t bytes);

  char* pages_;
  size_t page_count_;
  size_t used_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_TOUCHED_RECORDS_H_
