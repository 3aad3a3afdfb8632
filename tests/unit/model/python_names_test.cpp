#include "model/python_names.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

using Global = std::pair<std::string, std::string>;

TEST(PythonNames, ModulesThatWereRenamed) {
  EXPECT_EQ(to_python3("copy_reg", "_reconstructor"), Global("copyreg", "_reconstructor"));
  EXPECT_EQ(to_python3("__builtin__", "set"), Global("builtins", "set"));
  EXPECT_EQ(to_python2("copyreg", "_reconstructor"), Global("copy_reg", "_reconstructor"));
  EXPECT_EQ(to_python2("builtins", "set"), Global("__builtin__", "set"));
}

TEST(PythonNames, NamesThatWereRenamedWinOverTheirModules) {
  EXPECT_EQ(to_python3("__builtin__", "xrange"), Global("builtins", "range"));
  EXPECT_EQ(to_python3("__builtin__", "reduce"), Global("functools", "reduce"));
  EXPECT_EQ(to_python2("builtins", "int"), Global("__builtin__", "long"));
  EXPECT_EQ(to_python2("builtins", "str"), Global("__builtin__", "unicode"));
}

TEST(PythonNames, OneWayNamesAreNotMappedBack) {
  EXPECT_EQ(to_python3("UserDict", "UserDict"), Global("collections", "UserDict"));
  EXPECT_EQ(to_python2("collections", "UserDict"), Global("UserDict", "IterableUserDict"));
  EXPECT_EQ(to_python3("UserList", "OrderedDict"), Global("collections", "OrderedDict"));
  EXPECT_EQ(to_python2("collections", "OrderedDict"), Global("collections", "OrderedDict"));
  EXPECT_EQ(to_python3("_pickle", "loads"), Global("_pickle", "loads"));
  EXPECT_EQ(to_python2("_pickle", "loads"), Global("pickle", "loads"));
}

TEST(PythonNames, ExceptionsMoveBetweenTheirModules) {
  EXPECT_EQ(to_python3("exceptions", "ValueError"), Global("builtins", "ValueError"));
  EXPECT_EQ(to_python2("builtins", "ValueError"), Global("exceptions", "ValueError"));
  EXPECT_EQ(to_python2("builtins", "FileNotFoundError"), Global("exceptions", "OSError"));
  EXPECT_EQ(to_python3("exceptions", "StandardError"), Global("builtins", "Exception"));
}

TEST(PythonNames, WhatWasNotRenamedStays) {
  EXPECT_EQ(to_python3("torch._utils", "_rebuild_tensor_v2"), Global("torch._utils", "_rebuild_tensor_v2"));
  EXPECT_EQ(to_python2("torch", "FloatStorage"), Global("torch", "FloatStorage"));
  EXPECT_EQ(to_python3("exceptions", "Unheard"), Global("exceptions", "Unheard"));
}

}  // namespace
}  // namespace ckpt
