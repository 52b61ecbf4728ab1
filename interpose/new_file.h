// SPDX-License-Identifier: Apache-2.0
//
// A file that gets its name only when it is complete, so that a process killed while making it leaves
// nothing. The rules: an existing file or link is never touched; a taken name is followed by the next number;
// where the file system has no unnamed files, the file has its name from the start.
#pragma once

#include "text.h"

namespace memsnap::recorder {

class NewFile {
  public:
    NewFile() = default;
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // Opens an empty file, private to the user, in the folder of `wanted`; false with errno.
    bool open(const Path& wanted);
    int descriptor() const { return descriptor_; }
    // Gives the file its name and keeps it; false with errno.
    bool keep(Path& name);

  private:
    bool open_named();

    Path wanted_;
    Path name_;  // empty while the file has none
    int descriptor_ = -1;
    bool kept_ = false;
};

// The folder that a path lies in.
void folder_of(const Path& path, Path& folder);

}  // namespace memsnap::recorder
