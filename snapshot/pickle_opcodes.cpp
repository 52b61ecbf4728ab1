// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of protocols 0 to 5, as CPython's pickletools names them.
#include "pickle_opcodes.h"

#include <fmt/format.h>

namespace memsnap::snapshot {

namespace {

struct Opcode {
    uint8_t byte;
    const char* name;
    const char* deed = nullptr;
};

constexpr Opcode kOpcodes[] = {
    {'(', "MARK"},
    {'.', "STOP"},
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'J', "BININT"},
    {'K', "BININT1"},
    {'L', "LONG"},
    {'M', "BININT2"},
    {'N', "NONE"},
    {'P', "PERSID", "asked the program for an object"},
    {'Q', "BINPERSID", "asked the program for an object"},
    {'R', "REDUCE", "called a function"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},
    {'X', "BINUNICODE"},
    {'a', "APPEND"},
    {'b', "BUILD", "set the state of an object"},
    {'c', "GLOBAL", "imported"},
    {'d', "DICT"},
    {'}', "EMPTY_DICT"},
    {'e', "APPENDS"},
    {'g', "GET"},
    {'h', "BINGET"},
    {'i', "INST", "imported and called"},
    {'j', "LONG_BINGET"},
    {'l', "LIST"},
    {']', "EMPTY_LIST"},
    {'o', "OBJ", "called a class"},
    {'p', "PUT"},
    {'q', "BINPUT"},
    {'r', "LONG_BINPUT"},
    {'s', "SETITEM"},
    {'t', "TUPLE"},
    {')', "EMPTY_TUPLE"},
    {'u', "SETITEMS"},
    {'G', "BINFLOAT"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {0x80, "PROTO"},
    {0x81, "NEWOBJ", "called a class"},
    {0x82, "EXT1", "imported a registered name"},
    {0x83, "EXT2", "imported a registered name"},
    {0x84, "EXT4", "imported a registered name"},
    {0x85, "TUPLE1"},
    {0x86, "TUPLE2"},
    {0x87, "TUPLE3"},
    {0x88, "NEWTRUE"},
    {0x89, "NEWFALSE"},
    {0x8a, "LONG1"},
    {0x8b, "LONG4"},
    {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},
    {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX", "called a class"},
    {0x93, "STACK_GLOBAL", "imported"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER", "taken a buffer from outside the file"},
    {0x98, "READONLY_BUFFER", "changed a buffer"},
};

const Opcode* find(uint8_t byte) {
    for (const Opcode& opcode : kOpcodes)
        if (opcode.byte == byte) return &opcode;
    return nullptr;
}

}  // namespace

std::string opcode_name(uint8_t opcode) {
    const Opcode* const known = find(opcode);
    return known != nullptr ? known->name : fmt::format("0x{:02x}", opcode);
}

const char* refused_deed(uint8_t opcode) {
    const Opcode* const known = find(opcode);
    return known != nullptr ? known->deed : nullptr;
}

}  // namespace memsnap::snapshot
