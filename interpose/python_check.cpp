// SPDX-License-Identifier: Apache-2.0
#include "python_check.h"

#include <string.h>

#include <initializer_list>

#include "elf_lookup.h"
#include "python_text.h"
#include "python_walk.h"

namespace memsnap::recorder {
namespace {

constexpr uint32_t kDescribedFrames = 8;  // whose code objects are compared too
constexpr size_t kLongestText_bytes = 256;

// One reference of ours.
class Reference {
  public:
    Reference(const PythonApi& api, PyObject* object) : api_(api), object_(object) {}
    ~Reference() { reset(nullptr); }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

    void reset(PyObject* object) {
        if (object_ != nullptr) api_.decrement(object_);
        object_ = object;
    }
    PyObject* get() const { return object_; }
    uintptr_t address() const { return reinterpret_cast<uintptr_t>(object_); }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    const PythonApi& api_;
    PyObject* object_;
};

struct Comparison {
    const PythonApi& api;
    const PythonLayout& layout;
    CheckedMemory memory{};

    bool is_attribute(PyObject* object, const char* name, uintptr_t expected) {
        Reference value(api, api.attribute(object, name));
        return value && value.address() == expected;
    }

    bool number(PyObject* object, const char* name, long& result) {
        Reference value(api, api.attribute(object, name));
        if (!value) return false;
        result = api.as_long(value.get());
        return true;
    }

    // A text that UTF-8 cannot say proves nothing either way.
    bool reads_as(uintptr_t text, const char* bytes, size_t size_bytes) {
        unsigned char read[kLongestText_bytes];
        if (size_bytes > sizeof read) {
            bytes += size_bytes - sizeof read;
            size_bytes = sizeof read;
            while (size_bytes != 0 && is_inside_character(*bytes)) {
                ++bytes;
                --size_bytes;
            }
        }
        size_t read_bytes = write_text(layout, memory, text, read, sizeof read);
        return read_bytes == size_bytes && memcmp(read, bytes, size_bytes) == 0;
    }

    bool same_text(uintptr_t text) {
        Reference encoded(api, api.as_utf8(reinterpret_cast<PyObject*>(text)));
        if (!encoded) {
            api.clear_error();
            return true;
        }
        return reads_as(text, api.bytes_data(encoded.get()),
                        static_cast<size_t>(api.bytes_size(encoded.get())));
    }

    bool same_code(uintptr_t code) {
        auto* object = reinterpret_cast<PyObject*>(code);
        auto file_name = memory.at<uintptr_t>(code + layout.code_file_name);
        auto name = memory.at<uintptr_t>(code + layout.code_name);
        auto line_table = memory.at<uintptr_t>(code + layout.code_line_table);
        const char* name_attribute = layout.version >= 0x030b ? "co_qualname" : "co_name";
        const char* table_attribute = layout.version >= 0x030a ? "co_linetable" : "co_lnotab";
        long first_line = 0;
        return memory.at<uintptr_t>(code + kObjectType) == reinterpret_cast<uintptr_t>(api.code_type) &&
               is_attribute(object, "co_filename", file_name) && is_attribute(object, name_attribute, name) &&
               is_attribute(object, table_attribute, line_table) && same_text(file_name) && same_text(name) &&
               number(object, "co_firstlineno", first_line) &&
               first_line == memory.at<int32_t>(code + layout.code_first_line) && same_bytes(line_table);
    }

    bool same_bytes(uintptr_t bytes) {
        auto* object = reinterpret_cast<PyObject*>(bytes);
        return reinterpret_cast<uintptr_t>(api.bytes_data(object)) == bytes + kBytesData &&
               api.bytes_size(object) == memory.at<long>(bytes + kBytesLength);
    }

    // The first local of a function with arguments is an object, unless it was deleted.
    bool has_first_argument(const WalkedFrame& walked) {
        long argument_count = 0;
        if (!number(reinterpret_cast<PyObject*>(walked.code), "co_argcount", argument_count)) return false;
        uintptr_t local = without_tag(memory.at<uintptr_t>(walked.frame + layout.frame_locals));
        if (argument_count == 0 || local == 0) return true;
        auto type_type = reinterpret_cast<uintptr_t>(api.type_type);
        uintptr_t type = memory.at<uintptr_t>(local + kObjectType);
        constexpr uint32_t kMetaclasses = 4;
        for (uint32_t i = 0; i < kMetaclasses && type != type_type; ++i) {
            type = memory.at<uintptr_t>(type + kObjectType);
        }
        return type == type_type;
    }

    // The interpreter's instruction offset of its own frame.
    bool same_instruction(PyObject* frame, uint32_t expected) {
        long last = 0;
        return number(frame, "f_lasti", last) && (last < 0 ? 0 : last) == static_cast<long>(expected);
    }

    bool same_frames(const WalkedFrame* walked, uint32_t count, bool whole) {
        Reference frame(api, api.current_frame());
        if (frame) api.increment(frame.get());
        for (uint32_t i = 0; i < count; ++i) {
            if (!frame || !same_instruction(frame.get(), walked[i].instruction)) return false;
            Reference code(api, api.frame_code(frame.get()));
            if (code.address() != walked[i].code) return false;
            if (i < kDescribedFrames && (!same_code(walked[i].code) || !has_first_argument(walked[i])))
                return false;
            frame.reset(api.frame_back(frame.get()));
        }
        return !whole || !frame;
    }

    // Names of functions and files may all be ASCII here, and not in the next cell.
    bool reads_all_texts() {
        for (const char* sample :
             {"plain", "na\xc3\xafve", "\xce\xa9\xd0\xb4\xe2\x82\xac", "\xf0\x90\x8d\x88x"}) {
            auto size_bytes = strlen(sample);
            Reference text(api, api.new_text(sample, static_cast<long>(size_bytes)));
            if (!text || !reads_as(text.address(), sample, size_bytes)) return false;
        }
        return true;
    }

    // Even when the second has the memory of the first.
    bool tells_dicts_apart() {
        uint64_t last_version = 0;
        for (int i = 0; i < 2 && layout.dict_version != 0; ++i) {
            Reference dict(api, api.new_dict());
            if (!dict) return false;
            auto version = memory.at<uint64_t>(dict.address() + layout.dict_version);
            if (version == 0 || version == last_version) return false;
            last_version = version;
        }
        return true;
    }

    bool same_type() {
        auto type = reinterpret_cast<uintptr_t>(api.code_type);
        char name[5] = {};
        if (!memory.read(memory.at<uintptr_t>(type + kTypeName), name, sizeof name)) return false;
        auto dealloc = memory.at<uintptr_t>(type + kTypeDealloc);
        return memcmp(name, "code", sizeof name) == 0 && object_at(dealloc).begin != 0;
    }
};

// Asked for its frames, the interpreter makes objects of them, and making objects may start a collection,
// which runs the program's code. 3.9 has no such switch: there it runs as it may between two instructions.
class WithoutCollection {
  public:
    explicit WithoutCollection(const PythonApi& api) : api_(api) {
        was_enabled_ = api_.disable_collection != nullptr && api_.disable_collection() != 0;
    }
    ~WithoutCollection() {
        if (was_enabled_ && api_.enable_collection != nullptr) api_.enable_collection();
    }
    WithoutCollection(const WithoutCollection&) = delete;
    WithoutCollection& operator=(const WithoutCollection&) = delete;

  private:
    const PythonApi& api_;
    bool was_enabled_;
};

// Used once at a time: the GIL is held.
WalkedFrame g_walked[kLongestChain];

Agreement compare(const PythonApi& api, const PythonLayout& layout) {
    void* thread_state = api.own_thread_state();
    // In another interpreter of the process the walk would begin somewhere else.
    if (thread_state == nullptr || thread_state != api.current_thread_state()) return Agreement::not_now;
    if (api.current_frame() == nullptr) return Agreement::not_now;
    Comparison comparison{api, layout};
    uint32_t count = 0;
    uintptr_t innermost =
        innermost_frame(layout, comparison.memory, reinterpret_cast<uintptr_t>(thread_state));
    bool whole = for_each_frame(layout, comparison.memory, innermost, [&count](const WalkedFrame& walked) {
        g_walked[count++] = walked;
        return true;
    });
    bool same = !comparison.memory.failed() && count != 0 && comparison.same_frames(g_walked, count, whole) &&
                comparison.reads_all_texts() && comparison.tells_dicts_apart() && comparison.same_type() &&
                !comparison.memory.failed();
    return same ? Agreement::agrees : Agreement::differs;
}

}  // namespace

Agreement compare_with_interpreter(const PythonApi& api, const PythonLayout& layout) {
    WithoutCollection without_collection(api);
    PyObject* error[3] = {};
    api.fetch_error(&error[0], &error[1], &error[2]);
    Agreement result = compare(api, layout);
    api.clear_error();
    api.restore_error(error[0], error[1], error[2]);
    return result;
}

}  // namespace memsnap::recorder
