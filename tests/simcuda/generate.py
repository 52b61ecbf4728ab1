# SPDX-License-Identifier: Apache-2.0
"""Writes the parts of the simulated CUDA that are lists of names.

The rule: no CUDA name, version or prototype is typed by hand here; they come from the public headers and from the
dynamic symbols of the wheel's own libraries. What `generate.py KIND` prints:

  driver        weak "not supported" functions for every driver entry point, the (name, version, flags) -> symbol
                table behind cuGetProcAddress, and the names of the CUresult codes
  driver_ptsz   the per-thread-default-stream twins of driver functions, forwarding to the plain function
  runtime       weak "not supported" functions for every export of libcudart, and the names of the cudaError codes
  runtime_ptsz  the per-thread-default-stream twins of runtime functions
  blas          weak stand-ins for every cuBLAS and cuBLASLt function that PyTorch's libraries import: work on the
                handle's stream for those that compute, plain successes for those that set, get and describe

A function implemented in C++ is a strong symbol and so replaces its weak stub at link time.
"""

import argparse
import pathlib
import re
import subprocess
import sys

STREAM_SUFFIX = re.compile(r"(.+?)(_pt[sd][sz])$")
VERSION_SUFFIX = re.compile(r"(cu\w+?)(?:_v(\d+))?(_pt[sd][sz])?$")


def preprocess(compiler, includes, header):
    flags = [flag for folder in includes for flag in ("-isystem", folder)]
    command = [*compiler, "-E", "-P", "-x", "c++", "-D__CUDA_API_VERSION_INTERNAL", *flags, "-"]
    done = subprocess.run(command, input=f"#include <{header}>\n", stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def prototypes(text, return_type, prefix):
    found = re.findall(rf"\b{return_type}\s+({prefix}[A-Z]\w+)\s*\(([^;{{}}]*)\)\s*;", text)
    return {name: parameters.strip() for name, parameters in found}


def enumerators(text, enum_tag):
    body = re.search(rf"enum\s+{enum_tag}\s*{{(.*?)}}", text, re.DOTALL)[1]
    return [(name, int(value, 0)) for name, value in re.findall(r"(\w+)\s*=\s*(\d+)", body)]


def split_parameters(parameters):
    """[(declaration, name)], default values dropped."""
    if parameters in ("", "void"):
        return []
    result = []
    for parameter in parameters.split(","):
        declaration = parameter.split("=")[0].strip()
        result.append((declaration, re.search(r"(\w+)\s*(?:\[\w*\])?$", declaration)[1]))
    return result


def print_stubs(names, result):
    for name in sorted(names):
        print(f'extern "C" __attribute__((weak)) int {name}() {{ return {result(name)}; }}')


def print_error_names(table, pairs):
    print(f"extern const ErrorName {table}[] = {{")
    for name, value in pairs:
        print(f'    {{{value}, "{name}"}},')
    print("    {-1, nullptr},\n};")


def typedef_versions(text):
    """{(base name, suffix): [version, ...]} from the PFN_<name>_v<version><suffix> typedefs."""
    versions = {}
    for name, version, suffix in re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_pt[sd][sz])?\)", text):
        versions.setdefault((name, suffix), set()).add(int(version))
    return {key: sorted(found) for key, found in versions.items()}


def symbols_by_base(names):
    """{(base name, suffix): [symbol, ...]}, oldest ABI first."""
    symbols = {}
    for name in names:
        base, abi, suffix = VERSION_SUFFIX.match(name).groups()
        symbols.setdefault((base, suffix or ""), []).append((int(abi or 1), name))
    return {key: [name for _, name in sorted(found)] for key, found in symbols.items()}


def driver(arguments):
    text = preprocess(arguments.compiler, arguments.include, "cudaTypedefs.h")
    raw_typedefs = next(
        path for folder in arguments.include if (path := pathlib.Path(folder, "cudaTypedefs.h")).exists()
    ).read_text()
    names = prototypes(text, "CUresult", "cu")
    print('#include "stub.h"\nusing namespace simcuda;')
    print_stubs(names, lambda name: f'unsupported("{name}")')
    print("namespace simcuda {\nconst EntryPoint kEntryPoints[] = {")
    symbols = symbols_by_base(names)
    for (base, suffix), versions in sorted(typedef_versions(raw_typedefs).items()):
        if len(symbols[base, suffix]) != len(versions):
            sys.exit(f"{base}{suffix}: {versions} do not pair with {symbols[base, suffix]}")
        for version, symbol in zip(versions, symbols[base, suffix]):
            per_thread = "true" if suffix else "false"
            print(f'    {{"{base}", {version}, {per_thread}, reinterpret_cast<AnyFunction>(&{symbol})}},')
    print("    {nullptr, 0, false, nullptr},\n};")
    print_error_names("kDriverErrorNames", enumerators(text, "cudaError_enum"))
    print("}  // namespace simcuda")


def per_thread_twins(arguments, header, return_type, prefix, per_thread_stream):
    text = preprocess(arguments.compiler, arguments.include, header)
    declared = prototypes(text, return_type, prefix)
    print(f"#include <{header}>")
    for name, parameters in sorted(declared.items()):
        twin = STREAM_SUFFIX.match(name)
        if not twin or twin[1] not in declared or name in arguments.except_name:
            continue
        pieces = split_parameters(parameters)
        passed = [
            f"{one} == nullptr ? {per_thread_stream} : {one}" if re.match(r"(CUstream|cudaStream_t)\s", text) else one
            for text, one in pieces
        ]
        print(f'extern "C" {return_type} {name}({", ".join(text for text, _ in pieces) or "void"}) {{')
        print(f'    return {twin[1]}({", ".join(passed)});\n}}')


def driver_ptsz(arguments):
    per_thread_twins(arguments, "cuda.h", "CUresult", "cu", "CU_STREAM_PER_THREAD")


def runtime_ptsz(arguments):
    per_thread_twins(arguments, "cuda_runtime_api.h", "cudaError_t", "cuda", "cudaStreamPerThread")


def dynamic_symbols(path, selection):
    done = subprocess.run(["nm", "-D", selection, path], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def find_library(folders, name):
    for folder in folders:
        if pathlib.Path(folder, name).exists():
            return pathlib.Path(folder, name)
    sys.exit(f"{name} is in none of {folders}")


def runtime(arguments):
    text = preprocess(arguments.compiler, arguments.include, "cuda_runtime_api.h")
    exported = dynamic_symbols(find_library(arguments.library, "libcudart.so.13"), "--defined-only")
    names = {name for name in exported if re.match(r"(__)?cuda[A-Z]", name)}
    print('#include "stub.h"\nusing namespace simcuda;')
    print_stubs(names, lambda name: f'unsupported("{name}")')
    print("namespace simcuda {")
    print_error_names("kRuntimeErrorNames", enumerators(text, "cudaError"))
    print("}  // namespace simcuda")


def blas(arguments):
    imported = set()
    for name in ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_python.so"):
        imported |= dynamic_symbols(find_library(arguments.library, name), "--undefined-only")
    print('extern "C" int simblas_compute(void* handle);')
    for name in sorted(name for name in imported if re.match(r"cublas[A-Z]", name)):
        computes = not re.match(r"cublas(Lt|Set|Get|Create|Destroy)", name)
        parameter, result = ("void* handle", "simblas_compute(handle)") if computes else ("", "0")
        print(f'extern "C" __attribute__((weak)) int {name}({parameter}) {{ return {result}; }}')


KINDS = {kind.__name__: kind for kind in (driver, driver_ptsz, runtime, runtime_ptsz, blas)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--compiler", nargs="+", default=["c++"])
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--except-name", action="append", default=[])
    arguments = parser.parse_args()
    print("// Generated by generate.py from public headers and symbol tables; do not edit.")
    KINDS[arguments.kind](arguments)


main()
