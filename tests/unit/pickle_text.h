// SPDX-License-Identifier: Apache-2.0
//
// Pickles by hand, read and told as text: `{'a': [1, None]}`. Frames and other rows are not made here:
// containers stay what they are.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "../../snapshot/pickle_machine.h"

namespace memsnap::test {

class PickleText {
  public:
    // What the pickle makes, or `error OFFSET: detail`.
    static std::string of(std::string_view bytes) {
        PickleText one;
        const int file = ::memfd_create("pickle", MFD_CLOEXEC);
        const bool is_written =
            ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
        const auto opened = RingFile::open("/proc/self/fd/" + std::to_string(file));
        std::string text = "error: no file";
        if (is_written && opened) {
            snapshot::PickleInput input(*opened);
            snapshot::PickleMachine machine(input, one.texts_, one.plain_);
            const auto value = machine.run();
            text = value ? one.text(*value)
                         : "error " + std::to_string(value.error().offset_bytes.value_or(0)) + ": " +
                               value.error().detail;
        }
        ::close(file);
        return text;
    }

  private:
    struct Plain final : snapshot::Completion {
        std::optional<snapshot::Value> list(std::span<const snapshot::Value>, uint64_t) override {
            return {};
        }
        std::optional<snapshot::Value> dict(std::span<const snapshot::Value>, uint64_t) override {
            return {};
        }
    };

    std::string joined(std::span<const snapshot::Value> items) const {
        std::string text;
        for (const auto& item : items)
            text += (text.empty() ? "" : ", ") + this->text(item);
        return text;
    }
    std::string text(const snapshot::Value& value) const {
        using snapshot::Kind;
        if (value.kind == Kind::none) return "None";
        if (value.kind == Kind::boolean) return value.truth() ? "True" : "False";
        if (value.kind == Kind::integer) return std::to_string(value.as_integer());
        if (value.kind == Kind::large) return std::to_string(value.wide);
        if (value.kind == Kind::huge) return "huge";
        if (value.kind == Kind::real) return std::to_string(value.as_real());
        if (value.kind == Kind::text) return "'" + std::string(texts_.text(value.low)) + "'";
        if (value.kind == Kind::long_text) return "long text";
        if (value.kind == Kind::bytes) return "bytes";
        if (value.kind == Kind::set) return "set";
        if (value.kind == Kind::pair)
            return "(" + std::to_string(value.low) + ", " + std::to_string(value.wide) + ")";
        if (value.kind == Kind::tuple) return "(" + joined(value.items()) + ")";
        if (value.kind == Kind::list) return "[" + joined(value.items()) + "]";
        if (value.kind == Kind::dict) return "{" + joined(value.items()) + "}";
        return "?";
    }

    snapshot::Texts texts_;
    Plain plain_;
};

}  // namespace memsnap::test
