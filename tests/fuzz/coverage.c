/* Notes which edges of the instrumented codec have been taken (gcc -fsanitize-coverage=trace-pc calls this).
 *
 * The hook is hidden so that the codec binds to it and not to the empty one in the preloaded libasan.
 */
#include <stdint.h>

static uint8_t seen[1 << 16];
static uintptr_t last;

uint64_t gq_fuzz_edges;

__attribute__((visibility("hidden"), no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void) {
    uintptr_t here = (uintptr_t)__builtin_return_address(0);
    uintptr_t edge = ((here >> 2) ^ (here >> 18) ^ last) & 0xffff;
    last = here >> 3;
    if (!seen[edge]) {
        seen[edge] = 1;
        gq_fuzz_edges++;
    }
}
