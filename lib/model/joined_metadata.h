#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/keyed_hash.h"

namespace ckpt {

/// What the files of one checkpoint say beside their tensors.
class JoinedMetadata {
 public:
  using Entries = std::vector<std::pair<std::string, std::string>>;

  /// Of a key that a file before this one said otherwise of, `warnings` gets a line. What a file says of itself as a
  /// part is not true of the whole.
  void add(Entries entries, const std::string& file, std::vector<std::string>& warnings) {
    for (auto& entry : entries) {
      if (is_of_a_part(entry.first)) continue;
      const auto [found, fresh] = places_.try_emplace(entry.first, entries_.size());
      if (fresh)
        entries_.push_back(std::move(entry));
      else if (entries_[found->second].second != entry.second)
        warnings.push_back(file + " says otherwise of '" + entry.first + "' in its metadata than those before it");
    }
  }
  Entries take() { return std::move(entries_); }

 private:
  /// torch's HuggingFaceStorageWriter, and llama.cpp's gguf-split.
  static bool is_of_a_part(std::string_view key) {
    return key == "DCP_SHARDING_INFO" || key == "split.no" || key == "split.count" || key == "split.tensors.count";
  }

  Entries entries_;
  NameMap<std::size_t> places_;
};

}  // namespace ckpt
