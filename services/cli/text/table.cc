#include "services/cli/text/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "services/cli/text/display_width.h"

namespace berth::cli {
namespace {

constexpr int kGap = 2;
constexpr int kTextWidthMin = 8;
constexpr char kBold[] = "\x1b[1m";

bool Before(const std::string& left, const std::string& right) {
  double left_number = 0;
  double right_number = 0;
  if (absl::SimpleAtod(left, &left_number) && absl::SimpleAtod(right, &right_number)) {
    return left_number < right_number;
  }
  return left < right;
}

std::string WithoutTrailingBlanks(std::string line) {
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

}  // namespace

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

int Table::Find(const std::string& title) const {
  const std::string wanted =
      absl::AsciiStrToUpper(absl::StrReplaceAll(title, {{"_", " "}, {"-", " "}}));
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].title == wanted) return static_cast<int>(i);
  }
  return -1;
}

absl::Status Table::Unknown(const std::string& title) const {
  const auto name = [](std::string* out, const Column& column) {
    absl::StrAppend(out, absl::AsciiStrToLower(absl::StrReplaceAll(column.title, {{" ", "_"}})));
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no column '", title, "'; the columns are ", absl::StrJoin(columns_, ", ", name)));
}

absl::Status Table::Select(const std::vector<std::string>& titles) {
  if (titles.empty()) return absl::OkStatus();
  std::vector<int> places;
  for (const std::string& title : titles) {
    places.push_back(Find(title));
    if (places.back() < 0) return Unknown(title);
  }
  std::vector<Column> columns;
  columns.reserve(places.size());
  for (const int place : places) columns.push_back(columns_[place]);
  for (std::vector<std::string>& row : rows_) {
    std::vector<std::string> cells;
    cells.reserve(places.size());
    for (const int place : places) cells.push_back(row[place]);
    row = std::move(cells);
  }
  columns_ = std::move(columns);
  return absl::OkStatus();
}

absl::Status Table::SortBy(const std::string& title) {
  if (title.empty()) return absl::OkStatus();
  const bool down = absl::StartsWith(title, "-");
  const int place = Find(down ? title.substr(1) : title);
  if (place < 0) return Unknown(title);
  std::stable_sort(rows_.begin(), rows_.end(), [place, down](const auto& left, const auto& right) {
    return down ? Before(right[place], left[place]) : Before(left[place], right[place]);
  });
  return absl::OkStatus();
}

Table Table::Fitting(const Screen& screen) const {
  const std::vector<int> widths = Widths(Screen());
  const int gaps = kGap * (static_cast<int>(widths.size()) - 1);
  const int width = std::accumulate(widths.begin(), widths.end(), gaps);
  if (screen.width == 0 || width <= screen.width) return *this;
  std::vector<std::string> kept;
  for (const Column& column : columns_) {
    if (column.kind != Column::Kind::kSpare) kept.push_back(column.title);
  }
  Table fitting = *this;
  return fitting.Select(kept).ok() ? fitting : *this;
}

std::vector<int> Table::Widths(const Screen& screen) const {
  std::vector<int> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    int width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
  }
  if (screen.width == 0 || columns_.empty()) return widths;
  int over = std::accumulate(widths.begin(), widths.end(), 0) +
             kGap * static_cast<int>(widths.size() - 1) - screen.width;
  while (over > 0) {  // ends: each round shortens a text column or stops
    int widest = -1;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const int least = std::max(kTextWidthMin, DisplayWidth(columns_[i].title));
      if (columns_[i].kind != Column::Kind::kText || widths[i] <= least) continue;
      if (widest < 0 || widths[i] > widths[widest]) widest = static_cast<int>(i);
    }
    if (widest < 0) break;
    --widths[widest];
    --over;
  }
  return widths;
}

std::string Table::Render(const Screen& screen) const { return Fitting(screen).Lines(screen); }

std::string Table::Lines(const Screen& screen) const {
  const std::vector<int> widths = Widths(screen);
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text.append(kGap, ' ');
      const bool number = columns_[i].kind == Column::Kind::kNumber;
      const std::string cell = Fitted(cells[i], widths[i]);
      text += number ? PaddedLeft(cell, widths[i]) : PaddedRight(cell, widths[i]);
    }
    return WithoutTrailingBlanks(std::move(text));
  };
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = screen.colour ? absl::StrCat(kBold, line(titles), kPlain, "\n")
                                   : absl::StrCat(line(titles), "\n");
  for (const auto& row : rows_) absl::StrAppend(&text, line(row), "\n");
  return text;
}

}  // namespace berth::cli
