// SPDX-License-Identifier: Apache-2.0
//
// A file in memory for the program that reads files, the bytes themselves for the other.
#include "programs.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "analysis.h"
#include "document.h"
#include "encode.h"
#include "oracle/examine.h"
#include "receipt.h"

namespace memsnap::differential {

Programs::Programs() : file_(::memfd_create("memsnap-differential", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("memfd_create");
    path_ = "/proc/self/fd/" + std::to_string(file_);
}

Programs::~Programs() {
    ::close(file_);
}

// Only what differs from the file before: traces are alike, and most of a file is empty.
void Programs::store(const std::vector<std::byte>& ring) {
    constexpr size_t kPage_bytes = 4096;
    if (ring.size() != stored_.size()) {
        if (::ftruncate(file_, 0) != 0 || ::ftruncate(file_, static_cast<off_t>(ring.size())) != 0)
            throw std::runtime_error("ftruncate");
        stored_.assign(ring.size(), std::byte{0});
    }
    for (size_t at = 0; at < ring.size(); at += kPage_bytes) {
        const size_t bytes = std::min(kPage_bytes, ring.size() - at);
        if (std::memcmp(&ring[at], &stored_[at], bytes) == 0) continue;
        if (::pwrite(file_, &ring[at], bytes, static_cast<off_t>(at)) != static_cast<ssize_t>(bytes))
            throw std::runtime_error("pwrite");
    }
    stored_ = ring;
}

Answer Programs::replay_stored() const {
    const auto refused = [](const Error& error) {
        return Answer{static_cast<int>(error.code), error.rule, error.ticket.value_or(kNoTicket), ""};
    };
    const auto capture = Capture::read(path_);
    if (!capture) return refused(capture.error());
    const auto analysis = analyse(*capture, {});
    if (!analysis) return refused(analysis.error());
    auto receipt = write_receipt(*capture, *analysis);
    if (!receipt) return refused(receipt.error());
    return {exit_status(*analysis), "", kNoTicket, std::move(*receipt)};
}

Answer Programs::replay(const std::vector<std::string>& lines) {
    const auto ring = fixture::encode(join(lines));
    if (!ring) throw std::runtime_error(fmt::format("line {}: {}", ring.error().line, ring.error().message));
    store(*ring);
    return replay_stored();
}

std::optional<Seen> Programs::look(const std::vector<std::string>& lines) {
    const auto ring = fixture::encode(join(lines));
    if (!ring) return std::nullopt;
    store(*ring);
    const auto capture = Capture::read(path_);
    if (!capture) return std::nullopt;
    const auto analysis = analyse(*capture, {});
    if (!analysis || !analysis->incident || !analysis->incident->verdict.numbers) return std::nullopt;
    return Seen{analysis->incident->evidence, *analysis->incident->verdict.numbers};
}

namespace {

const std::vector<std::string_view> kMembers = {"evidence", "verdict", "capture", "environment",
                                                "dictionary"};

// The live table's check and its end are judged as a whole: no ticket is theirs.
bool is_about_a_record(const std::string& rule) {
    return rule != "table_check" && rule != "table_end";
}

// Field by field for a name, then byte by byte: equal values may still be written otherwise.
std::string difference_of_documents(const std::string& receipt, const oracle::Result& other) {
    const std::string text = other.document.canonical();
    const std::string found = first_difference(Document(receipt), Document(text), kMembers);
    if (!found.empty()) return found;
    for (const std::string_view name : {"capture", "environment", "dictionary", "evidence", "verdict"}) {
        const std::string member = fmt::format("\"{}\":{}", name, other.document[name].canonical());
        if (!receipt.contains(member)) return fmt::format("{}: the same values as other bytes", name);
    }
    const std::string digest = "digest.evidence";
    const auto mine = Document(receipt).word(digest);
    const auto theirs = Document(text).word(digest);
    if (mine != theirs) return fmt::format("{}: {} / {}", digest, mine.value_or(""), theirs.value_or(""));
    return "";
}

}  // namespace

Compared Programs::compare(const std::vector<std::string>& lines) {
    const auto ring = fixture::encode(join(lines));
    Compared result;
    if (!ring) {
        result.encode_error = "line " + std::to_string(ring.error().line) + ": " + ring.error().message;
        return result;
    }
    store(*ring);
    const Answer& mine = result.replay = replay_stored();
    const auto other = oracle::examine(*ring);
    if (!other || mine.document.empty()) {
        const int status = other ? other->exit_code : other.error().exit_code;
        const std::string rule = other ? "" : other.error().rule;
        if (status != mine.exit_status) {
            result.difference = fmt::format("error {} {} / {} {}", mine.exit_status, mine.rule, status, rule);
        } else if (rule != mine.rule) {
            // One damage may break several rules, and which is named first is not part of them.
            result.replay.rule = "named otherwise";
        } else if (other.error().ticket != mine.ticket && is_about_a_record(rule)) {
            result.difference = fmt::format("ticket of {}: {} / {}", rule, mine.ticket, other.error().ticket);
        }
        return result;
    }
    result.difference = difference_of_documents(mine.document, *other);
    if (!result.difference.empty()) return result;
    if (mine.exit_status != other->exit_code) {
        result.difference = fmt::format("exit: {} / {}", mine.exit_status, other->exit_code);
        return result;
    }
    const auto compared = oracle::compare(mine.document, *ring);
    if (!compared) {
        result.difference = fmt::format("compare: the oracle refuses: {}", compared.error().rule);
    } else if (*compared) {
        const oracle::Difference& difference = **compared;
        result.difference =
            fmt::format("{}: {} / {}", difference.path, difference.found, difference.expected);
    }
    return result;
}

}  // namespace memsnap::differential
