// SPDX-License-Identifier: Apache-2.0
#include "nvtx_texts.h"

#include <string.h>

#include <atomic>

#include "text.h"

namespace memsnap::recorder::nvtx {
namespace {

// Registered texts one behind the other, each a byte for its size and its bytes. Not in the region that
// forked children see zeroed: they inherit the handles.
constexpr size_t kStore_bytes = 256 * 1024;
char g_store[kStore_bytes];
std::atomic<size_t> g_stored_bytes{1};  // place 0 is the text that found no room

constexpr uint32_t kDomainCapacity = 255;
std::atomic<uint64_t> g_domains[kDomainCapacity];  // by number, less 1: hash of the name

// At most one more than is kept is looked at.
size_t bounded_size(const char* text) {
    return kept_bytes(text, strnlen(text, kMarkText_bytes + 1));
}

}  // namespace

Message::Message(const char* text) {
    take(text);
}

Message::Message(const wchar_t* text) {
    take(text);
}

Message::Message(const Attributes* attributes) {
    if (attributes == nullptr || attributes->size < sizeof(Attributes)) return;
    const void* message = attributes->message;
    if (attributes->message_type == kAscii) take(static_cast<const char*>(message));
    if (attributes->message_type == kWide) take(static_cast<const wchar_t*>(message));
    if (attributes->message_type == kRegistered) take_registered(message);
}

void Message::take(const char* text) {
    if (text == nullptr) return;
    text_ = text;
    size_ = bounded_size(text);
}

void Message::take(const wchar_t* text) {
    for (; text != nullptr && *text != 0; ++text) {
        unsigned char bytes[kLongestCharacter_bytes];
        size_t size = write_utf8(static_cast<uint32_t>(*text), bytes);
        if (size_ + size > sizeof converted_) return;
        memcpy(converted_ + size_, bytes, size);
        size_ += size;
    }
}

void Message::take_registered(const void* handle) {
    auto at = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(g_store);
    if (at >= g_stored_bytes.load(std::memory_order_acquire) || at >= kStore_bytes) return;
    size_t size = static_cast<unsigned char>(g_store[at]);
    if (at + 1 + size > kStore_bytes) return;
    text_ = g_store + at + 1;
    size_ = size;
}

String register_string(const Message& message) {
    size_t bytes = 1 + message.size();
    size_t at = g_stored_bytes.load(std::memory_order_relaxed);
    do {
        if (at + bytes > kStore_bytes) return g_store;
    } while (!g_stored_bytes.compare_exchange_weak(at, at + bytes, std::memory_order_acq_rel));
    g_store[at] = static_cast<char>(message.size());
    if (message.size() != 0) memcpy(g_store + at + 1, message.text(), message.size());
    return g_store + at;
}

Domain create_domain(const Message& name) {
    uint64_t hash = fnv1a(name.text(), name.size()) | 1;
    for (uintptr_t i = 0; i < kDomainCapacity; ++i) {
        uint64_t there = 0;
        if (g_domains[i].compare_exchange_strong(there, hash) || there == hash)
            return reinterpret_cast<Domain>(i + 1);
    }
    return reinterpret_cast<Domain>(uintptr_t{kDomainCapacity});
}

uint8_t domain_number(Domain domain) {
    auto number = reinterpret_cast<uintptr_t>(domain);
    return static_cast<uint8_t>(number > kDomainCapacity ? kDomainCapacity : number);
}

}  // namespace memsnap::recorder::nvtx
