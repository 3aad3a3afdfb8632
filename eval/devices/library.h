#pragma once

#include <string>
#include <type_traits>

namespace ckpt::eval {

/// A shared library by its soname. It stays for the life of the process: drivers do not bear being unloaded.
class Library {
 public:
  explicit Library(const char* name);

  [[nodiscard]] bool found() const { return handle_ != nullptr; }
  /// Why it was not found, in the dynamic linker's words.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// The function `symbol`, or null.
  template <typename Function>
  void find(const char* symbol, Function*& function) const {
    static_assert(std::is_function_v<Function>);
    function = reinterpret_cast<Function*>(address(symbol));
  }

  /// The same of a function that must be there: the first that is not is named in `missing`.
  template <typename Function>
  void need(const char* symbol, Function*& function, std::string& missing) const {
    find(symbol, function);
    if (function == nullptr && missing.empty()) missing = name_ + " has no " + symbol;
  }

 private:
  [[nodiscard]] void* address(const char* symbol) const;

  std::string name_;
  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace ckpt::eval
