#include "devices/library.h"

#include <dlfcn.h>

namespace ckpt::eval {

Library::Library(const char* name) : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* words = ::dlerror();
  error_ = words != nullptr ? words : std::string(name) + " could not be loaded";
}

void* Library::address(const char* symbol) const { return handle_ != nullptr ? ::dlsym(handle_, symbol) : nullptr; }

}  // namespace ckpt::eval
