#include "models/layer_order.h"

#include <algorithm>
#include <map>
#include <set>

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

}  // namespace

std::optional<std::vector<LayerSize>> in_order(std::vector<LayerSize> layers) {
  if (auto sorted = by_number(layers); sorted && is_chain(*sorted)) return sorted;
  if (is_chain(layers)) return layers;
  return by_size(std::move(layers));
}

}  // namespace ckpt::eval
