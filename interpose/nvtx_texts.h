// SPDX-License-Identifier: Apache-2.0
//
// Texts and handles as NVTX passes them. The rules: a handle stays what it was in forked children, and works
// before there is a recording; texts are cut to what is kept of a name; a handle that is not ours is no text.
#pragma once

#include "local_names.h"
#include "nvtx_abi.h"

namespace memsnap::recorder::nvtx {

// A text of the program's, or one converted into `converted`.
class Message {
  public:
    Message() = default;
    explicit Message(const char* text);
    explicit Message(const wchar_t* text);
    explicit Message(const Attributes* attributes);
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;

    const char* text() const { return text_ == nullptr ? converted_ : text_; }
    size_t size() const { return size_; }

  private:
    void take(const char* text);
    void take(const wchar_t* text);
    void take_registered(const void* handle);

    const char* text_ = nullptr;
    size_t size_ = 0;
    char converted_[kMarkText_bytes] = {};
};

String register_string(const Message& message);

// The same handle for the same name; 0 is the number of the default domain.
Domain create_domain(const Message& name);
uint8_t domain_number(Domain domain);

}  // namespace memsnap::recorder::nvtx
