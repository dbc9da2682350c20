#include "placement/writer/turns.h"

#include <utility>

#include "placement/ground/check.h"

namespace berth::placement {

Turn NextTurn(LastBatch last, const TurnsWaiting& waiting) {
  if (waiting.unsettled) return Turn::kSettle;
  switch (last) {
    case LastBatch::kShared:
      break;
    case LastBatch::kAlone:
    case LastBatch::kLarge:
      if (waiting.shared) return Turn::kShared;
      break;
  }
  if (waiting.alone) return Turn::kAlone;
  if (waiting.large) return Turn::kLarge;
  return Turn::kShared;
}

Turn Turns::Begin(bool shared_waits) {
  turn_ = NextTurn(last_, {unsettled(), shared_waits, !alone_.empty(), large_ != nullptr});
  BERTH_CHECK((turn_ == Turn::kSettle) == unsettled());
  missing_ = false;
  const bool own = turn_ == Turn::kAlone || turn_ == Turn::kLarge;
  BERTH_CHECK(!own || last_ == LastBatch::kShared || !shared_waits);
  return turn_;
}

PendingPtr Turns::TakeCommand() {
  if (turn_ == Turn::kLarge) {
    BERTH_CHECK(large_ != nullptr);
    return std::exchange(large_, nullptr);
  }
  BERTH_CHECK(turn_ == Turn::kAlone && !alone_.empty());
  PendingPtr first = std::move(alone_.front());
  alone_.pop_front();
  return first;
}

bool Turns::MayBeLarge(bool others_wait) const {
  return turn_ != Turn::kShared || last_ != LastBatch::kLarge || !others_wait;
}

void Turns::Decided(bool large) {
  switch (turn_) {
    case Turn::kSettle:
      BERTH_CHECK(!large);
      return;  // a settle turn does not change which turn comes after it
    case Turn::kAlone:
      last_ = large ? LastBatch::kLarge : LastBatch::kAlone;
      return;
    case Turn::kLarge:
      last_ = LastBatch::kLarge;
      return;
    case Turn::kShared:
      last_ = large ? LastBatch::kLarge : LastBatch::kShared;
      return;
  }
}

void Turns::AddAlone(PendingPtr pending) {
  BERTH_CHECK(pending->phase != Pending::Phase::kWaiting);
  alone_.push_back(std::move(pending));
}

bool Turns::AddLarge(const PendingPtr& pending) {
  if (large_ != nullptr) return false;
  large_ = pending;
  return true;
}

void Turns::Lost(std::unique_ptr<Batch> batch) {
  BERTH_CHECK(batch != nullptr);  // the writer lost a batch that it had sent
  if (turn_ == Turn::kSettle) {
    BERTH_CHECK(batch->command_count() == 0);
    return;
  }
  BERTH_CHECK(!unsettled());
  in_doubt_ = std::move(batch);
  for (const PendingPtr& pending : in_doubt_->Commands()) ++pending->losses;
}

void Turns::Found() {
  BERTH_CHECK(turn_ == Turn::kSettle && in_doubt_ != nullptr);
  unproven_.push_back(std::move(in_doubt_));
}

void Turns::Missing() {
  BERTH_CHECK(turn_ == Turn::kSettle && in_doubt_ != nullptr);
  missing_ = true;
}

std::vector<std::unique_ptr<Batch>> Turns::TakeProven() {
  BERTH_CHECK(in_doubt_ == nullptr || missing_);
  BERTH_CHECK(turn_ == Turn::kSettle || !unsettled());
  if (missing_) {
    for (PendingPtr& pending : in_doubt_->Commands()) {
      if (pending->phase == Pending::Phase::kBegun) AddAlone(std::move(pending));
    }
    in_doubt_.reset();
    missing_ = false;
  }
  return std::exchange(unproven_, {});
}

std::vector<PendingPtr> Turns::UnsettledCommands() const {
  std::vector<PendingPtr> commands;
  const auto add = [&commands](const Batch& batch) {
    const std::vector<PendingPtr> of_batch = batch.Commands();
    commands.insert(commands.end(), of_batch.begin(), of_batch.end());
  };
  for (const std::unique_ptr<Batch>& batch : unproven_) add(*batch);
  if (in_doubt_ != nullptr) add(*in_doubt_);
  return commands;
}

std::vector<PendingPtr> Turns::Begun() const {
  std::vector<PendingPtr> commands = UnsettledCommands();
  commands.insert(commands.end(), alone_.begin(), alone_.end());
  if (large_ != nullptr) commands.push_back(large_);
  return commands;
}

std::vector<PendingPtr> Turns::GiveUpUnsettled() {
  std::vector<PendingPtr> commands = UnsettledCommands();
  in_doubt_.reset();
  missing_ = false;
  unproven_.clear();
  return commands;
}

std::vector<PendingPtr> Turns::GiveUpWaiting() {
  std::vector<PendingPtr> commands(alone_.begin(), alone_.end());
  alone_.clear();
  if (large_ != nullptr) commands.push_back(std::exchange(large_, nullptr));
  return commands;
}

}  // namespace berth::placement
