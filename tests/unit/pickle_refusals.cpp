// SPDX-License-Identifier: Apache-2.0
//
// What no pickle of data has: refused by name and place, before anything is done.
#include <string>

#include "catch.h"
#include "pickle_text.h"

using namespace memsnap::test;
using namespace std::string_literals;

namespace {

std::string read(std::string_view bytes) {
    return PickleText::of(bytes);
}

}  // namespace

TEST_CASE("every opcode that would call or import is refused with its name, its place and its deed") {
    const auto refused = [](const std::string& bytes, size_t offset, const std::string& rest) {
        CHECK(read(bytes) == "error " + std::to_string(offset) + ": the opcode " + rest);
    };
    refused("cposix\nsystem\n.", 0, "GLOBAL is refused: it would have imported posix.system");
    refused("N0c\x1b[2J\nsystem\n.", 2, "GLOBAL is refused: it would have imported \\x1b[2J.system");
    refused("iposix\nsystem\n.", 0, "INST is refused: it would have imported and called posix.system");
    refused("\x8c\x02os\x8c\x06system\x93.", 12, "STACK_GLOBAL is refused: it would have imported os.system");
    refused("\x93.", 0, "STACK_GLOBAL is refused: it would have imported");
    refused("N)R.", 2, "REDUCE is refused: it would have called a function");
    refused("N}b.", 2, "BUILD is refused: it would have set the state of an object");
    refused("(No.", 2, "OBJ is refused: it would have called a class");
    refused("N)\x81.", 2, "NEWOBJ is refused: it would have called a class");
    refused("N)}\x92.", 3, "NEWOBJ_EX is refused: it would have called a class");
    refused("Pabc\n.", 0, "PERSID is refused: it would have asked the program for an object");
    refused("NQ.", 1, "BINPERSID is refused: it would have asked the program for an object");
    refused("\x82\x01.", 0, "EXT1 is refused: it would have imported a registered name");
    refused("\x83\x01\x01.", 0, "EXT2 is refused: it would have imported a registered name");
    refused("\x84\x01\x01\x01\x01.", 0, "EXT4 is refused: it would have imported a registered name");
    refused("\x97.", 0, "NEXT_BUFFER is refused: it would have taken a buffer from outside the file");
    refused("N\x98.", 1, "READONLY_BUFFER is refused: it would have changed a buffer");
}

TEST_CASE("a byte that is no opcode, and a protocol that is none, are refused") {
    CHECK(read("N0z.") == "error 2: the byte 0x7a is no opcode");
    CHECK(read("\xff.") == "error 0: the byte 0xff is no opcode");
    CHECK(read("\x80\x06N.") == "error 0: pickle protocol 6 is not known");
}

TEST_CASE("a file that ends too early is refused where it ends") {
    CHECK(read("") == "error 0: the pickle has no end: the file ends before its STOP");
    CHECK(read("N") == "error 1: the pickle has no end: the file ends before its STOP");
    CHECK(read("NJ\x01\x02") == "error 1: BININT needs more bytes than the file has left");
    CHECK(read("V12345") == "error 0: UNICODE needs more bytes than the file has left");
    CHECK(read("cposix") == "error 0: GLOBAL needs more bytes than the file has left");
}

TEST_CASE("a length that the file has not is refused before anything is made of that length") {
    CHECK(read("X\xff\xff\xff\x7f"
               "abc.") == "error 0: BINUNICODE needs more bytes than the file has left");
    CHECK(read("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
               "abc.") == "error 0: BINUNICODE8 needs more bytes than the file has left");
    CHECK(read("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.") ==
          "error 0: BINBYTES8 needs more bytes than the file has left");
    CHECK(read("\x8b\xff\xff\xff\xff.") == "error 0: LONG4 needs more bytes than the file has left");
    CHECK(read("\x95\xff\x00\x00\x00\x00\x00\x00\x00N."s) ==
          "error 0: FRAME needs more bytes than the file has left");
}

TEST_CASE("an opcode that needs what is not on the stack is refused") {
    CHECK(read(".") == "error 0: STOP needs a value that is not there");
    CHECK(read("N(.") == "error 2: STOP needs a value that is not there");
    CHECK(read("0.") == "error 0: POP needs a MARK that is not there");
    CHECK(read("1.") == "error 0: POP_MARK needs a MARK that is not there");
    CHECK(read("2.") == "error 0: DUP needs a value that is not there");
    CHECK(read("]a.") == "error 1: APPEND needs a value that is not there");
    CHECK(read("](K\x01"
               "a.") == "error 4: APPEND needs a value that is not there");
    CHECK(read("}Ns.") == "error 2: SETITEM needs a value that is not there");
    CHECK(read("(e.") == "error 1: APPENDS has nothing to fill");
    CHECK(read("]K\x01"
               "e.") == "error 3: APPENDS needs a MARK that is not there");
    CHECK(read("N\x86.") == "error 1: TUPLE2 needs a value that is not there");
    CHECK(read("q\x01.") == "error 0: BINPUT needs a value that is not there");
    CHECK(read("N(\x90.") == "error 2: ADDITEMS to what is no set");
    CHECK(read("}(Nu.") == "error 3: SETITEMS with a key alone");
    CHECK(read("(Nd.") == "error 2: DICT with a key alone");
}

TEST_CASE("filling what is no container of the kind is refused") {
    CHECK(read("NNa.") == "error 2: APPEND fills what is no list, or one that is complete");
    CHECK(read("}Na.") == "error 2: APPEND fills what is no list");
    CHECK(read("]NNs.") == "error 3: SETITEM fills what is no dictionary");
    CHECK(read("(Nt(Ne.") == "error 5: APPENDS fills what is no list, or one that is complete");
}

TEST_CASE("a container that would hold itself is refused, directly and through others") {
    CHECK(read("]q\x01h\x01"
               "a.") == "error 5: APPEND puts a list into itself");
    CHECK(read("]2a.") == "error 2: APPEND puts a list into itself");
    CHECK(read("}q\x01U\x01"
               "kh\x01s.") == "error 8: SETITEM puts a dictionary into itself");
    CHECK(read("]q\x01]h\x01"
               "aa.") == "error 7: APPEND fills what is no list, or one that is complete");
    CHECK(read("]q\x01(h\x01ta.") == "error 7: APPEND fills what is no list, or one that is complete");
}

TEST_CASE("filling a container after another one took it is refused") {
    CHECK(read("]q\x01"
               "0]h\x01"
               "a0h\x01Na.") == "error 12: APPEND fills what is no list, or one that is complete");
}

TEST_CASE("numbers and texts that are spelled wrong are refused") {
    CHECK(read("Iabc\n.") == "error 0: INT without a number");
    CHECK(read("I\n.") == "error 0: INT without a number");
    CHECK(read("I1 2\n.") == "error 0: INT without a number");
    CHECK(read("L--5L\n.") == "error 0: LONG without a number");
    CHECK(read("Fone\n.") == "error 0: FLOAT without a number");
    CHECK(read("Sabc\n.") == "error 0: STRING that is spelled wrong");
    CHECK(read("S'\n.") == "error 0: STRING that is spelled wrong");
    CHECK(read("S'\\x4'\n.") == "error 0: STRING that is spelled wrong");
    CHECK(read("V\\u12\n.") == "error 0: UNICODE that is spelled wrong");
    CHECK(read("V\\Uffffffff\n.") == "error 0: UNICODE that is spelled wrong");
}

TEST_CASE("the memo gives nothing that was not put there, and takes no number that no writer counts to") {
    CHECK(read("h\x01.") == "error 0: BINGET of 1, which nothing was put under");
    CHECK(read("Nq\x05h\x03.") == "error 3: BINGET of 3, which nothing was put under");
    CHECK(read("gx\n.") == "error 0: GET without a number");
    CHECK(read("Np-1\n.") == "error 1: PUT without a number");
    CHECK(read("Nr\xff\xff\xff\xff.") == "error 1: LONG_BINPUT under 4294967295 after 0 others");
    CHECK(read("Np18446744073709551615\n.") == "error 1: PUT without a number");
    CHECK(read("Np9000000000000000000\n.") == "error 1: PUT under 9000000000000000000 after 0 others");
}

TEST_CASE("marks within marks are bounded") {
    CHECK(read(std::string(1000, '(') + "N.") == "None");
    CHECK(read(std::string(5000, '(') + "N.") ==
          "error 1000: containers within containers, more than 1000 deep");
}
