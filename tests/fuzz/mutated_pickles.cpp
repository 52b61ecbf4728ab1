// SPDX-License-Identifier: Apache-2.0
//
// The pickle fuzzer without libFuzzer: snapshots as a writer writes them, with strange members in them, and
// then damaged a bounded number of times. `mutated_pickles [rounds] [seed]`; a failure names its round.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr const char* kMembers[] = {"action",
                                    "addr",
                                    "size",
                                    "stream",
                                    "time_us",
                                    "frames",
                                    "cpp_frames",
                                    "pool_id",
                                    "user_metadata",
                                    "device_free",
                                    "filename",
                                    "name",
                                    "line",
                                    "address",
                                    "requested_size",
                                    "state",
                                    "history",
                                    "real_size",
                                    "device",
                                    "total_size",
                                    "allocated_size",
                                    "active_size",
                                    "segment_type",
                                    "segment_pool_id",
                                    "is_expandable",
                                    "blocks",
                                    "stage",
                                    "segments",
                                    "device_traces",
                                    "allocator_settings",
                                    "external_annotations",
                                    "host_segments",
                                    "host_traces",
                                    "memsnap",
                                    "version",
                                    "observations",
                                    "before_entry",
                                    "total_bytes",
                                    "free_bytes",
                                    "tap",
                                    "max_split_size",
                                    "roundup_power2_divisions",
                                    "garbage_collection_threshold",
                                    "expandable_segments"};
constexpr const char* kWords[] = {"alloc",
                                  "free",
                                  "free_requested",
                                  "free_completed",
                                  "segment_alloc",
                                  "segment_map",
                                  "oom",
                                  "snapshot",
                                  "active_allocated",
                                  "active_pending_free",
                                  "inactive",
                                  "small",
                                  "large",
                                  "START",
                                  "END",
                                  "",
                                  "1024",
                                  "x.py"};

class Mutator {
  public:
    explicit Mutator(uint64_t seed) : random_(seed) {}

    std::string make() {
        is_memoising_ = below(2) == 0;
        oddness_ = below(3) == 0 ? 0 : 1 + below(60);
        bytes_ = below(4) == 0 ? "" : "\x80\x04";
        below(8) == 0 ? segments() : whole();
        bytes_ += '.';
        for (uint64_t count = below(3) == 0 ? 0 : below(6); count > 0; --count)
            damage();
        return bytes_;
    }

  private:
    uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
    bool is_odd() { return oddness_ != 0 && below(oddness_ * 8) == 0; }

    void little(uint64_t number, int count) {
        for (int i = 0; i < count; ++i)
            bytes_ += static_cast<char>(number >> (8 * i));
    }
    void integer(uint64_t number) {
        if (number < 256 && below(2) == 0) {
            bytes_ += 'K';
            little(number, 1);
        } else if (number < 65536 && below(2) == 0) {
            bytes_ += 'M';
            little(number, 2);
        } else if (below(8) == 0) {
            bytes_ += (below(2) == 0 ? "L" : "I") + std::to_string(number) + "\n";
        } else {
            bytes_ += "\x8a\x09";
            little(number, 8);
            bytes_ += '\0';
        }
    }
    void text(const std::string& characters) {
        if (below(8) == 0) {
            bytes_ += "V" + characters + "\n";
        } else if (below(8) == 0) {
            bytes_ += "S'" + characters + "'\n";
        } else {
            bytes_ += '\x8c';
            little(characters.size(), 1);
            bytes_ += characters;
        }
        memoise();
    }
    void memoise() {
        if (!is_memoising_ || below(3) == 0) return;
        bytes_ += '\x94';
        ++memo_count_;
    }
    // Anything where something else belongs.
    void odd() {
        switch (below(10)) {
            case 0:
                bytes_ += 'N';
                break;
            case 1:
                bytes_ += "J\xff\xff\xff\xff";
                break;
            case 2:
                integer(random_());
                break;
            case 3:
                bytes_ += std::string("G\x3f\xf8\0\0\0\0\0\0", 9);
                break;
            case 4:
                bytes_ += below(2) == 0 ? "]" : "}";
                break;
            case 5:
                bytes_ += ")";
                break;
            case 6:
                text(kWords[below(std::size(kWords))]);
                break;
            case 7:
                frame();
                break;
            case 8:
                block();
                break;
            default:
                if (memo_count_ == 0) return integer(below(10));
                bytes_ += 'h';
                little(below(std::min<uint64_t>(memo_count_, 256)), 1);
        }
    }
    template <class F>
    void member(const char* name, F&& value) {
        if (is_odd()) return;
        text(is_odd() ? kMembers[below(std::size(kMembers))] : name);
        is_odd() ? odd() : value();
    }
    template <class F>
    void dict(F&& members) {
        const bool is_old = below(8) == 0;
        bytes_ += is_old ? "(" : "}";
        if (!is_old) {
            memoise();
            bytes_ += '(';
        }
        members();
        bytes_ += is_old ? 'd' : 'u';
    }
    template <class F>
    void list(uint64_t count, F&& item) {
        bytes_ += ']';
        memoise();
        bytes_ += '(';
        for (uint64_t at = 0; at < count; ++at)
            is_odd() ? odd() : item();
        bytes_ += 'e';
    }
    void number(const char* name, uint64_t value) {
        member(name, [&] { integer(value); });
    }
    void word(const char* name) {
        member(name, [&] { text(kWords[below(std::size(kWords))]); });
    }
    void frame() {
        dict([&] {
            word("filename");
            word("name");
            number("line", below(100));
        });
    }
    void frames() {
        member("frames", [&] { list(below(4), [&] { frame(); }); });
    }
    void entry() {
        dict([&] {
            member("action", [&] { text(kWords[below(8)]); });
            number(below(8) == 0 ? "device_free" : "addr", below(8) == 0 ? random_() : 512 * below(1000));
            number("size", below(4096));
            number("stream", 0);
            number("time_us", below(1000000));
            word("user_metadata");
            member("pool_id", [&] { bytes_ += std::string("K\0K\1\x86", 5); });
            frames();
        });
    }
    void block() {
        dict([&] {
            if (below(4) != 0) number("address", 512 * below(1000));
            number("size", below(8192));
            number("requested_size", below(8192));
            member("state", [&] { text(kWords[8 + below(3)]); });
            if (below(4) != 0) return frames();
            member("history", [&] {
                list(below(3), [&] {
                    dict([&] {
                        number("real_size", below(100));
                        frames();
                    });
                });
            });
        });
    }
    void segment() {
        dict([&] {
            number("device", below(3));
            number("address", below(16) == 0 ? random_() : 512 * below(1000));
            number("total_size", below(1 << 20));
            number("allocated_size", below(1 << 20));
            number("active_size", below(1 << 20));
            member("segment_type", [&] { text(kWords[11 + below(2)]); });
            member("is_expandable", [&] { bytes_ += below(2) == 0 ? '\x88' : '\x89'; });
            member("blocks", [&] { list(below(4), [&] { block(); }); });
        });
    }
    void segments() {
        list(below(4), [&] { segment(); });
    }
    void whole() {
        dict([&] {
            member("segments", [&] { segments(); });
            member("device_traces", [&] { list(below(3), [&] { list(below(8), [&] { entry(); }); }); });
            if (below(2) == 0) member("host_segments", [&] { segments(); });
            if (below(2) == 0) member("host_traces", [&] { list(below(3), [&] { entry(); }); });
            if (below(2) == 0)
                member("external_annotations", [&] {
                    list(below(3), [&] {
                        dict([&] {
                            word("name");
                            member("stage", [&] { text(kWords[13 + below(2)]); });
                            number("device", below(2));
                            number("time_us", below(100));
                        });
                    });
                });
            if (below(2) == 0)
                member("allocator_settings", [&] {
                    dict([&] {
                        member("max_split_size", [&] { bytes_ += "J\xff\xff\xff\xff"; });
                        member("garbage_collection_threshold",
                               [&] { bytes_ += std::string("G\0\0\0\0\0\0\0\0", 9); });
                        member("roundup_power2_divisions", [&] { dict([&] { number("1", below(8)); }); });
                    });
                });
            if (below(2) == 0)
                member("memsnap", [&] {
                    dict([&] {
                        number("version", 1);
                        member("observations", [&] {
                            list(below(3), [&] {
                                dict([&] {
                                    number("device", 0);
                                    number("before_entry", below(9));
                                    number("total_bytes", 1 << 30);
                                    number("free_bytes", 1 << 20);
                                });
                            });
                        });
                    });
                });
        });
    }

    void damage() {
        const uint64_t at = below(bytes_.size()),
                       length = std::min<uint64_t>(1 + below(40), bytes_.size() - at);
        switch (below(6)) {
            case 0:
                bytes_[at] = static_cast<char>(random_());
                break;
            case 1:
                bytes_.erase(at, length);
                break;
            case 2:
                bytes_.insert(below(bytes_.size()), bytes_.substr(at, length));
                break;
            case 3: {
                constexpr char opcodes[] =
                    "(.012FIJKLMNSTUVXabcdeghijlopqrstu])}GB\x85\x86\x87\x8f\x90\x91\x94\x95\x96\x97";
                bytes_.insert(at, 1, opcodes[below(sizeof opcodes - 1)]);
                break;
            }
            case 4:
                bytes_.resize(at);
                break;
            default:
                bytes_[at] ^= static_cast<char>(1 << below(8));
        }
        if (bytes_.empty()) bytes_ = ".";
    }

    std::mt19937_64 random_;
    std::string bytes_;
    uint64_t memo_count_ = 0;
    uint64_t oddness_ = 0;
    bool is_memoising_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    const uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    for (uint64_t round = 0; round < rounds; ++round) {
        if (round % 1000 == 0)
            std::printf("round %llu of seed %llu\n", static_cast<unsigned long long>(round),
                        static_cast<unsigned long long>(seed));
        std::fflush(stdout);
        const std::string bytes = Mutator(seed << 32 | round).make();
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
}
