#pragma once

namespace captcha {

/// Each takes the words behind its name and returns an exit status.
int generate(int count, const char* const* words);
int prepare(int count, const char* const* words);
int train(int count, const char* const* words);
int eval(int count, const char* const* words);
int predict(int count, const char* const* words);

}  // namespace captcha
