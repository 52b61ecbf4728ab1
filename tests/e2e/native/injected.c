// SPDX-License-Identifier: Apache-2.0
//
// A tool that NVTX loads into the process by NVTX_INJECTION64_PATH. It says once that it was.
#include <stdio.h>

int InitializeInjectionNvtx2(void* get_export_table) {
    static int said;
    if (!said++) puts(get_export_table == NULL ? "injected without a table" : "injected");
    return 1;
}
