#pragma once

#include <string_view>

namespace ckpt::eval {

/// Whether `a` stands before `b` where numbers in names count as numbers: testing_set.2.pt before testing_set.10.pt.
/// A total order: names that differ in leading zeros alone stand in the order of their bytes.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ckpt::eval
