// SPDX-License-Identifier: Apache-2.0
//
// Traces of PyTorch's profiler that contradict themselves, and damaged ones: each is refused, or becomes a
// ring that every stage takes. `mutated_traces [rounds] [seed]`; a failure names its round.
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "../../snapshot/convert_profile.h"
#include "../../snapshot/read_profile.h"
#include "analysis.h"
#include "receipt.h"
#include "report.h"

namespace {

using namespace memsnap;

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "mutated_traces: %s\n", what.c_str());
    std::abort();
}

class Mutator {
  public:
    explicit Mutator(uint64_t seed) : random_(seed) {}

    std::string make() {
        std::string events;
        for (uint64_t left = below(60); left > 0; --left)
            events += event() + (left > 1 ? ",\n" : "");
        std::string text = R"({"baseTimeNanoseconds": )" + number() + R"(, "traceEvents": [)" + events + "]}";
        for (uint64_t edits = below(3) == 0 ? below(6) : 0; edits > 0; --edits)
            edit(text);
        if (below(8) != 0) return text;
        text = compressed(text);
        if (below(2) == 0) edit(text);
        return text;
    }

  private:
    uint64_t below(uint64_t limit) { return random_() % limit; }
    std::string number() {
        switch (below(600)) {
            case 0:
                return std::to_string(random_());
            case 1:
                return "-" + std::to_string(random_() / 2);
            case 2:
                return "1e" + std::to_string(below(400));
            default:
                return std::to_string(below(40)) + (below(2) == 0 ? ".5" : "");
        }
    }
    std::string bytes() {
        const std::string size = std::to_string(512 * (1 + below(8)));
        return below(400) == 0 ? number() : (below(3) == 0 ? "-" : "") + size;
    }
    std::string event() {
        const std::string time = R"("ts": )" + number();
        if (below(4) == 0)
            return R"({"ph": "X", "cat": "user_annotation", "name": "r)" + std::to_string(below(4)) + "\", " +
                   time + R"(, "dur": )" + number() + "}";
        const std::string totals = R"(, "Total Allocated": )" + std::to_string(512 * below(100)) +
                                   R"(, "Total Reserved": )" + std::to_string(512 * below(200));
        const std::string place =
            below(30) == 0 ? std::to_string(random_()) : std::to_string(4096 + 512 * below(40));
        return std::string(R"({"name": ")") + (below(12) == 0 ? "[OutOfMemory]" : "[memory]") + "\", " +
               time + R"(, "args": {"Device Type": 1, "Device Id": )" + std::to_string(below(2)) +
               R"(, "Addr": )" + place + R"(, "Bytes": )" + bytes() + totals + "}}";
    }
    void edit(std::string& text) {
        const size_t at = below(text.size() + 1);
        switch (below(4)) {
            case 0:
                text.resize(at);
                break;
            case 1:
                text.insert(at, 1, R"({}[]",:0-.e\)"[below(12)]);
                break;
            case 2:
                text.insert(at, text.substr(at, below(200)));
                break;
            default:
                if (at < text.size()) text[at] = static_cast<char>(below(256));
        }
    }
    static std::string compressed(const std::string& text) {
        std::string out(text.size() + 1000, '\0');
        z_stream stream = {};
        require(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
        std::string in = text;
        stream.next_in = reinterpret_cast<Bytef*>(in.data());
        stream.avail_in = static_cast<uInt>(in.size());
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
        out.resize(out.size() - stream.avail_out);
        deflateEnd(&stream);
        return out;
    }

    std::mt19937_64 random_;
};

void show(snapshot::Profile profile, const std::string& ring) {
    snapshot::Converted made = snapshot::convert_profile(std::move(profile), {1});
    const int file = ::open(ring.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const int names = ::open((ring + ".names").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(made.image.write(file, names).has_value(), "the ring is not written");
    ::close(file);
    ::close(names);
    const auto capture = Capture::read(ring);
    require(capture.has_value(), capture ? "" : "the ring is not read: " + describe(capture.error()));
    const auto analysis = analyse(*capture, {});
    require(analysis.has_value(), analysis ? "" : "the ring is not analysed: " + describe(analysis.error()));
    require(!render_report(*capture, *analysis, {}).empty(), "an empty report");
    require(write_receipt(*capture, *analysis).has_value(), "a receipt that its own check refuses");
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::string folder = (std::filesystem::temp_directory_path() / "memsnap-fuzz-XXXXXX").string();
    require(::mkdtemp(folder.data()) != nullptr, "no folder to write to");
    uint64_t taken_count = 0;
    for (uint64_t round = 0; round < rounds; ++round) {
        if (round % 100 == 0)
            std::printf("round %llu of seed %llu\n", static_cast<unsigned long long>(round),
                        static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        const std::string path = folder + "/trace.json";
        std::ofstream(path, std::ios::binary | std::ios::trunc) << Mutator(seed << 32 | round).make();
        auto profile = snapshot::read_profile(path);
        if (!profile) {
            require(!profile.error().detail.empty() && !profile.error().way_out.empty(), "a mute error");
            continue;
        }
        ++taken_count;
        show(std::move(*profile), folder + "/ring.bin");
    }
    std::filesystem::remove_all(folder);
    require(taken_count > rounds / 10, "hardly any trace is taken");
}
