// SPDX-License-Identifier: Apache-2.0
// What the generated files share with the code written by hand: names that are not simulated, and lookup
// tables. Rule: a name that is not simulated answers "not supported" (801) and never pretends to have worked.
#pragma once

namespace simcuda {

using AnyFunction = void (*)();

struct ErrorName {
    int code;
    const char* name;
};

struct EntryPoint {
    const char* base_name;
    int since_version;
    bool per_thread_stream;
    AnyFunction symbol;
};

inline constexpr int kNotSupported = 801;

// Says once per name, on stderr with SIMCUDA_VERBOSE=1, that a name was called; returns kNotSupported.
int unsupported(const char* name);

// The name of a code in a generated table that ends with a null name, or null.
const char* find_error_name(const ErrorName* table, int code);

// The sentence for a code, the same numbers in driver and runtime; null when this simulation has none.
const char* describe_error(int code);

extern const EntryPoint kEntryPoints[];
extern const ErrorName kDriverErrorNames[];
extern const ErrorName kRuntimeErrorNames[];

}  // namespace simcuda
