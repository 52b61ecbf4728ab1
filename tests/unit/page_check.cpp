// SPDX-License-Identifier: Apache-2.0
//
// The check of a page: what it finds when a part is not what was put in, and what no page without names may
// hold.
#include "page_check.h"

#include "named_recording.h"

using namespace memsnap;
using namespace memsnap::test;

namespace {

struct Made {
    std::string text;
    std::vector<MeantPart> meant;

    void add(const std::string& name, const std::string& content) {
        text += page_part(name, PageSide::only, content);
        MeantPart& part = meant.emplace_back();
        part.name = name;
        part.bytes = content.size();
        part.text = content;
    }
    std::string problem(bool with_names = false) const { return problem_of_page(text, meant, with_names); }
};

std::string with_text(const std::string& text) {
    return "{\"notes\":[\"" + text + "\"]}";
}

// As tests/unit/receipt_leaks.cpp plants them.
constexpr std::string_view kLeaks[] = {"/home/alice/train.py",
                                       "train.py",
                                       "C:\\\\run\\\\x",
                                       "gpu-node-17.example.com",
                                       "alice@example.com",
                                       "req-550e8400-e29b-41d4-a716-446655440000",
                                       "0x7f3a5c000000",
                                       "7f3a5c000000",
                                       "model.layers.0.weight",
                                       "my_function",
                                       "train.py:12",
                                       "a\\nb",
                                       "site-0123456789ABCDEF",
                                       "user-0123456789abcdef",
                                       "QWEN2_7B",
                                       "训练模型",
                                       "проект"};

}  // namespace

TEST_CASE("a name in any text of a page without names is found") {
    for (const std::string_view leak : kLeaks) {
        for (const std::string& around : {std::string(leak), "in step 4: " + std::string(leak),
                                          "(" + std::string(leak) + "), in forward"}) {
            Made page;
            page.add("outline", with_text(around));
            INFO(around);
            CHECK(page.problem().find("outline") == 0);
            CHECK(page.problem(true).empty());
        }
    }
}

TEST_CASE("sentences of closed words, numbers and tokens may be in a page without names") {
    for (const std::string_view text :
         {"in step 39: PyTorch asked for 64.00 MiB",
          "fragmentation: 0.66 GiB were free, the largest usable hole was 46.00 MiB",
          "cudaMalloc on cuda:0, 12,053 events", "site-0123456789abcdef, in phase-0123456789abcdef", "0.1.0",
          "--device", "margin −0.10 GiB ≥ τ", ""}) {
        INFO(text);
        CHECK(is_page_text(text));
    }
}

TEST_CASE("among the names of a page without names is no text but tokens and words of closed lists") {
    const auto problem = [](const std::string& names) {
        Made page;
        page.add("names", names);
        CHECK(page.problem(true).empty());
        return page.problem();
    };
    CHECK(
        problem("{\"sites\":[{\"site\":1,\"token\":\"site-0123456789abcdef\",\"frames\":[0]},"
                "{\"site\":2,\"size_bytes\":\"9007199254740993\"}],"
                "\"frames\":[{\"token\":\"frame-0123456789abcdef\"}],"
                "\"phases\":[{\"phase\":1,\"token\":\"phase-0123456789abcdef\",\"word\":\"forward\"},"
                "{\"phase\":2,\"token\":\"phase-0123456789abcdee\",\"word\":null}],"
                "\"libraries\":[{\"library\":1,\"token\":\"library-0123456789abcdef\",\"role\":\"torch\"}]}")
            .empty());
    for (const std::string entry :
         {"\"name\":\"alice\"", "\"label\":\"secret forward\"", "\"function\":\"Net\"", "\"file\":\"model\"",
          "\"line\":12", "\"native\":false", "\"word\":\"alice\"", "\"role\":\"Net\"", "\"token\":\"Net\"",
          "\"token\":\"forward\"", "\"token\":139637976727552", "\"frames\":[\"Net\"]", "\"site\":\"Net\""}) {
        INFO(entry);
        CHECK(problem("{\"sites\":[{" + entry + "}]}").contains(" may be a name"));
    }
    CHECK_FALSE(problem("{\"sites\":\"Net\"}").empty());
    CHECK_FALSE(problem("{\"sites\":[\"Net\"]}").empty());
    CHECK_FALSE(problem("\"Net\"").empty());
}

TEST_CASE("sentences are in two members of the outline alone") {
    for (const std::string name : {"headline", "notes"}) {
        Made page;
        page.add("outline", "{\"" + name + "\":[\"of the device\"]}");
        CHECK(page.problem().empty());
    }
    Made page;
    page.add("outline", "{\"file\":\"secret\"}");
    CHECK(page.problem().find("outline: a text that may be a name") == 0);
}

TEST_CASE("a receipt of any page holds no names and is one that an export would be") {
    NamedRecording named(retaining(), two_functions);
    for (const bool with_names : {false, true}) {
        Made page;
        page.add("receipt", named.receipt({}, with_names));
        CHECK(page.problem().empty() == !with_names);
        CHECK(page.problem(true).empty() == !with_names);
    }
    Made other;
    other.add("receipt", "{\"schema\":\"alice\"}");
    CHECK_FALSE(other.problem().empty());
}

TEST_CASE("a part of the other side is found") {
    Made page;
    page.add("outline", "{}");
    page.meant[0].side = PageSide::after;
    CHECK(page.problem() == "the part outline is missing");
}

TEST_CASE("a part that is missing, doubled, changed or cut is found") {
    Made page;
    page.add("outline", "{}");
    page.add("names", "{\"sites\":[]}");
    CHECK(page.problem().empty());

    Made other = page;
    other.meant[1].text = "{\"sites\":[0]}";
    other.meant[1].bytes = other.meant[1].text.size();
    CHECK_FALSE(other.problem().empty());

    Made cut = page;
    cut.text.resize(cut.text.size() / 2);
    CHECK(cut.problem() == "the part names is missing");

    Made more = page;
    more.text += page_part("names", PageSide::only, "{}");
    CHECK(more.problem() == "a part more than was written");

    Made damaged = page;
    const size_t at = damaged.text.find("\">") + 8;
    damaged.text[at] = damaged.text[at] == 'A' ? 'B' : 'A';
    CHECK_FALSE(damaged.problem().empty());
}

TEST_CASE("numbers that differ from what was put into a table are found") {
    const PageColumn columns[] = {{"x", Coding::delta}};
    const auto made = [&](int second) {
        PageTable table(columns, {});
        for (const int value : {1, second}) {
            const PageCell cells[] = {value};
            table.add({}, cells);
        }
        return table;
    };
    PageTable table = made(2), other = made(3);
    const PageColumn renamed[] = {{"y", Coding::delta}};
    Made page;
    page.add("events", table.finish());
    page.meant[0].text.clear();
    page.meant[0].row_count = 2;
    page.meant[0].columns = table.columns();
    page.meant[0].sums = table.sums();
    CHECK(page.problem().empty());
    page.meant[0].columns = PageTable(renamed, {}).columns();
    CHECK(page.problem() == "events: other columns");
    page.meant[0].columns = table.columns();
    other.finish();
    page.meant[0].sums = other.sums();
    CHECK(page.problem() == "events: column 1 holds other numbers");
}

TEST_CASE("a part is found again with its side, and holds no more than it may") {
    const std::string text = page_part("events", PageSide::after, "content");
    size_t at = 0;
    const auto part = next_part(text, at);
    REQUIRE(part);
    CHECK(part->name == "events");
    CHECK(part->side == "after");
    CHECK(unpacked(part->base64, 7) == "content");
    CHECK_FALSE(unpacked(part->base64, 6));
    CHECK_FALSE(unpacked("not base64!", 100));
    CHECK_FALSE(next_part(text, at));
}
