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

 private:
  [[nodiscard]] void* address(const char* symbol) const;

  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace ckpt::eval
