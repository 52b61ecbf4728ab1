// SPDX-License-Identifier: Apache-2.0
//
// Frames with names, the label of a site, and the text that its token is made of.
#include "site_names.h"

#include "sidecar_fixture.h"
#include "site_label.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

using namespace std::string_literals;

constexpr size_t kWide = 100;
const std::string kTorch = "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py";

struct Sites {
    Named named;
    Names names;
    std::optional<SiteNames> sites;

    explicit Sites(void (*write)(SidecarWriter&)) {
        write(named.sidecar);
        names = named.names();
        REQUIRE(names.problem.empty());
        sites.emplace(names);
    }
    std::string label(uint64_t token, size_t columns_most = kWide) {
        return site_label(*sites, token, columns_most);
    }
};

// A model's forward called by a loop, through PyTorch.
void training(SidecarWriter& s) {
    add_function(s, 1, 90, kTorch, "Linear.forward");
    add_function(s, 2, 10, "/home/someone/model.py", "Net.forward");
    add_function(s, 3, 200, kTorch, "Module._call_impl");
    add_function(s, 4, 30, "/home/someone/train.py", "main.<locals>.step");
    s.stack(7, {frame_at(1, 2), frame_at(2, 5), frame_at(3, 1), frame_at(4, 8)});
    s.stack(8, {frame_at(2, 5)});
    s.stack(9, {frame_at(1, 2), frame_at(3, 1)});
    s.stack(10, {frame_at(99, 2), frame_at(3, 1)});
    s.stack(11, {});
    add_function(s, 5, 60, "/home/someone/model.py", "Net.loss");
    s.stack(12, {frame_at(2, 5), frame_at(5, 2)});
}

SiteFrame native(std::string function, std::string file = "libtorch_cpu.so") {
    SiteFrame frame;
    frame.native = frame.known = true;
    frame.function = std::move(function);
    frame.file = std::move(file);
    frame.offset_bytes = 0x1234;
    return frame;
}

}  // namespace

TEST_CASE("a frame has its function, its file and the line of its instruction") {
    Sites sites(training);
    const SiteFrames frames = sites.sites->all(7);
    REQUIRE(frames.size() == 4);
    CHECK(frames[1].function == "Net.forward");
    CHECK(frames[1].file == "/home/someone/model.py");
    CHECK(frames[1].line == 15U);
    CHECK(!frames[1].native);
    CHECK(sites.sites->all(12345).empty());
}

TEST_CASE("the label of a site begins with the user's own innermost frame, then its caller") {
    Sites sites(training);
    CHECK(sites.label(7) == "Net.forward (model.py:15) via Linear.forward < step (train.py:38)");
    CHECK(sites.label(7, 60) == "Net.forward (model.py:15) < step (train.py:38)");
    CHECK(sites.label(7, 43) == "Net.forward (model.py:15)");
    CHECK(sites.label(7, 44) == "Net.forward (model.py:15) via Linear.forward");
    CHECK(sites.label(7, 22) == "Net.fo.. (model.py:15)");
    CHECK(sites.label(7, 10).size() == 10);
    CHECK(sites.label(8) == "Net.forward (model.py:15)");
    CHECK(sites.label(12) == "Net.forward (model.py:15) < Net.loss (model.py:62)");
    CHECK(sites.label(12, 48) == "Net.forward (model.py:15) < Net.loss:62");
}

TEST_CASE("a folder is not a library because it is called torch") {
    Sites sites([](SidecarWriter& s) {
        add_function(s, 1, 90, kTorch, "Linear.forward");
        add_function(s, 2, 10, "/home/someone/torch/train.py", "main");
        s.stack(7, {frame_at(1, 2), frame_at(2, 5)});
    });
    CHECK(sites.label(7) == "main (train.py:15) via Linear.forward");
}

TEST_CASE("a site without a frame of the user's shows the innermost one; an unknown one nothing") {
    Sites sites(training);
    CHECK(sites.label(9) == "Linear.forward (linear.py:92)");
    CHECK(sites.label(10).empty());
    CHECK(sites.label(11).empty());
    CHECK(sites.label(12345).empty());
}

TEST_CASE("what a name holds cannot reach the terminal") {
    Sites sites([](SidecarWriter& s) {
        add_function(s, 1, 1, "/tmp/\x1b[31m.py", "f\n\xff");
        s.stack(7, {frame_at(1, 0)});
    });
    CHECK(sites.label(7) == "f\\x0a\\xff (\\x1b[31m.py:1)");
}

TEST_CASE("a code object without a line table has no line") {
    Sites sites([](SidecarWriter& s) {
        const std::vector<std::byte> none = {std::byte{0}};
        s.code(1, 3, kPython312, "a.py", "f", none);
        s.stack(7, {frame_at(1, 2)});
    });
    CHECK(sites.label(7) == "f (a.py)");
    CHECK(site_text(sites.sites->all(7)) == "a.py\0f\0\0"s);
}

TEST_CASE("the text of a site holds no folder of one machine and no line of the whole file") {
    Sites sites(training);
    CHECK(site_text(sites.sites->all(7)) ==
          "torch/nn/modules/linear.py\0Linear.forward\0002\0"
          "model.py\0Net.forward\0005\0"
          "torch/nn/modules/linear.py\0Module._call_impl\0001\0"
          "train.py\0main.<locals>.step\0008\0"s);
    CHECK(site_text(sites.sites->all(10)) == std::nullopt);
    CHECK(site_text(sites.sites->all(11)) == std::nullopt);
}

TEST_CASE("a file counts from behind the last folder of packages or of the interpreter") {
    const auto text = [](std::string file) {
        SiteFrame frame;
        frame.known = true;
        frame.file = std::move(file);
        const std::string whole = *frame_text(frame);
        return whole.substr(0, whole.find('\0'));
    };
    CHECK(text("/usr/lib/python3.11/json/decoder.py") == "json/decoder.py");
    CHECK(text("/v/lib/python3.11/site-packages/a/b.py") == "a/b.py");
    CHECK(text("/usr/lib/python3/dist-packages/a.py") == "a.py");
    CHECK(text("/v/site-packages/x/lib/python3.9/y/z.py") == "y/z.py");
    CHECK(text("/lib/pythonic/a/b.py") == "b.py");
    CHECK(text("b.py") == "b.py");
    CHECK(text("<string>") == "<string>");
}

TEST_CASE("a native frame is a function with its object, or a place in it") {
    CHECK(frame_label(native("at::empty(c10::ArrayRef<long>, int)")) == "at::empty (libtorch_cpu.so)");
    CHECK(frame_label(native("void run<int (*)(char)>(int)")) == "run (libtorch_cpu.so)");
    CHECK(frame_label(native("(anonymous namespace)::f(int)")) ==
          "(anonymous namespace)::f (libtorch_cpu.so)");
    CHECK(frame_label(native("C::operator()(int) const")) == "C::operator() (libtorch_cpu.so)");
    CHECK(frame_label(native("void* operator new(unsigned long)")) == "operator new (libtorch_cpu.so)");
    CHECK(frame_label(native("")) == "libtorch_cpu.so+0x1234");
    SiteFrame unknown;
    unknown.native = true;
    CHECK(frame_label(unknown) == "?");
    CHECK(*frame_text(native("f")) == "libtorch_cpu.so\0f"s);
    CHECK(frame_text(unknown) == std::nullopt);
}

TEST_CASE("frames of the interpreter are passed over like those of a library") {
    for (const char* interpreter : {"libpython3.11.so.1.0", "python3.12", "python3"}) {
        const SiteFrames frames = {native("c10::alloc()", "libc10_cuda.so"),
                                   native("at::_ops::mm::call(int)"), native("cfunction_call", interpreter)};
        CHECK(frames_label(frames, kWide) == "mm (PyTorch)");
    }
    CHECK(frames_label({native("cfunction_call", "libpython3.11.so.1.0"), native("run", "libmine.so")},
                       kWide) == "run (libmine.so)");
    CHECK(frames_label({native("main", "pythonic")}, kWide) == "main (pythonic)");
}

TEST_CASE("a name keeps its letters in UTF-8") {
    Sites sites([](SidecarWriter& s) {
        add_function(s, 1, 1, "/tmp/mod\xc3\xa8le.py",
                     "cr\xc3\xa9"
                     "er\x1b");
        s.stack(7, {frame_at(1, 0)});
    });
    CHECK(site_label(*sites.sites, 7, kWide, Letters::utf8) == "créer\\x1b (modèle.py:1)");
    CHECK(site_label(*sites.sites, 7, 20, Letters::utf8) == "crée.. (modèle.py:1)");
    CHECK(site_label(*sites.sites, 7, kWide) == "cr\\xc3\\xa9er\\x1b (mod\\xc3\\xa8le.py:1)");
}

TEST_CASE("where there is no Python frame the operator of the backward pass is the site") {
    const SiteFrames backward = {
        native("c10::alloc(unsigned long)", "libc10_cuda.so"), native("at::empty(int)"),
        native("torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor, "
               "std::allocator<at::Tensor> >&&)"),
        native("torch::autograd::Node::operator()(int)"), native("start_thread", "libc.so.6")};
    CHECK(frames_label(backward, kWide) == "MulBackward0 (autograd)");
    CHECK(frames_label(backward, 20).size() <= 20);
    const SiteFrames reduction = {native("at::_ops::sum::redispatch(int)"),
                                  native("at::_ops::sum::call(int)"), native("at::_ops::_sum_to::call(int)"),
                                  native("torch::autograd::Engine::evaluate_function(int)"),
                                  native("", "libstdc++.so.6")};
    CHECK(frames_label(reduction, kWide) == "_sum_to (autograd)");
}

TEST_CASE("a native site is the innermost function outside PyTorch's own libraries") {
    CHECK(frames_label({native("c10::alloc()", "libc10_cuda.so"), native("at::empty()"),
                        native("my::buffer(int)", "libmine.so")},
                       kWide) == "my::buffer (libmine.so)");
    CHECK(frames_label({native("c10::alloc()", "libc10_cuda.so"), native("at::_ops::mm::call(int)"),
                        native("start_thread", "libc.so.6")},
                       kWide) == "mm (PyTorch)");
    CHECK(frames_label({native("c10::alloc()", "libc10_cuda.so"), native("", "libstdc++.so.6")}, kWide) ==
          "c10::alloc (libc10_cuda.so)");
    CHECK(frames_label({native("", "libmine.so")}, kWide) == "libmine.so+0x1234");
}
