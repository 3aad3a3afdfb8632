#include "datasets/find.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/pictures.h"
#include "datasets/batch_files.h"
#include "datasets/folder.h"
#include "datasets/idx.h"

namespace ckpt::eval {
namespace {

namespace fs = std::filesystem;
using Found = std::optional<FoundData>;

/// Where to look, and what for.
struct Place {
  std::string folder;
  const DataRequest& request;
  bool named;  ///< by the user; else it is only looked at, and what lies in it may be anything
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// What names of MNIST's files of a split begin with; empty where it has none.
std::string mnist_stem(const std::string& split) {
  return split == "testing" ? "t10k" : split == "training" ? "train" : "";
}

Found idx_in(const Place& place) {
  const std::string stem = mnist_stem(place.request.split);
  if (stem.empty()) return std::nullopt;
  for (const char* below : {"", "raw", "MNIST/raw", "mnist"})
    for (const char* name : {"-images-idx3-ubyte", "-images.idx3-ubyte"})
      for (const char* suffix : {"", ".gz"}) {
        const std::string path = (fs::path(place.folder) / below / (stem + name + suffix)).string();
        if (is_file(path) && (place.named || idx_labels_beside(path)))
          return FoundData{FoundData::Kind::idx, path, {path}};
      }
  return std::nullopt;
}

Found batches_in(const Place& place) {
  const auto files = batch_files(place.folder, place.request.split);
  if (files.empty()) return std::nullopt;
  return FoundData{FoundData::Kind::tensors, files.size() == 1 ? files.front() : place.folder, files};
}

std::vector<std::string> files_in(const Place& place, const std::function<bool(const std::string&)>& fits) {
  std::vector<std::string> files;
  for (const std::string& name : names_in(place.folder))
    if (fits(name)) files.push_back((fs::path(place.folder) / name).string());
  return files;
}

Found digits_in(const Place& place) {
  if (place.request.split != "testing") return std::nullopt;
  const auto files = files_in(place, [](const std::string& name) {
    return name.starts_with("digits_test") && (name.ends_with(".pt") || name.ends_with(".pt.gz"));
  });
  if (files.empty()) return std::nullopt;
  if (files.size() > 1 && !(files.size() == 2 && files[1] == files[0] + ".gz"))
    throw Error(ErrorCode::invalid_argument, "several files hold digits for tests: " + files[0] + ", " + files[1])
        .expected("one, or the name of that which is meant")
        .hint("--data " + shell_word(files[0]));
  return FoundData{FoundData::Kind::tensors, files.front(), {files.front()}};
}

/// The only one there; where nobody named the folder, the only one whose name says that it is for tests. A safetensors
/// file whose name does not is a model.
Found arrays_in(const Place& place) {
  const auto files = files_in(place, [&](const std::string& name) {
    const bool for_tests = name.find("test") != std::string::npos;
    return (name.ends_with(".npz") && (place.named || for_tests || name == "mnist.npz")) ||
           (name.ends_with(".safetensors") && for_tests);
  });
  if (files.size() != 1) return std::nullopt;
  return FoundData{FoundData::Kind::tensors, files.front(), files};
}

/// A folder that the user named is searched to the bottom, others only where pictures with labels lie in them.
Found pictures_in(const Place& place) {
  for (const char* below : {"", "captcha"}) {
    const std::string folder = (fs::path(place.folder) / below).string();
    if (!is_folder(folder)) continue;
    const auto names = names_in(folder);
    const bool labelled = std::any_of(names.begin(), names.end(), [](const auto& name) { return label_of(name); });
    if (!labelled && !place.named) continue;
    const std::string path = *below == '\0' ? place.folder : folder;
    if (auto files = find_pictures(path); !files.empty())
      return FoundData{FoundData::Kind::pictures, path, std::move(files)};
  }
  return std::nullopt;
}

using Search = Found (*)(const Place&);

/// What suits an architecture, in the order of preference; where the user named the folder, then everything else.
std::vector<Search> searches_for(const Place& place) {
  std::vector<Search> searches;
  if (place.request.arch == "captcha-resnet")
    searches = {batches_in, pictures_in};
  else if (place.request.arch == "foonet" || place.request.arch == "net")
    searches = {batches_in, arrays_in};
  else
    searches = {idx_in, digits_in, batches_in, arrays_in};
  if (place.named)
    for (const Search search : {idx_in, digits_in, batches_in, arrays_in, pictures_in})
      if (std::find(searches.begin(), searches.end(), search) == searches.end()) searches.push_back(search);
  return searches;
}

Found data_in(const Place& place) {
  for (const Search search : searches_for(place))
    if (auto found = search(place)) return found;
  return std::nullopt;
}

FoundData named_file(const std::string& path) {
  constexpr std::array<std::byte, 4> png{std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  std::error_code ignored;
  if (path == "-" || fs::is_fifo(path, ignored) || fs::is_character_file(path, ignored)) {
    throw Error(ErrorCode::unsupported, "a stream in the place of a test set")
        .in(path)
        .expected("a file or a folder")
        .hint("keep it in a file first: cat > data.pt");
  }
  auto bytes = open_file(path);
  if (is_gzip(*bytes)) bytes = gunzip(bytes);
  std::array<std::byte, png.size()> begin{};
  const bool whole = bytes->read_at(0, begin) == begin.size();
  auto kind = FoundData::Kind::tensors;
  if (whole && begin == png) kind = FoundData::Kind::pictures;
  if (is_idx(*bytes)) kind = FoundData::Kind::idx;
  return {kind, path, {path}};
}

/// What a folder may hold of a split.
std::string data_of(const std::string& split) {
  const std::string stem = mnist_stem(split);
  return (stem.empty() ? "" : stem + "-images-idx3-ubyte (also in MNIST/raw), ") + split + "_set.0.pt, " +
         (split == "testing" ? "digits_test*.pt, " : "") + "one .npz or *test*.safetensors, or pictures *.png";
}

FoundData named_data(const std::string& path, const DataRequest& request) {
  if (!is_folder(path)) return named_file(path);
  if (auto found = data_in({path, request, true})) return *found;
  throw Error(ErrorCode::invalid_argument, "a folder without a test set for --split " + request.split)
      .in(path)
      .expected(data_of(request.split))
      .hint("name a file: ckpt eval " + shell_word(request.model) + " --data PATH");
}

}  // namespace

FoundData find_data(const DataRequest& request) {
  if (request.data) return named_data(*request.data, request);
  if (const char* const variable = std::getenv("CKPT_DATA"); variable != nullptr && *variable != '\0')
    return named_data(variable, request);
  const fs::path parent = fs::path(request.model).parent_path();
  const fs::path beside = parent.empty() ? "." : parent;
  std::string looked_at = "$CKPT_DATA (not set)";
  for (const std::string& folder : {beside.string(), (beside / "data").string(), std::string("./data")}) {
    if (folder == "./data" && looked_at.ends_with(", ./data")) continue;
    if (is_folder(folder))
      if (auto found = data_in({folder, request, false})) return *found;
    looked_at += ", " + folder;
  }
  throw Error(ErrorCode::invalid_argument, "no test set for " + (request.arch.empty() ? "the model" : request.arch))
      .expected("one in " + looked_at)
      .hint("ckpt eval " + shell_word(request.model) + " --data PATH");
}

}  // namespace ckpt::eval
