#include <array>
#include <map>
#include <memory>
#include <utility>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "gguf/dequantize.h"
#include "gguf/gguf.h"
#include "gguf/header.h"
#include "io/bytes.h"
#include "model/end_of_file.h"

namespace ckpt::gguf {
namespace {

constexpr std::string_view magic = "GGUF";

/// The rows of bytes that gguf.GGUFReader gives.
std::vector<std::int64_t> byte_shape(const TensorEntry& tensor) {
  std::vector<std::int64_t> shape = tensor.shape;
  shape.back() = shape.back() / tensor.type->block * tensor.type->bytes;
  return shape;
}

/// The numbers of blocks that ckpt makes none of: who asks for them is refused, and who does not is not.
class UnknownNumbers final : public ByteSource {
 public:
  UnknownNumbers(const TensorEntry& tensor, const ByteSource& source)
      : ByteSource(source.source_name()), tensor_(tensor) {
    for (const std::int64_t size : tensor.shape) size_ *= static_cast<std::uint64_t>(size);
  }

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t /*offset*/, std::span<std::byte> /*out*/) const override {
    throw Error(ErrorCode::unsupported, "'" + tensor_.name + "' is quantised as " + std::string(tensor_.type->name))
        .expected("Q8_0 or Q4_0, which --dequantize makes numbers of")
        .in(name())
        .hint("in Python: gguf.quants.dequantize(tensor.data, tensor.tensor_type), which knows most of them");
  }

 private:
  TensorEntry tensor_;
  std::uint64_t size_ = sizeof(float);
};

TensorSource tensor_of(const TensorEntry& tensor, const Header& header, const ByteSourcePtr& source,
                       const ReadOptions& options) {
  TensorSource out;
  out.name = tensor.name;
  out.shape = tensor.shape;
  // What is empty may be said to lie anywhere.
  out.bytes = slice(source, tensor.nbytes == 0 ? 0 : tensor.offset, tensor.nbytes, source->source_name());
  out.byte_order = header.byte_order;
  if (tensor.type->dtype) {
    out.dtype = *tensor.type->dtype;
  } else if (!options.dequantize) {
    out.dtype = DType::uint8;
    out.shape = byte_shape(tensor);
  } else if (can_dequantize(*tensor.type)) {
    out.dtype = DType::float32;
    out.bytes = dequantized(std::move(out.bytes), *tensor.type, header.byte_order);
    out.byte_order = ByteOrder::little;
  } else {
    out.dtype = DType::float32;
    if (tensor.nbytes != 0) out.bytes = std::make_shared<UnknownNumbers>(tensor, *source);
    out.byte_order = ByteOrder::little;
  }
  return out;
}

/// Of those that are not shown as numbers.
void warn_of_blocks(const Header& header, bool dequantize, std::vector<std::string>& warnings) {
  std::map<std::string_view, std::size_t> counts;
  std::size_t all = 0;
  bool known = false;
  for (const TensorEntry& tensor : header.tensors) {
    if (tensor.type->dtype || (dequantize && can_dequantize(*tensor.type))) continue;
    ++counts[tensor.type->name];
    ++all;
    known |= can_dequantize(*tensor.type);
  }
  if (all == 0) return;
  std::string list;
  for (const auto& [name, count] : counts)
    list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(name);
  const std::string blocks = std::string(" the bytes of ") + (all == 1 ? "its" : "their") + " blocks";
  warnings.push_back(
      std::to_string(all) + (all == 1 ? " tensor is" : " tensors are") + " quantised (" + list + ") and " +
      (dequantize ? "refused where numbers are asked for; without --dequantize there are" + blocks
                  : "shown as" + blocks + (known ? "; ckpt convert --dequantize makes float32 of Q8_0 and Q4_0" : "")));
}

}  // namespace

bool probe(const ByteSource& source) {
  std::array<std::byte, magic.size()> start{};
  return source.read_at(0, start) == start.size() && as_text(start) == magic;
}

Checkpoint read(const ByteSourcePtr& source, const ReadContext& context) {
  Header header = read_header(*source, context.pickle_cap);
  auto details = std::make_shared<EndOfFile>(source, header.data_end, "the tensors", header.alignment);
  // verify() reads to the end anyway; else a compressed source is not inflated for that alone.
  const bool to_the_end = context.findings != nullptr || source->size_is_known();
  std::vector<std::string> warnings = std::move(header.warnings);
  if (to_the_end)
    for (std::string& warning : details->finish()) warnings.push_back(std::move(warning));
  warn_of_blocks(header, context.options.dequantize, warnings);
  for (const auto& [key, text] : header.metadata)
    if (key == "split.count" && text != "0" && text != "1")
      warnings.push_back("this is one of " + text + " parts of a model: ckpt merge PART… OUT joins all of them");
  std::vector<TensorSource> tensors;
  tensors.reserve(header.tensors.size());
  for (const TensorEntry& tensor : header.tensors) {
    tensors.push_back(tensor_of(tensor, header, source, context.options));
    context.check_bytes(*tensors.back().bytes, "tensor '" + tensor.name + "'");
  }
  Checkpoint checkpoint = assemble(std::move(tensors));
  checkpoint.file = source->name();
  checkpoint.format = gguf_format.name;
  checkpoint.metadata = std::move(header.metadata);
  checkpoint.warnings = std::move(warnings);
  if (!to_the_end)
    checkpoint.details = std::move(details);
  else if (details->goes_on())
    keep_rest(checkpoint);
  return checkpoint;
}

}  // namespace ckpt::gguf
