/* CRC-32C (Castagnoli), big-endian and little-endian access, and a strict UTF-8 check for the record codec.
 *
 * The processor's CRC instruction is used where there is one: on x86-64 it is detected at run time, so that one
 * build runs everywhere; on ARM it is part of the build target. Elsewhere, or with GQ_CRC_SOFTWARE defined, eight tables
 * take eight bytes a step.
 */
#ifndef GOQUEUE_CRC32C_H
#define GOQUEUE_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(GQ_CRC_SOFTWARE)
#elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define GQ_CRC_X86 1
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32) && !defined(__AARCH64EB__)
#define GQ_CRC_ARM 1
#include <arm_acle.h>
#endif

static uint32_t gq_crc_table[8][256];

/* All functions below take and return the internal state; the CRC is its complement. */

static uint32_t gq_crc_step_software(uint32_t crc, const uint8_t *p, size_t n) {
    while (n >= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = gq_crc_table[7][low & 0xff] ^ gq_crc_table[6][low >> 8 & 0xff] ^ gq_crc_table[5][low >> 16 & 0xff]
              ^ gq_crc_table[4][low >> 24] ^ gq_crc_table[3][p[4]] ^ gq_crc_table[2][p[5]] ^ gq_crc_table[1][p[6]]
              ^ gq_crc_table[0][p[7]];
        p += 8;
        n -= 8;
    }
    while (n--)
        crc = gq_crc_table[0][(crc ^ *p++) & 0xff] ^ crc >> 8;
    return crc;
}

/* Two states over the same bytes. */
static void gq_crc_pair_software(uint32_t *a, uint32_t *b, const uint8_t *p, size_t n) {
    *a = gq_crc_step_software(*a, p, n);
    *b = gq_crc_step_software(*b, p, n);
}

#if defined(GQ_CRC_X86) || defined(GQ_CRC_ARM)

#ifdef GQ_CRC_X86
#define GQ_CRC_TARGET __attribute__((target("sse4.2")))
#define GQ_CRC_8(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#define GQ_CRC_4(crc, word) _mm_crc32_u32((crc), (word))
#define GQ_CRC_1(crc, byte) _mm_crc32_u8((crc), (byte))
#else
#define GQ_CRC_TARGET
#define GQ_CRC_8(crc, word) __crc32cd((crc), (word))
#define GQ_CRC_4(crc, word) __crc32cw((crc), (word))
#define GQ_CRC_1(crc, byte) __crc32cb((crc), (byte))
#endif

GQ_CRC_TARGET static uint32_t gq_crc_step_hardware(uint32_t crc, const uint8_t *p, size_t n) {
    uint64_t word;
    uint32_t half;
    while (n >= 8) {
        memcpy(&word, p, 8);
        crc = GQ_CRC_8(crc, word);
        p += 8;
        n -= 8;
    }
    if (n & 4) {
        memcpy(&half, p, 4);
        crc = GQ_CRC_4(crc, half);
        p += 4;
    }
    for (n &= 3; n; n--)
        crc = GQ_CRC_1(crc, *p++);
    return crc;
}

/* The instruction takes three cycles but one can start each cycle: the second state costs almost nothing. */
GQ_CRC_TARGET static void gq_crc_pair_hardware(uint32_t *a, uint32_t *b, const uint8_t *p, size_t n) {
    uint32_t x = *a, y = *b, half;
    uint64_t word;
    while (n >= 8) {
        memcpy(&word, p, 8);
        x = GQ_CRC_8(x, word);
        y = GQ_CRC_8(y, word);
        p += 8;
        n -= 8;
    }
    if (n & 4) {
        memcpy(&half, p, 4);
        x = GQ_CRC_4(x, half);
        y = GQ_CRC_4(y, half);
        p += 4;
    }
    for (n &= 3; n; n--, p++) {
        x = GQ_CRC_1(x, *p);
        y = GQ_CRC_1(y, *p);
    }
    *a = x;
    *b = y;
}
#endif

static uint32_t (*gq_crc_step)(uint32_t, const uint8_t *, size_t) = gq_crc_step_software;
static void (*gq_crc_pair)(uint32_t *, uint32_t *, const uint8_t *, size_t) = gq_crc_pair_software;

static void gq_crc_init(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
        gq_crc_table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            gq_crc_table[k][i] = gq_crc_table[0][gq_crc_table[k - 1][i] & 0xff] ^ gq_crc_table[k - 1][i] >> 8;
#if defined(GQ_CRC_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2")) {
        gq_crc_step = gq_crc_step_hardware;
        gq_crc_pair = gq_crc_pair_hardware;
    }
#elif defined(GQ_CRC_ARM)
    gq_crc_step = gq_crc_step_hardware;
    gq_crc_pair = gq_crc_pair_hardware;
#endif
}

static inline uint32_t gq_crc32c(uint32_t crc, const uint8_t *p, size_t n) { return ~gq_crc_step(~crc, p, n); }

static inline uint32_t gq_crc32c_software(uint32_t crc, const uint8_t *p, size_t n) {
    return ~gq_crc_step_software(~crc, p, n);
}

/* The CRCs of a record with its old and with its new first 24 bytes after the CRC; `rest` is common to both. */
static inline void gq_crc32c_restamp(const uint8_t *was, const uint8_t *becomes, const uint8_t *rest, size_t n,
                                     uint32_t *old_crc, uint32_t *new_crc) {
    uint32_t a = gq_crc_step(0xffffffffu, was, 24), b = gq_crc_step(0xffffffffu, becomes, 24);
    gq_crc_pair(&a, &b, rest, n);
    *old_crc = ~a;
    *new_crc = ~b;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define GQ_BE16(x) __builtin_bswap16(x)
#define GQ_BE32(x) __builtin_bswap32(x)
#define GQ_BE64(x) __builtin_bswap64(x)
#define GQ_LE32(x) (x)
#define GQ_LE64(x) (x)
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define GQ_BE16(x) (x)
#define GQ_BE32(x) (x)
#define GQ_BE64(x) (x)
#define GQ_LE32(x) __builtin_bswap32(x)
#define GQ_LE64(x) __builtin_bswap64(x)
#elif defined(_MSC_VER)
#include <stdlib.h>
#define GQ_BE16(x) _byteswap_ushort(x)
#define GQ_BE32(x) _byteswap_ulong(x)
#define GQ_BE64(x) _byteswap_uint64(x)
#define GQ_LE32(x) (x)
#define GQ_LE64(x) (x)
#else
#error "the byte order of this platform is not known"
#endif

static inline uint16_t gq_get16(const uint8_t *p) { uint16_t x; memcpy(&x, p, 2); return GQ_BE16(x); }
static inline uint32_t gq_get32(const uint8_t *p) { uint32_t x; memcpy(&x, p, 4); return GQ_BE32(x); }
static inline int64_t gq_get64(const uint8_t *p) { uint64_t x; memcpy(&x, p, 8); return (int64_t)GQ_BE64(x); }
static inline void gq_put16(uint8_t *p, uint16_t x) { x = GQ_BE16(x); memcpy(p, &x, 2); }
static inline void gq_put32(uint8_t *p, uint32_t x) { x = GQ_BE32(x); memcpy(p, &x, 4); }
static inline void gq_put64(uint8_t *p, int64_t v) { uint64_t x = GQ_BE64((uint64_t)v); memcpy(p, &x, 8); }
static inline void gq_little32(char *p, int32_t v) { uint32_t x = GQ_LE32((uint32_t)v); memcpy(p, &x, 4); }
static inline void gq_little64(char *p, int64_t v) { uint64_t x = GQ_LE64((uint64_t)v); memcpy(p, &x, 8); }

/* As strict as Python: no overlong forms, no surrogates, nothing above U+10FFFF. */
static int gq_is_utf8(const uint8_t *p, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint8_t c = p[i], low = 0x80, high = 0xbf;
        size_t more;
        if (c < 0x80) {
            i++;
            continue;
        }
        if (c >= 0xc2 && c <= 0xdf) {
            more = 1;
        } else if (c >= 0xe0 && c <= 0xef) {
            more = 2;
            if (c == 0xe0)
                low = 0xa0;
            else if (c == 0xed)
                high = 0x9f;
        } else if (c >= 0xf0 && c <= 0xf4) {
            more = 3;
            if (c == 0xf0)
                low = 0x90;
            else if (c == 0xf4)
                high = 0x8f;
        } else {
            return 0;
        }
        if (n - i <= more || p[i + 1] < low || p[i + 1] > high)
            return 0;
        for (size_t k = 2; k <= more; k++)
            if ((p[i + k] & 0xc0) != 0x80)
                return 0;
        i += more + 1;
    }
    return 1;
}

#endif
