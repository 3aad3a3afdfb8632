#include "models/layer_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ckpt::eval {
namespace {

bool is_chain(const std::vector<LayerSize>& layers) {
  return std::adjacent_find(layers.begin(), layers.end(),
                            [](const LayerSize& a, const LayerSize& b) { return a.out != b.in; }) == layers.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A name as its text, with "#" for each number, and the numbers, without leading zeros.
struct Numbered {
  std::string text;
  std::vector<std::string> numbers;
};

Numbered split(const std::string& name) {
  Numbered parts;
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      parts.text += name[i++];
      continue;
    }
    std::string number;
    for (; i < name.size() && is_digit(name[i]); ++i)
      if (number != "0")
        number += name[i];
      else
        number = name[i];
    parts.text += '#';
    parts.numbers.push_back(std::move(number));
  }
  return parts;
}

bool numbers_less(const Numbered& a, const Numbered& b) {
  return std::lexicographical_compare(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(),
                                      [](const std::string& x, const std::string& y) {
                                        return std::pair(x.size(), std::string_view(x)) <
                                               std::pair(y.size(), std::string_view(y));
                                      });
}

/// Sorted by the numbers in their names; none where the names differ in more.
std::optional<std::vector<LayerSize>> by_number(const std::vector<LayerSize>& layers) {
  std::vector<std::pair<Numbered, LayerSize>> split_layers;
  for (const LayerSize& layer : layers) split_layers.emplace_back(split(layer.name), layer);
  for (const auto& [parts, layer] : split_layers)
    if (parts.text != split_layers.front().first.text) return std::nullopt;
  std::stable_sort(split_layers.begin(), split_layers.end(),
                   [](const auto& a, const auto& b) { return numbers_less(a.first, b.first); });
  std::vector<LayerSize> sorted;
  for (auto& [parts, layer] : split_layers) sorted.push_back(std::move(layer));
  return sorted;
}

/// Each layer after the one whose output it takes; none where two could come next, or none can.
std::optional<std::vector<LayerSize>> by_size(std::vector<LayerSize> layers) {
  std::map<std::int64_t, LayerSize*> taking;
  std::set<std::int64_t> given;
  for (LayerSize& layer : layers) {
    if (!taking.emplace(layer.in, &layer).second) return std::nullopt;
    given.insert(layer.out);
  }
  const auto is_first = [&](const LayerSize& layer) { return !given.contains(layer.in); };
  if (std::count_if(layers.begin(), layers.end(), is_first) != 1) return std::nullopt;
  std::vector<LayerSize> order;
  std::int64_t next = std::find_if(layers.begin(), layers.end(), is_first)->in;
  while (!taking.empty()) {
    const auto found = taking.extract(next);
    if (!found) return std::nullopt;
    next = found.mapped()->out;
    order.push_back(std::move(*found.mapped()));
  }
  return order;
}

/// Places of layers of which each comes before the next.
using Series = std::vector<std::size_t>;

/// Those whose names differ in numbers alone, in the order of these; where numbers mean nothing, each by itself.
std::vector<Series> series_of(const std::vector<LayerSize>& layers, bool numbered) {
  std::vector<Numbered> names;
  std::map<std::string, Series> by_text;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    names.push_back(split(layers[i].name));
    by_text[numbered ? names.back().text : std::to_string(i)].push_back(i);
  }
  std::vector<Series> all;
  for (auto& [text, series] : by_text) {
    std::stable_sort(series.begin(), series.end(),
                     [&](std::size_t a, std::size_t b) { return numbers_less(names[a], names[b]); });
    all.push_back(std::move(series));
  }
  return all;
}

/// Up to two orders in which the layers form a chain and no series is broken: places in `layers`. Where that takes too
/// long to find out, two of which the second is empty.
std::vector<std::vector<std::size_t>> orders_of(const std::vector<LayerSize>& layers,
                                                const std::vector<Series>& series) {
  constexpr int most_steps = 1 << 20;
  std::vector<std::vector<std::size_t>> found;
  std::vector<std::size_t> order, taken_from, taken(series.size());  // how many of each series
  std::size_t next = 0;                                              // the series to be tried behind `order`
  for (int step = 0; step < most_steps; ++step) {
    if (next == series.size()) {
      if (order.empty()) return found;
      next = taken_from.back();
      --taken[next++];
      order.pop_back();
      taken_from.pop_back();
      continue;
    }
    const bool left = taken[next] < series[next].size();
    if (!left || (!order.empty() && layers[order.back()].out != layers[series[next][taken[next]]].in)) {
      ++next;
      continue;
    }
    order.push_back(series[next][taken[next]++]);
    taken_from.push_back(std::exchange(next, 0));
    if (order.size() < layers.size()) continue;
    found.push_back(order);
    if (found.size() == 2) return found;
    next = series.size();
  }
  return {{}, {}};
}

std::vector<LayerSize> at_places(const std::vector<LayerSize>& layers, const std::vector<std::size_t>& places) {
  std::vector<LayerSize> out;
  for (const std::size_t place : places) out.push_back(layers[place]);
  return out;
}

}  // namespace

std::optional<LayerOrder> in_order(std::vector<LayerSize> layers) {
  if (auto sorted = by_number(layers); sorted && is_chain(*sorted)) return LayerOrder{std::move(*sorted)};
  if (auto forced = by_size(layers)) return LayerOrder{std::move(*forced)};
  for (const bool numbered : {true, false}) {
    const auto orders = orders_of(layers, series_of(layers, numbered));
    if (orders.size() == 1) return LayerOrder{at_places(layers, orders.front())};
    if (!orders.empty()) break;
  }
  if (!is_chain(layers)) return std::nullopt;
  return LayerOrder{std::move(layers), false};
}

}  // namespace ckpt::eval
