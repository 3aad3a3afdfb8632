#include "container/json_shape.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ckpt {
namespace {

using Json = nlohmann::json;

class Shape final : public nlohmann::json_sax<Json> {
 public:
  explicit Shape(const JsonCheck& check) : check_(check) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool key(string_t&) override { return count(); }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  struct Open {
    bool is_list;
    std::size_t count = 0;
  };

  bool count() {
    check_({open_.size(), open_.back().is_list, ++open_.back().count});
    return true;
  }
  /// Of an object, keys count.
  bool value() { return open_.empty() || !open_.back().is_list || count(); }
  bool open(bool is_list) {
    value();
    check_({open_.size(), false, 0});
    open_.push_back({is_list});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonCheck& check_;
  std::vector<Open> open_;
};

}  // namespace

void check_json_shape(std::string_view text, const JsonCheck& check) {
  Shape shape(check);
  Json::sax_parse(text, &shape);
}

}  // namespace ckpt
