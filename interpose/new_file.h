// SPDX-License-Identifier: Apache-2.0
//
// A file that gets its name only when it is complete, so that a process killed while making it leaves
// nothing. The rules: an existing file or link is never touched; its blocks exist before anything is stored,
// so that a full disk is an error now and not a bus error later; where the file system has no unnamed files,
// the file has its name from the start.
#pragma once

#include "glibc_compat.h"
#include "text.h"

namespace memsnap::recorder {

// Which names a new file may take.
struct Naming {
    bool numbered = false;         // a taken name is followed by the next number; otherwise it is a failure
    const char* beside = nullptr;  // suffix of a second file: a name is taken, too, when that one exists
};

class NewFile {
  public:
    explicit NewFile(const Naming& naming) : naming_(naming) {}
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    // Opens an empty file, private to the user, in the folder of `wanted`; false with errno.
    bool open(const Path& wanted);
    // Gives the file its size and its blocks; false with errno.
    bool reserve(uint64_t size_bytes, bool any_file_system);
    // The whole file in memory, which forked children do not inherit, with addresses behind it kept free for
    // more of it; null with errno.
    void* map(uint64_t size_bytes, uint64_t room_bytes = 0);
    FileIdentity identity() const { return file_identity(descriptor_, ""); }
    // Gives the file its name and keeps it; false with errno.
    bool keep(Path& name);

  private:
    bool open_named();
    bool map_by_name();
    template <typename Take>
    bool take_free_name(Take take);

    Naming naming_;
    Path wanted_;
    Path name_;  // empty while the file has none
    int descriptor_ = -1;
    void* mapping_ = nullptr;
    uint64_t mapped_bytes_ = 0;
    bool kept_ = false;
};

// Whether the process may make files of that size: it would be sent a signal.
bool file_size_allowed(uint64_t size_bytes);

// A file that is there already, opened to be made longer. Unless the longer one is kept it goes back to what
// it had.
class GrowingFile {
  public:
    // False with errno: also when the path has come to name another file.
    bool open(const Path& path, const FileIdentity& identity);
    ~GrowingFile();
    GrowingFile() = default;
    GrowingFile(const GrowingFile&) = delete;
    GrowingFile& operator=(const GrowingFile&) = delete;

    // Gives it blocks from its old size to the new one; false with errno.
    bool grow(uint64_t old_bytes, uint64_t new_bytes, bool any_file_system);
    // From now on somebody may store into what was added.
    void keep() { grown_ = false; }
    // A part of it in memory, which forked children do not inherit: where the kernel likes, or in the place
    // of what is mapped at `place`. Null with errno.
    void* map(uint64_t offset_bytes, uint64_t size_bytes, void* place = nullptr);

  private:
    int descriptor_ = -1;
    uint64_t old_bytes_ = 0;
    bool grown_ = false;  // and not kept
};

// The folder that a path lies in.
void folder_of(const Path& path, Path& folder);

}  // namespace memsnap::recorder
