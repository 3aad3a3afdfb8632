#include "plain_pickle/arrays.h"

#include <algorithm>
#include <map>

#include "ckpt/error.h"
#include "model/byte_texts.h"

namespace ckpt::plain_pickle {
namespace {

class Arrays {
 public:
  explicit Arrays(Checkpoint& checkpoint) : checkpoint_(checkpoint), values_(checkpoint.values) {}

  void run() {
    for (current_ = 0; current_ < values_.size(); ++current_) {
      const auto array = array_call(values_, current_);
      if (!array) continue;
      if (array->why_not.empty())
        add(*array);
      else
        ++others_[array->why_not];
    }
    std::sort(checkpoint_.tensors.begin(), checkpoint_.tensors.end(),
              [](const Tensor& a, const Tensor& b) { return a.value < b.value; });
    for (const auto& [why, count] : others_)
      checkpoint_.warnings.push_back(std::to_string(count) + (count == 1 ? " array is " : " arrays are ") + why +
                                     ": kept as it is, and no tensor");
  }

  /// The object that is being read.
  [[nodiscard]] ValueId current() const { return current_; }

 private:
  void add(const ArrayCall& array) {
    const ByteSourcePtr bytes = bytes_of(values_, array.data, checkpoint_.file + ": an array's bytes");
    if (bytes == nullptr) {
      ++others_["of data that are no bytes"];
      return;
    }
    const std::uint64_t wanted = element_count(array.info) * dtype_size(array.info.dtype);
    if (bytes->size() != wanted)
      throw Error(ErrorCode::corrupt, "an array of " + std::to_string(bytes->size()) + " bytes")
          .expected(std::to_string(wanted) + ", as its shape and dtype say");
    Tensor tensor;
    tensor.value = current_;
    tensor.info = array.info;
    tensor.array = true;
    tensor.storage = static_cast<std::uint32_t>(checkpoint_.storages.size());
    checkpoint_.storages.push_back({.key = std::to_string(checkpoint_.storages.size()),
                                    .dtype = array.info.dtype,
                                    .typed = true,
                                    .location = "cpu",
                                    .nbytes = wanted,
                                    .byte_order = array.byte_order,
                                    .bytes = bytes});
    checkpoint_.tensors.push_back(std::move(tensor));
  }

  Checkpoint& checkpoint_;
  const ValueGraph& values_;
  ValueId current_ = 0;
  std::map<std::string, std::size_t> others_;  ///< by what they are
};

}  // namespace

void add_arrays(Checkpoint& checkpoint) {
  Arrays arrays(checkpoint);
  try {
    arrays.run();
  } catch (Error& error) {
    // The name costs a walk, which only a message is worth.
    checkpoint.tensors.assign(1, Tensor{});
    checkpoint.tensors.front().value = arrays.current();
    const auto names = tensor_names(checkpoint);
    checkpoint.tensors.clear();
    if (!names.empty() && !names.front().name.empty()) error.within("array '" + names.front().name + "'");
    throw;
  }
}

}  // namespace ckpt::plain_pickle
