// SPDX-License-Identifier: Apache-2.0
// A second process of a session, told what to do line by line on standard input; one answer a line.
// Rule: an answer is a result code, then what the call gave. Commands: alloc BYTES, free ADDRESS, export
// ADDRESS, open HEX, close ADDRESS, import FD, release HANDLE, exec (start this program anew in the same
// process; the new one answers, so that no command is lost in the old one's buffer).
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <map>
#include <string>

namespace {

void answer(int result, unsigned long long value) {
    std::cout << result << ' ' << value << std::endl;
}

unsigned long long number(const std::string& text) {
    return std::stoull(text);
}
void* pointer(const std::string& text) {
    return reinterpret_cast<void*>(number(text));
}

std::string to_hex(const cudaIpcMemHandle_t& handle) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const char raw : handle.reserved) {
        const auto byte = static_cast<unsigned char>(raw);
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

cudaIpcMemHandle_t from_hex(const std::string& text) {
    cudaIpcMemHandle_t handle{};
    for (size_t index = 0; index < sizeof handle.reserved; ++index) {
        handle.reserved[index] = static_cast<char>(std::stoi(text.substr(2 * index, 2), nullptr, 16));
    }
    return handle;
}

void allocate(const std::string& text) {
    void* result = nullptr;
    const cudaError_t error = cudaMalloc(&result, number(text));
    answer(error, reinterpret_cast<unsigned long long>(result));
}

void export_handle(const std::string& text) {
    cudaIpcMemHandle_t handle{};
    const cudaError_t error = cudaIpcGetMemHandle(&handle, pointer(text));
    std::cout << error << ' ' << to_hex(handle) << std::endl;
}

void open_handle(const std::string& text) {
    void* result = nullptr;
    const cudaError_t error = cudaIpcOpenMemHandle(&result, from_hex(text), cudaIpcMemLazyEnablePeerAccess);
    answer(error, reinterpret_cast<unsigned long long>(result));
}

void import_memory(const std::string& text) {
    cudaFree(nullptr);
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result =
        cuMemImportFromShareableHandle(&handle, pointer(text), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    answer(result, handle);
}

const std::map<std::string, void (*)(const std::string&)> kCommands = {
    {"alloc", allocate},
    {"free", [](const std::string& text) { answer(cudaFree(pointer(text)), 0); }},
    {"export", export_handle},
    {"open", open_handle},
    {"close", [](const std::string& text) { answer(cudaIpcCloseMemHandle(pointer(text)), 0); }},
    {"import", import_memory},
    {"release", [](const std::string& text) { answer(cuMemRelease(number(text)), 0); }},
};

}  // namespace

int main(int count, char**) {
    if (count > 1) answer(0, 0);
    std::string command;
    std::string argument;
    while (std::cin >> command) {
        if (command == "exec") execl("/proc/self/exe", "simcuda-peer", "anew", static_cast<char*>(nullptr));
        std::cin >> argument;
        kCommands.at(command)(argument);
    }
    return 0;
}
