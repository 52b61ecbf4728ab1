// SPDX-License-Identifier: Apache-2.0
//
// From phrase to grammar. What stands before a phrase is looked at only on its own line.
#include "triage_recognise.h"

#include <algorithm>
#include <string>

#include "triage_libraries.h"
#include "triage_statistics.h"
#include "triage_torch.h"

namespace memsnap {
namespace {

constexpr size_t kQuoteBefore_most = 120;  // letters
constexpr size_t kNameAhead_most = 160;    // from the name of an error to the message that it is of

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return lower;
}

class Recogniser {
  public:
    Recogniser(const TightText& text, LogPhrase phrase, size_t begin, size_t behind, LogHorizon& horizon)
        : text_(text),
          phrase_(phrase),
          begin_(begin),
          behind_(behind),
          horizon_(horizon),
          cursor_(text, begin, &horizon) {
        // Not from the letter behind: that may be another writer's.
        while (cursor_.at() < behind_)
            cursor_.next();
        const TightText::Run& run = text.run_of(begin);
        line_begin_ = std::max(run.begin, begin > kQuoteBefore_most ? begin - kQuoteBefore_most : 0);
    }

    Recognised run() {
        switch (phrase_) {
            case LogPhrase::none:
                return nothing();
            case LogPhrase::tried_to_allocate:
                return tried();
            case LogPhrase::out_of_memory:
                return out_of_memory();
            case LogPhrase::out_of_memory_code:
            case LogPhrase::memory_allocation_code:
            case LogPhrase::cuda_oom:
                return code();
            case LogPhrase::resource_exhausted:
                // TensorFlow's name of the error, whose message has a phrase of its own.
                if (LogCursor name = cursor_; name.take("error:oomwhen")) return nothing();
                return of(xla_message(cursor_), Unrecognised::resource_exhausted);
            case LogPhrase::failed_to_allocate:
                // The warning, which has a phrase of its own.
                if (LogCursor warned = cursor_; warned.take("withoom")) return nothing();
                return unrecognised(Unrecognised::failed_to_allocate);
            case LogPhrase::library_status:
                return unrecognised(Unrecognised::library_status);
            case LogPhrase::allocation_on_device:
                return of(async_message(cursor_), Unrecognised::out_of_memory);
            case LogPhrase::refused_call:
                return warning();
            case LogPhrase::nvml_assert:
                return nvml();
            case LogPhrase::pool_exceeded:
                return message(pool_message(cursor_));
            case LogPhrase::store_failed:
                return optional(store_message(cursor_));
            case LogPhrase::free_on_device:
                return optional(startup_message(cursor_));
            case LogPhrase::memory_profiling:
                return message(profiling_message(cursor_));
            case LogPhrase::tensor_too_large:
                return message(tensor_message(cursor_));
            case LogPhrase::nccl_calloc:
                return of(nccl_message(cursor_), Unrecognised::failed_to_allocate);
            case LogPhrase::nvshmem:
                return nvshmem();
            case LogPhrase::host_memory:
                return host();
            case LogPhrase::host_oom_kill:
                return unrecognised(Unrecognised::host_oom_kill);
            case LogPhrase::summary:
                return statistics(summary_statistics(cursor_));
            case LogPhrase::statistics:
                return one();
        }
        return nothing();
    }

  private:
    bool before(std::string_view words) const { return stands_before(text_, begin_, words); }
    std::string line_before() const {
        return lower_case(text_.letters().substr(line_begin_, begin_ - line_begin_));
    }
    std::string ahead(size_t letters) const {
        std::string text;
        for (LogCursor at = cursor_; letters > 0 && at.peek() != '\0'; --letters, at.next())
            text.push_back(at.peek());
        return lower_case(text);
    }

    LogPlace place() const {
        const TightText::Run& run = text_.run_of(begin_);
        return {text_.offset_bytes(begin_), run.line, text_.label(run.label)};
    }

    Recognised nothing() const { return {{}, begin_, begin_}; }

    Recognised message(LogMessage one) {
        one.place = place();
        const size_t begin = quote_begin();
        one.quote = text_.spaced(begin, std::min(cursor_.at(), begin + 1024));
        return {std::move(one), begin_, cursor_.at()};
    }
    Recognised optional(std::optional<LogMessage> one) { return one ? message(std::move(*one)) : nothing(); }
    Recognised of(std::optional<LogMessage> one, Unrecognised otherwise) {
        return one ? message(std::move(*one)) : unrecognised(otherwise);
    }
    Recognised statistics(LogStatistics one) {
        one.place = place();
        return {std::move(one), begin_, cursor_.at()};
    }

    Recognised unrecognised(Unrecognised kind) const {
        if (is_code()) return nothing();
        LogUnrecognised one;
        one.kind = kind;
        one.place = place();
        const size_t run_end = text_.run_end(text_.run_index(begin_));
        const size_t end = std::min(std::max(run_end, behind_), behind_ + kQuoteBehind_most);
        one.quote = text_.spaced(line_begin_, std::min(end, text_.size()));
        return {std::move(one), line_begin_, std::min(end, text_.size())};
    }

    // From the beginning of the word or sentence that the phrase is in.
    size_t quote_begin() const { return line_begin_; }

    // A line of a program that a traceback shows, and not what the program met.
    bool is_code() const {
        const std::string line = line_before();
        for (const std::string_view words :
             {"excepttorch", "exceptruntime", "except(", "exceptcuda", "exceptjax", "exceptxla", "exceptout",
              "exceptmemory", "raisetorch", "raiseruntime", "raiseout", "raisememory", "import", "from",
              "catch(", "}catch("}) {
            if (line.starts_with(words)) return true;
        }
        if (line.find("isinstance(") != std::string::npos) return true;
        const char quote = begin_ > 0 ? text_.letters()[begin_ - 1] : '\0';
        if (quote != '\'' && quote != '"') return false;
        LogCursor behind = cursor_;
        return behind.peek() == quote && (behind.next(), behind.take("in"));
    }

    Recognised tried() {
        if (before("you")) return unrecognised(Unrecognised::host_memory);
        std::optional<LogMessage> one = torch_message(cursor_);
        // Other programs try to allocate things too.
        const bool torch = one && (one->device || one->total.known() || one->format == TriageFormat::F8 ||
                                   line_before().find("memory") != std::string::npos);
        if (torch) return message(std::move(*one));
        return one ? unrecognised(Unrecognised::failed_to_allocate) : nothing();
    }

    TriageBackend backend_before() const {
        if (before("cuda")) return TriageBackend::cuda;
        if (before("hip")) return TriageBackend::hip;
        if (before("xpu")) return TriageBackend::xpu;
        if (before("npu")) return TriageBackend::npu;
        return TriageBackend::unknown;
    }

    Recognised out_of_memory() {
        if (LogCursor own = cursor_; before("memsnap:") && own.take("recordedin"))
            return {LogRecording{place()}, begin_, behind_};
        if (before("mpsbackend")) return optional(mps_message(cursor_));
        LogCursor rest = cursor_;
        rest.take(".");
        LogCursor exception = rest;
        if (exception.take("triedtoallocate")) {
            if (auto one = torch_message(exception)) {
                cursor_ = exception;
                one->backend = backend_before();
                return message(std::move(*one));
            }
        }
        if (rest.take("allocationwaspreemptivelyrejected")) {
            cursor_ = rest;
            return message(rejected_message(cursor_));
        }
        if (before("ran")) {
            if (auto one = bfc_message(text_, begin_, cursor_)) return message(std::move(*one));
        }
        if (LogCursor name = cursor_; name.take("error")) return error_name(name);
        if (LogCursor killed = cursor_; killed.take(":kill"))
            return unrecognised(Unrecognised::host_oom_kill);
        if (line_before().find("nccl") != std::string::npos || before("failure'") || before("failure2'"))
            return plain(TriageFormat::NCCL);
        for (const std::string_view words : {"cudaerror:", "cudadrivererror:", "hiperror:", "cudaerror2:",
                                             "runtimeerror(2):", "cudaerror(2):"}) {
            if (before(words)) return plain(TriageFormat::F0);
        }
        return unrecognised(Unrecognised::out_of_memory);
    }

    Recognised plain(TriageFormat format) {
        if (is_code()) return nothing();
        LogMessage one;
        one.format = format;
        one.backend = before("hiperror:") ? TriageBackend::hip : TriageBackend::cuda;
        return message(std::move(one));
    }

    // OutOfMemoryError: the message behind it speaks for itself.
    Recognised error_name(LogCursor behind) {
        if (before("java.lang.")) {
            return unrecognised(Unrecognised::host_memory);
        }
        const size_t name_end = behind.at();
        if (behind.take(":") || behind.take("('") || behind.take("(\"")) {
            cursor_ = behind;
            const std::string next = ahead(kNameAhead_most);
            for (const std::string_view words : {"outofmemory", "triedtoallocate", "allocationondevice"}) {
                if (next.find(words) != std::string::npos) return {{}, begin_, name_end};
            }
        }
        Recognised named = unrecognised(Unrecognised::out_of_memory);
        named.end = std::max(named.end, name_end);
        return named;
    }

    Recognised code() {
        if (before("std::bad_alloc:")) {
            LogMessage one;
            one.format = TriageFormat::RMM;
            one.backend = TriageBackend::rmm;
            // The pool's own words tell more.
            if (ahead(400).find("maximumpoolsizeexceeded") != std::string::npos) return nothing();
            return message(std::move(one));
        }
        if (LogCursor description = cursor_; description.take(":outofmemory")) cursor_ = description;
        return unrecognised(Unrecognised::out_of_memory);
    }

    Recognised warning() {
        auto refused = refusal(cursor_);
        if (!refused) return unrecognised(Unrecognised::out_of_memory);
        refused->place = place();
        return {std::move(*refused), begin_, cursor_.at()};
    }

    Recognised nvml() {
        if (!cursor_.take("internalassertfailed")) return nothing();
        LogMessage one;
        one.format = TriageFormat::F9;
        one.backend = TriageBackend::cuda;
        return message(std::move(one));
    }

    Recognised nvshmem() {
        const std::string next = ahead(kNameAhead_most);
        const bool failed = next.find("fail") != std::string::npos ||
                            next.find("'invalidargument'") != std::string::npos ||
                            next.find("outofmemory") != std::string::npos;
        if (!failed || is_code()) return nothing();
        LogMessage one;
        one.format = TriageFormat::NVSHMEM;
        one.backend = TriageBackend::cuda;
        return message(std::move(one));
    }

    Recognised host() {
        if (before("outof")) return nothing();
        // RMM's error, and not the host's.
        LogCursor code = cursor_;
        code.take(":std::bad_alloc");
        if (code.take(":out_of_memory")) return nothing();
        return unrecognised(Unrecognised::host_memory);
    }

    Recognised one() {
        const char letter = begin_ > 0 ? text_.letters()[begin_ - 1] : '\0';
        const bool inside_word = letter == '_' || (letter >= 'a' && letter <= 'z');
        cursor_ = LogCursor(text_, begin_, &horizon_);
        const auto value = inside_word ? std::nullopt : one_statistic(cursor_);
        return value ? statistics(*value) : nothing();
    }

    const TightText& text_;
    const LogPhrase phrase_;
    const size_t begin_;
    const size_t behind_;
    LogHorizon& horizon_;
    size_t line_begin_ = 0;
    LogCursor cursor_;
};

}  // namespace

Recognised recognise(const TightText& text, LogPhrase phrase, size_t begin, size_t behind,
                     LogHorizon& horizon) {
    return Recogniser(text, phrase, begin, behind, horizon).run();
}

}  // namespace memsnap
