#include "safetensors/views.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_reader.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"

namespace ckpt::safetensors {
namespace {

Error bad_map(std::string what) {
  return Error(ErrorCode::corrupt, std::move(what)).within("'" + std::string(views_key) + "' in __metadata__");
}

std::vector<std::int64_t> read_integers(JsonReader& json) {
  std::vector<std::int64_t> numbers;
  json.enter_array();
  while (json.next_item()) {
    const std::uint64_t number = json.integer();
    if (number > INT64_MAX) json.fail("sizes of a tensor");
    if (numbers.size() == limits::tensor_dimensions)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::tensor_dimensions) + " dimensions");
    numbers.push_back(static_cast<std::int64_t>(number));
  }
  return numbers;
}

View read_view(std::string name, JsonReader& json) {
  View view{.name = std::move(name)};
  std::optional<std::string> of;
  bool shape = false, stride = false, offset = false;
  json.enter_object();
  while (const auto key = json.next_key()) {
    if (*key == "of" && !of) {
      of = json.string();
    } else if (*key == "shape" && !shape) {
      view.shape = read_integers(json);
      shape = true;
    } else if (*key == "stride" && !stride) {
      view.stride = read_integers(json);
      stride = true;
    } else if (*key == "offset" && !offset) {
      const std::uint64_t number = json.integer();
      if (number > INT64_MAX) json.fail("an offset within a tensor");
      view.offset = static_cast<std::int64_t>(number);
      offset = true;
    } else {
      json.fail("'of', 'shape', 'stride' and 'offset', each once");
    }
  }
  if (!of) throw bad_map("tensor '" + view.name + "' is a view of nothing").expected("'of'");
  view.of = *std::move(of);
  view.whole = !shape && !stride && !offset;
  if (!view.whole && !(shape && stride && offset))
    throw bad_map("tensor '" + view.name + "' is a part of '" + view.of + "'").expected("its shape, stride and offset");
  if (view.shape.size() != view.stride.size())
    throw bad_map("tensor '" + view.name + "' has not one stride a dimension").expected("as many of both");
  return view;
}

std::vector<View> read_map(const std::string& text) {
  std::vector<View> views;
  // Bytes of a text within a text: which byte of the file it is, nobody can tell.
  JsonReader json(text, 0, "'" + std::string(views_key) + "' in __metadata__");
  json.enter_object();
  while (auto name = json.next_key()) {
    if (views.size() == limits::safetensors_tensors)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::safetensors_tensors) + " views");
    views.push_back(read_view(*std::move(name), json));
  }
  json.finish();
  return views;
}

using Entries = NameViewMap<const Entry*>;

/// Whether every element of the view is one of the tensor's.
bool is_within(const View& view, const Entry& entry) {
  const std::uint64_t elements = (entry.end - entry.begin) / dtype_size(entry.dtype);
  std::optional<std::int64_t> last = view.offset, count = 1;
  bool empty = false;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    empty |= view.shape[i] == 0;
    const auto reach = checked_mul(std::max<std::int64_t>(view.shape[i] - 1, 0), view.stride[i]);
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
    count = count ? checked_mul(*count, view.shape[i]) : std::nullopt;
  }
  return last && count && (empty || static_cast<std::uint64_t>(*last) < elements);
}

/// `names` are those of the views before it.
void check(const View& view, const Entries& in_file, NameSet& names) {
  const auto of = in_file.find(view.of);
  if (of == in_file.end())
    throw bad_map("tensor '" + view.name + "' is a view of '" + view.of + "'").expected("a tensor of the file");
  if (in_file.contains(view.name) || !names.insert(view.name).second)
    throw bad_map("tensor '" + view.name + "' comes twice").expected("each name once");
  if (!view.whole && !is_within(view, *of->second))
    throw bad_map("tensor '" + view.name + "' leaves '" + view.of + "', which it is a view of")
        .expected("elements of that tensor");
}

/// Without those that are none.
std::vector<View> checked(std::vector<View> views, const Entries& in_file, const ReadContext& context) {
  NameSet names;
  std::erase_if(views, [&](const View& view) {
    try {
      check(view, in_file, names);
      return false;
    } catch (const Error& error) {
      context.report(error, "");
      return true;
    }
  });
  return views;
}

/// "weight" of "head.weight"; nothing of a name without a dot.
std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

bool is_removed_name(const std::pair<std::string, std::string>& entry, const Entries& in_file) {
  const auto& [removed, kept] = entry;
  const std::string_view part = last_part(removed);
  const std::string_view kept_part = kept.find('.') == std::string::npos ? std::string_view(kept) : last_part(kept);
  return !part.empty() && part == kept_part && in_file.contains(kept) && !in_file.contains(removed);
}

}  // namespace

std::vector<View> take_views(Metadata& metadata, std::span<const Entry> entries, std::vector<std::string>& warnings,
                             const ReadContext& context) {
  Entries in_file;
  for (const Entry& entry : entries) in_file.emplace(entry.name, &entry);
  std::vector<View> views;
  const auto own = std::find_if(metadata.begin(), metadata.end(), [](const auto& e) { return e.first == views_key; });
  if (own != metadata.end()) {
    bool is_whole = true;
    try {
      views = read_map(own->second);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt) throw;
      context.report(error, "");
      is_whole = false;
    }
    const std::size_t told = views.size();
    views = checked(std::move(views), in_file, context);
    is_whole = is_whole && views.size() == told;
    metadata.erase(own);
    // What save_model would have left of the same views goes with them.
    NameViewMap<std::string_view> of;
    for (const View& view : views) of.emplace(view.name, view.of);
    std::erase_if(metadata, [&](const auto& entry) {
      const auto found = of.find(entry.first);
      return found != of.end() && found->second == entry.second;
    });
    if (is_whole) return views;
  }
  // Of a damaged map, too, this is left: whoever reads what is written of it finds the same.
  NameSet known;
  for (const View& view : views) known.insert(view.name);
  std::erase_if(metadata, [&](const auto& entry) {
    if (known.contains(entry.first) || !is_removed_name(entry, in_file)) return false;
    views.push_back({.name = entry.first, .of = entry.second});
    return true;
  });
  if (const std::size_t added = views.size() - known.size(); added > 0) {
    const View& first = views[known.size()];
    warnings.push_back("the metadata says of '" + first.name + "'" +
                       (added > 1 ? " and " + std::to_string(added - 1) + " more" : "") +
                       " that it shared memory with '" + first.of +
                       "' and was left out, as save_model does; it is read as the same tensor");
  }
  return views;
}

void add_views(Metadata& metadata, std::span<const View> views) {
  if (views.empty()) return;
  const auto integers = [](const std::vector<std::int64_t>& numbers) {
    std::string text = "[";
    for (const std::int64_t number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
    return text + "]";
  };
  NameViewSet taken;
  for (const auto& entry : metadata) taken.insert(entry.first);
  Metadata removed;
  std::string map = "{";
  for (const View& view : views) {
    if (map.size() > 1) map += ',';
    append_json_string(map, view.name);
    map += ":{\"of\":";
    append_json_string(map, view.of);
    if (view.whole) {
      // What the user keeps under that name stays, as in save_model.
      if (!taken.contains(view.name)) removed.emplace_back(view.name, view.of);
    } else {
      map += ",\"shape\":" + integers(view.shape) + ",\"stride\":" + integers(view.stride) +
             ",\"offset\":" + std::to_string(view.offset);
    }
    map += '}';
  }
  std::erase_if(metadata, [](const auto& entry) { return entry.first == views_key; });
  metadata.emplace_back(views_key, map + "}");
  metadata.insert(metadata.end(), std::make_move_iterator(removed.begin()), std::make_move_iterator(removed.end()));
}

}  // namespace ckpt::safetensors
