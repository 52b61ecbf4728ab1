// SPDX-License-Identifier: Apache-2.0
//
// One known piece after the other, until none fits.
#include "triage_prefix.h"

#include <algorithm>

namespace memsnap {
namespace {

constexpr uint64_t kRank_most = 999'999;
constexpr size_t kName_most = 64;  // of a worker's class in brackets

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}
bool is_word(char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           letter == '_' || letter == '-' || letter == '.';
}

// The rest of a line; a piece that does not fit is given back whole.
class Prefix {
  public:
    explicit Prefix(std::string_view line) : line_(line) {}

    LinePrefix run() {
        while (piece())
            continue;
        return {at_, label_};
    }

  private:
    bool piece() {
        const size_t before = at_;
        const LogLabel label = label_;
        for (const auto one :
             {&Prefix::spaces, &Prefix::colour, &Prefix::quoted, &Prefix::container, &Prefix::time,
              &Prefix::glog, &Prefix::mpi, &Prefix::bracketed, &Prefix::worker, &Prefix::level,
              &Prefix::rank_word, &Prefix::task, &Prefix::dash}) {
            if ((this->*one)() && at_ > before) return true;
            at_ = before;
            label_ = label;
        }
        return false;
    }

    char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
    bool take(char letter) {
        if (peek() != letter) return false;
        ++at_;
        return true;
    }
    bool take(std::string_view words) {
        const bool same = std::ranges::equal(line_.substr(at_, words.size()), words, {}, [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        if (same) at_ += words.size();
        return same;
    }
    bool digits(size_t count) {
        for (; count > 0; --count) {
            if (!is_digit(peek())) return false;
            ++at_;
        }
        return true;
    }
    std::optional<uint64_t> number() {
        uint64_t value = 0;
        size_t count = 0;
        for (; is_digit(peek()) && count < 10; ++count)
            value = value * 10 + static_cast<uint64_t>(line_[at_++] - '0');
        return count == 0 || is_digit(peek()) ? std::nullopt : std::optional(value);
    }
    bool rank() {
        const auto value = number();
        if (!value || *value > kRank_most) return false;
        label_.rank = value;
        return true;
    }
    // What ends a piece: white space, which belongs to it, or the line's end.
    bool ends() {
        if (at_ >= line_.size() || peek() == '\n' || peek() == '\r') return true;
        return take(' ') || take('\t');
    }

    bool spaces() {
        while (take(' ') || take('\t'))
            continue;
        return true;
    }

    // Also where the escape character itself was lost.
    bool colour() {
        const bool escaped = take('\x1b');
        if (!take('[')) return false;
        const size_t before = at_;
        while (is_digit(peek()) || peek() == ';')
            ++at_;
        return (escaped || at_ > before) && (take('m') || (escaped && take('K')));
    }

    // A mail's or an issue's mark of a quoted line.
    bool quoted() {
        if (!take('>') && !take("&gt;")) return false;
        return peek() == '>' || peek() == '&' || ends();
    }

    bool container() {
        if (take("stdout f ") || take("stderr f ") || take("stdout p ") || take("stderr p ")) return true;
        return take("{\"log\":\"") || take("{\"message\":\"") || take("{\"log\": \"") ||
               take("{\"message\": \"");
    }

    bool clock() {
        if (!digits(2) || !take(':') || !digits(2) || !take(':') || !digits(2)) return false;
        if (take('.') || take(',')) {
            while (is_digit(peek()))
                ++at_;
        }
        return true;
    }

    // [2026-01-02 03:04:05,678] and its relatives.
    bool time() {
        const bool bracket = take('[') || take('(');
        const size_t before = at_;
        if (digits(4) && (take('-') || take('/')) && digits(2) && (take('-') || take('/')) && digits(2)) {
            if (!take('T') && !take(' ')) return bracket && (take(']') || take(')')) && ends();
        } else {
            at_ = before;
        }
        if (!clock()) return false;
        if (!take('Z') && (take('+') || take('-'))) {
            if (!digits(2) || (take(':'), !digits(2))) return false;
        }
        if (bracket) return take(']') || take(')');
        return take(':') || take('|') || ends();
    }

    // E0102 03:04:05.678901 1234 file.cc:567]
    bool glog() {
        if (!take('I') && !take('W') && !take('E') && !take('F')) return false;
        if (!digits(4) || !take(' ') || !clock() || !take(' ')) return false;
        spaces();
        if (!number() || !take(' ')) return false;
        while (is_word(peek()))
            ++at_;
        return take(':') && number() && take(']');
    }

    // [1,2]<stderr>:
    bool mpi() {
        if (!take('[') || !number() || !take(',') || !rank() || !take(']')) return false;
        if (take("<stderr>") || take("<stdout>")) take(':');
        return true;
    }

    // [rank3]: [default0]: [Rank 3] [INFO] [0]: [trainer0]:
    bool bracketed() {
        if (!take('[')) return false;
        if (level_word()) return take(']') && (take(':'), true);
        for (const std::string_view word : {"rank", "default", "trainer", "worker", "gpu", ""}) {
            const size_t before = at_;
            if (take(word) && (take(':'), take('='), take(' '), rank()) && take(']')) {
                return (take(':') || !word.empty());
            }
            at_ = before;
        }
        return false;
    }

    // (RayWorkerWrapper pid=123, ip=10.0.0.1)
    bool worker() {
        if (!take('(')) return false;
        size_t length = 0;
        while ((is_word(peek()) || peek() == ' ' || peek() == ':') && length < kName_most) {
            if (take("pid=")) return worker_process();
            ++at_;
            ++length;
        }
        return false;
    }
    bool worker_process() {
        label_.process_id = number();
        if (!label_.process_id) return false;
        for (size_t length = 0; length < 2 * kName_most && peek() != '\0' && peek() != '\n'; ++length) {
            if (take(')')) return take(':'), true;
            ++at_;
        }
        return false;
    }

    bool level_word() {
        for (const std::string_view word : {"info", "warning", "warn", "error", "debug", "critical"}) {
            const size_t before = at_;
            if (take(word) && !is_word(peek())) return true;
            at_ = before;
        }
        return false;
    }
    bool level() { return level_word() && (take(':'), ends()); }

    // rank: 3 rank=3 Rank 3:
    bool rank_word() {
        if (!take("rank")) return false;
        if (!(take(':') || take('=') || take(' '))) return false;
        take(' ');
        if (!rank()) return false;
        return take(':') || take(',') || take('|') || take(']') || ends();
    }

    // srun --label: "3: ", " 3: "
    bool task() { return rank() && take(':') && ends(); }

    bool dash() { return (take('-') || take('|')) && take(' ') && at_ > 2; }

    std::string_view line_;
    size_t at_ = 0;
    LogLabel label_;
};

}  // namespace

LinePrefix line_prefix(std::string_view line) {
    return Prefix(line).run();
}

}  // namespace memsnap
