// SPDX-License-Identifier: Apache-2.0
//
// memsnap-oracle: the command line. Rule: documents go to stdout, everything else to stderr, and the exit
// code says which of both happened.
#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "command_table.h"
#include "examine.h"

namespace {

using oracle::u64;

constexpr int kExitUsage = oracle::kExitUsage;
constexpr int kLastDevice = int{oracle::kPinnedDevices} - 1;

class Descriptor {
  public:
    // A FIFO without a writer is opened at once, and then found to be no regular file.
    explicit Descriptor(const std::string& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

// Text of somebody else: a terminal obeys control characters, so they are spelled.
std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        bool second_set = byte == 0xC2U && next >= 0x80U && next < 0xA0U;  // U+0080 to U+009F
        bool lone = byte >= 0x80U && byte < 0xA0U && i > 0 && out.ends_with("\\xc2");
        if (byte < 0x20U || byte == 0x7FU || second_set || lone) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

// Of a large file that is no ring only the beginning is read: it is enough to refuse it.
std::size_t bytes_to_read(int fd, off_t size) {
    constexpr off_t kLarge = off_t{4} << 30;
    constexpr std::array<unsigned char, 8> kMagic{0x89, 0x4D, 0x45, 0x4D, 0x53, 0x4E, 0x41, 0x50};
    std::array<unsigned char, 8> start{};
    bool large_other =
        size > kLarge &&
        (::pread(fd, start.data(), start.size(), 0) != static_cast<ssize_t>(start.size()) || start != kMagic);
    return large_other ? start.size() : static_cast<std::size_t>(size);
}

std::optional<std::vector<std::byte>> read_all(int fd) {
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    std::vector<std::byte> bytes(bytes_to_read(fd, status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        auto got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (got < 0) return std::nullopt;
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

int report(const oracle::Error& error) {
    if (!error.rule.empty()) {
        fmt::print(stderr, "memsnap-oracle: {}: ticket {}, offset {}\n", error.rule,
                   error.ticket == oracle::kNoTicket ? std::string("none") : std::to_string(error.ticket),
                   error.offset);
    } else {
        fmt::print(stderr, "memsnap-oracle: {}\n", error.message);
    }
    return error.exit_code;
}

struct Ring {
    std::vector<std::byte> bytes;
    std::optional<u64> head_after;
};

// A file that is still written: the head is read again after the copy.
std::optional<Ring> read_ring(const std::string& path) {
    constexpr off_t kHeadOffset = 512;
    Descriptor file(path);
    auto bytes = read_all(file.get());
    if (!bytes) return std::nullopt;
    Ring ring{std::move(*bytes), std::nullopt};
    u64 head = 0;
    if (::pread(file.get(), &head, sizeof head, kHeadOffset) == static_cast<ssize_t>(sizeof head))
        ring.head_after = head;
    return ring;
}

int fail_io(const std::string& path) {
    fmt::print(stderr, "memsnap-oracle: cannot read {}, or it is no regular file\n", printable(path));
    return oracle::kExitIo;
}

bool print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
        return true;
    fmt::print(stderr, "memsnap-oracle: cannot write to standard output\n");
    return false;
}

int compare_receipt(const std::string& receipt_path, const Ring& ring, const oracle::Options& options) {
    auto text = read_all(Descriptor(receipt_path).get());
    if (!text) return fail_io(receipt_path);
    auto difference =
        oracle::compare({reinterpret_cast<const char*>(text->data()), text->size()}, ring.bytes, options);
    if (!difference) return report(difference.error());
    if (!*difference) return 0;
    const auto& [path, expected, found] = **difference;
    if (path.empty()) {
        fmt::print(stderr, "memsnap-oracle: {} {}\n", printable(receipt_path), found);
    } else {
        fmt::print(stderr, "memsnap-oracle: {}: the ring says {}, the receipt says {}\n", printable(path),
                   printable(expected), printable(found));
    }
    return oracle::kExitDisagreement;
}

// For those who make the manual page: ends the parsing, as --help does.
void print_commands(const CLI::App& app) {
    if (!print(oracle::command_table(app).canonical() + "\n")) throw CLI::RuntimeError(oracle::kExitIo);
    throw CLI::Success();
}

const CLI::Validator kTicket(
    [](const std::string& text) {
        constexpr std::size_t kMostDigits = 19;
        bool number = !text.empty() && text.size() <= kMostDigits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
        return number ? std::string() : "not a ticket: " + printable(text);
    },
    "TICKET");

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Recomputes the evidence and verdict of a ring file, independently of memsnap-replay.",
                 "memsnap-oracle");
    std::string ring_path, receipt_path;
    oracle::Options options;
    int device = -1;
    u64 ticket = 0;
    bool ids = false;
    app.add_option("ring", ring_path, "the ring file")->required();
    auto* device_option =
        app.add_option("--device", device, "only failures of this device")->check(CLI::Range(0, kLastDevice));
    auto* ticket_option = app.add_option("--at", ticket, "only the failure with this ticket")->check(kTicket);
    auto* receipt_option = app.add_option("--receipt", receipt_path, "compare this receipt with the ring");
    app.add_flag("--ids", ids, "print the birth tickets of every known allocation")->excludes(receipt_option);
    app.add_flag_callback(
           "--commands", [&] { print_commands(app); }, "print the table of options")
        ->group("");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kExitUsage;
    }
    if (::sodium_init() < 0) return oracle::kExitIo;
    if (*device_option) options.choice.device = device;
    if (*ticket_option) options.choice.ticket = ticket;
    auto ring = read_ring(ring_path);
    if (!ring) return fail_io(ring_path);
    auto sidecar = read_all(Descriptor(ring_path + ".names").get());
    if (sidecar) options.sidecar = *sidecar;
    options.head_after = ring->head_after;
    if (*receipt_option) return compare_receipt(receipt_path, *ring, options);
    if (ids) {
        auto births = oracle::known_allocations(ring->bytes, options);
        if (!births) return report(births.error());
        std::string text;
        for (auto birth : *births)
            text += fmt::format("{}\n", birth);
        return print(text) ? 0 : oracle::kExitIo;
    }
    auto result = oracle::examine(ring->bytes, options);
    if (!result) return report(result.error());
    return print(result->document.canonical() + "\n") ? result->exit_code : oracle::kExitIo;
}
