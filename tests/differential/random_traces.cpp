// SPDX-License-Identifier: Apache-2.0
//
// Thousands of seeded traces through both programs. The rule: one difference fails the run, and so does a
// class, a status, a qualifier or a side of an inequality that too few traces reached.
//
//   random_traces [--seeds FROM COUNT] [--aim NAME] [--keep FOLDER] [--show]
#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "coverage.h"
#include "programs.h"
#include "shrink.h"

namespace {

using namespace memsnap::differential;

struct Options {
    uint64_t from = 0;
    uint64_t count = 12'800;
    std::string aim;
    std::string keep;
    bool show = false;  // prints the traces and compares nothing
    bool whole = true;  // all that coverage asks for
};

std::optional<Options> parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const int left = argc - i - 1;
        if (word == "--seeds" && left >= 2) {
            options.from = std::strtoull(argv[++i], nullptr, 10);
            options.count = std::strtoull(argv[++i], nullptr, 10);
        } else if (word == "--aim" && left >= 1) {
            options.aim = argv[++i];
        } else if (word == "--keep" && left >= 1) {
            options.keep = argv[++i];
            continue;
        } else if (word == "--show") {
            options.show = true;
        } else {
            return std::nullopt;
        }
        options.whole = false;
    }
    return options;
}

std::string path_of(const std::string& difference) {
    return difference.substr(0, difference.find(':'));
}

class Run {
  public:
    explicit Run(const Options& options) : options_(options) {}

    void take(uint64_t seed) {
        const Aimed made =
            make_trace(seed, options_.aim, [&](const Lines& lines) { return programs_.look(lines); });
        if (options_.show) {
            fmt::print("# seed {}, aim {}\n{}", seed, made.aim->name, join(made.lines));
            std::fflush(stdout);
            return;
        }
        const Compared compared = programs_.compare(made.lines);
        const std::string wrong = compared.encode_error.empty()
                                      ? compared.difference
                                      : "the encoder refuses it: " + compared.encode_error;
        if (!wrong.empty()) {
            coverage_.fail(path_of(wrong));
            report(seed, made, wrong);
            return;
        }
        coverage_.take({made.aim->name, made.side, compared.replay.exit_status, compared.replay.rule,
                        compared.replay.document});
    }

    const Coverage& coverage() const { return coverage_; }

  private:
    // Once a field: many traces may show one mistake.
    void report(uint64_t seed, const Aimed& made, const std::string& wrong) {
        const std::string path = path_of(wrong);
        if (!reported_.insert(path).second) return;
        const Lines small = shrink(made.lines, [&](const Lines& lines) {
            const std::string still = programs_.compare(lines).difference;
            return !still.empty() && path_of(still) == path;
        });
        const std::string differs = programs_.compare(small).difference;
        fmt::print("seed {}, aim {}: replay / oracle: {}\n{}\n", seed, made.aim->name,
                   differs.empty() ? wrong : differs, join(small));
        std::fflush(stdout);
        if (options_.keep.empty()) return;
        std::ofstream kept(fmt::format("{}/{}-{}.events", options_.keep, made.aim->name, seed));
        kept << join(small) << "# " << (differs.empty() ? wrong : differs) << '\n';
    }

    const Options& options_;
    Programs programs_;
    Coverage coverage_;
    std::set<std::string> reported_;
};

// A process a core, each with every n-th seed; what it covered comes back as lines.
int open_worker(const Options& options, unsigned index, unsigned workers) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child != 0) {
        ::close(ends[1]);
        return child < 0 ? -1 : ends[0];
    }
    ::close(ends[0]);
    Run run(options);
    for (uint64_t seed = options.from + index; seed < options.from + options.count; seed += workers)
        run.take(seed);
    const std::string lines = run.coverage().lines();
    const bool written = ::write(ends[1], lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    ::_exit(written ? 0 : 1);
}

std::string read_all(int end) {
    std::string text;
    char chunk[4096];
    for (ssize_t got = 0; (got = ::read(end, chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<size_t>(got));
    ::close(end);
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    const auto options = parse(argc, argv);
    if (!options) {
        fmt::print(stderr,
                   "usage: random_traces [--seeds FROM COUNT] [--aim NAME] [--keep FOLDER] [--show]\n");
        return 2;
    }
    // Each trace is a file of some MiB: giving it back to the kernel every time costs more than the trace.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    const unsigned workers = std::max(1U, std::thread::hardware_concurrency());
    std::vector<int> ends;
    for (unsigned index = 0; index < workers; ++index)
        ends.push_back(open_worker(*options, index, workers));
    Coverage coverage;
    for (const int end : ends)
        coverage.merge(read_all(end));
    bool ended_well = true;
    for (unsigned index = 0; index < workers; ++index) {
        int status = 0;
        ended_well &= ::wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    fmt::print("{}", coverage.table());
    std::vector<std::string> missing;
    if (options->whole) missing = coverage.missing();
    for (const std::string& what : missing)
        fmt::print("too few: {}\n", what);
    if (!ended_well) fmt::print("a worker ended badly\n");
    return ended_well && missing.empty() && coverage.failures() == 0 ? 0 : 1;
}
