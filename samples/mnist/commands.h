#pragma once

namespace mnist {

/// Each takes the words behind its name and returns an exit status.
int prepare(int count, const char* const* words);
int train(int count, const char* const* words);
int eval(int count, const char* const* words);

}  // namespace mnist
