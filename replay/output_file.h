// SPDX-License-Identifier: Apache-2.0
//
// Writing a result. The rule: a file appears whole or not at all, and an existing one is replaced only on
// demand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "result.h"

namespace memsnap {

// The files that a result is made of.
using Inputs = std::vector<std::string>;

// A result that is written in parts. `-` is standard output. Only a regular file that is none of the inputs,
// and does not hold the names of one, is ever replaced. Errors: io.
class OutputFile {
  public:
    static Result<OutputFile> create(const std::string& path, bool replace, const Inputs& inputs);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    ~OutputFile();  // what was not finished goes away

    void keep_private();  // readable by its owner alone
    Result<void> write(std::string_view content);
    Result<void> finish();  // gives the file its name

  private:
    OutputFile(std::string path, bool replace) : path_(std::move(path)), replace_(replace) {}
    Error cannot_write() const;

    std::string path_;
    std::string temporary_;  // empty: standard output
    int descriptor_ = -1;
    bool replace_ = false;
};

// A result in one part.
Result<void> write_output(const std::string& path, std::string_view content, bool replace,
                          const Inputs& inputs);

}  // namespace memsnap
