// Counted<T>: a reference-counted pointer to a T. The holders share the T and do not change it,
// except through Own().
//
// Own() returns a T that only this pointer holds: the same T if there is no other holder, else a
// copy. So a batch copies each part of the state at most once. std::shared_ptr cannot offer this,
// because its use_count does not synchronize threads. Different threads may use different pointers
// to one T, but not the same pointer.
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
  Counted(std::nullptr_t) {}  // NOLINT: a pointer converts from nullptr
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

  // The value, for changing it. The value is copied first if another pointer holds it, too.
  // REQUIRES: the pointer is not null.
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
