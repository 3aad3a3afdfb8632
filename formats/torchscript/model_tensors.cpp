#include "torchscript/model_tensors.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "ckpt/dtype.h"

namespace ckpt::torchscript {
namespace {

/// Caffe2's names of element types (caffe2/proto/caffe2.proto).
constexpr std::pair<std::string_view, DType> data_types[] = {
    {"FLOAT", DType::float32},   {"INT32", DType::int32},    {"BYTE", DType::uint8},  {"BOOL", DType::boolean},
    {"UINT8", DType::uint8},     {"INT8", DType::int8},      {"INT16", DType::int16}, {"INT64", DType::int64},
    {"FLOAT16", DType::float16}, {"DOUBLE", DType::float64},
};

DType dtype_of(const Json& tensor) {
  const std::string name = text_of(tensor, "dataType");
  for (const auto& [known, dtype] : data_types)
    if (known == name) return dtype;
  throw Error(ErrorCode::unsupported, "its dataType is '" + name.substr(0, 40) + "'").expected("FLOAT or its like");
}

std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::vector<std::int64_t> integers_of(const Json& tensor, const char* key) {
  std::vector<std::int64_t> numbers;
  for (const Json& each : array_of(tensor, key)) {
    const auto number = as_integer(each);
    if (!number) throw wrong(std::string("its ") + key, "integers");
    numbers.push_back(*number);
  }
  return numbers;
}

class Table {
 public:
  Table(const ScriptDetails& details, const ReadContext& context) : details_(details), context_(context) {}

  ModelTensors run(const Json& table) {
    for (const Json& tensor : table) {
      const std::string number = std::to_string(read_.sources.size());
      try {
        if (!tensor.is_object()) throw wrong("it", "an object");
        add(tensor, number);
      } catch (Error& error) {
        throw error.within("tensor " + number + " of model.json");
      }
    }
    return std::move(read_);
  }

 private:
  struct Known {
    ByteSourcePtr bytes;
    DType dtype{};
    std::string location;
  };

  void add(const Json& json, const std::string& number) {
    const auto quantised = json.find("isQuantized");
    if (quantised != json.end() && *quantised == true)
      throw Error(ErrorCode::unsupported, "it is quantised").expected("a plain tensor, as torch 1.0 to 1.2 wrote");
    TensorSource tensor{.name = number,
                        .dtype = dtype_of(json),
                        .shape = integers_of(json, "dims"),
                        .stride = integers_of(json, "strides"),
                        .bytes = nullptr,
                        .location = text_of(json, "device"),
                        .offset = integer_of(json, "offset", 0)};
    if (tensor.location.empty()) throw wrong("its device", "a name such as cpu");
    const std::string member = member_of(json);
    const auto [found, fresh] = storages_.try_emplace(member);
    Known& known = found->second;
    if (fresh) {
      known = {find(member), tensor.dtype, tensor.location};
      read_.members.push_back(member);
    }
    if (known.dtype != tensor.dtype || known.location != tensor.location)
      throw Error(ErrorCode::corrupt, "member '" + member + "' is named once as " +
                                          std::string(dtype_name(known.dtype)) + " on " + known.location +
                                          " and once as " + std::string(dtype_name(tensor.dtype)) + " on " +
                                          tensor.location)
          .expected("one dtype and one device a storage");
    if (known.bytes->size() % dtype_size(tensor.dtype) != 0)
      throw Error(ErrorCode::corrupt, "member '" + member + "' holds " + std::to_string(known.bytes->size()) + " bytes")
          .expected("whole elements of " + std::string(dtype_name(tensor.dtype)));
    tensor.bytes = known.bytes;
    read_.sources.push_back(std::move(tensor));
  }

  ByteSourcePtr find(const std::string& member) const {
    if (const ZipMember* const found = details_.zip->find(details_.root + "/" + member))
      return details_.zip->read(*found);
    const Error missing =
        Error(ErrorCode::corrupt, "the archive does not hold '" + member.substr(0, 80) + "'").expected("its bytes");
    context_.report(missing, "");
    return memory_source({}, member);
  }

  const ScriptDetails& details_;
  const ReadContext& context_;
  std::map<std::string, Known> storages_;
  ModelTensors read_;
};

}  // namespace

Error wrong(const std::string& what, const std::string& expected) {
  return Error(ErrorCode::corrupt, what + " is something else").expected(expected);
}

std::string text_of(const Json& object, const char* key) {
  if (!object.is_object()) throw wrong("it", "an object");
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (!found->is_string()) throw wrong(std::string("its ") + key, "a string");
  return found->get<std::string>();
}

std::int64_t integer_of(const Json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  const auto number = as_integer(*found);
  if (!number) throw wrong(std::string("its ") + key, "an integer");
  return *number;
}

const Json& array_of(const Json& object, const char* key) {
  static const Json empty = Json::array();
  if (!object.is_object()) throw wrong("it", "an object");
  const auto found = object.find(key);
  if (found == object.end()) return empty;
  if (!found->is_array()) throw wrong(std::string("its ") + key, "an array");
  return *found;
}

std::string member_of(const Json& tensor) {
  const auto data = tensor.find("data");
  if (data == tensor.end()) throw wrong("its data", "an object");
  return text_of(*data, "key");
}

ModelTensors read_tensors(const Json& table, const ScriptDetails& details, const ReadContext& context) {
  return Table(details, context).run(table);
}

}  // namespace ckpt::torchscript
