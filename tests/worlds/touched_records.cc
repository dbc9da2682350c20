#include "tests/worlds/touched_records.h"

#include <signal.h>
#include <sys/mman.h>

#include "placement/ground/check.h"

namespace berth::placement {
namespace {

constexpr size_t kPage = 4096;

// What the signal handler needs of the call that is being counted.
struct Watched {
  char* begin = nullptr;
  char* end = nullptr;
  volatile int64_t touched = 0;
};
Watched watched;

void OpenPage(int, siginfo_t* info, void*) {
  auto* const at = static_cast<char*>(info->si_addr);
  if (at < watched.begin || at >= watched.end) {
    signal(SIGSEGV, SIG_DFL);  // a fault of the code under test: it happens again, and ends it
    return;
  }
  watched.touched = watched.touched + 1;
  char* const page = watched.begin + (at - watched.begin) / kPage * kPage;
  mprotect(page, kPage, PROT_READ | PROT_WRITE);
}

}  // namespace

TouchedRecords::TouchedRecords(size_t records_max) : page_count_(records_max) {
  void* const pages = mmap(nullptr, page_count_ * kPage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BERTH_CHECK(pages != MAP_FAILED);
  pages_ = static_cast<char*>(pages);
}

TouchedRecords::~TouchedRecords() { munmap(pages_, page_count_ * kPage); }

void* TouchedRecords::NextPage(size_t bytes) {
  BERTH_CHECK(bytes <= kPage && used_ < page_count_);
  return pages_ + kPage * used_++;
}

int64_t TouchedRecords::Count(const std::function<void()>& call) {
  watched.begin = pages_;
  watched.end = pages_ + page_count_ * kPage;
  watched.touched = 0;
  struct sigaction handler = {};
  struct sigaction before = {};
  handler.sa_sigaction = &OpenPage;
  handler.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &handler, &before);
  mprotect(pages_, page_count_ * kPage, PROT_NONE);
  call();
  mprotect(pages_, page_count_ * kPage, PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before, nullptr);
  return watched.touched;
}

}  // namespace berth::placement
