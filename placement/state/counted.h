// Counted: a counted pointer to an immutable thing, whose only holder may change it in place.
//
// The means behind "copy what is touched, once": a value that nobody else holds is changed where it
// stands, any other is copied first. std::shared_ptr cannot do this, since its use_count orders
// nothing between threads. Distinct pointers to one thing may be used from different threads; one
// pointer may not.
#ifndef BERTH_PLACEMENT_STATE_COUNTED_H_
#define BERTH_PLACEMENT_STATE_COUNTED_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace berth::placement {

template <typename T>
class Counted {
 public:
  Counted() = default;
  Counted(std::nullptr_t) {}  // NOLINT: converts, as every pointer does
  template <typename... Args>
  static Counted Make(Args&&... args) {
    return Counted(new Box{{1}, T{std::forward<Args>(args)...}});
  }

  Counted(const Counted& other) : box_(other.box_) {
    if (box_ != nullptr) box_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Counted(Counted&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  Counted& operator=(Counted other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Counted() {
    if (box_ != nullptr && box_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete box_;
    }
  }

  const T* get() const { return box_ == nullptr ? nullptr : &box_->value; }
  const T& operator*() const { return box_->value; }
  const T* operator->() const { return &box_->value; }
  explicit operator bool() const { return box_ != nullptr; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.box_ == b.box_; }
  friend bool operator==(const Counted& a, std::nullptr_t) { return a.box_ == nullptr; }

  // The thing, for changing it; it is copied first where someone else holds it too. REQUIRES: not
  // null.
  T& Own() {
    if (box_->references.load(std::memory_order_acquire) != 1) *this = Make(box_->value);
    return box_->value;
  }

 private:
  struct Box {
    std::atomic<uint32_t> references;
    T value;
  };
  explicit Counted(Box* box) : box_(box) {}

  Box* box_ = nullptr;
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_STATE_COUNTED_H_
