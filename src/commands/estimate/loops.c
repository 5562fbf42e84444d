/* SPDX-License-Identifier: MIT */
#include "commands/estimate/loops.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define N      WTL_LOOP_SIZE
#define INLINE static inline __attribute__((always_inline))
#define PLAIN

/*
 * Six rows by two vectors of C are kept in registers. Two vectors of B and one number of A fit beside them
 * in the sixteen registers that all processors have.
 */
#define ROWS(DO, fma) DO(0, fma) DO(1, fma) DO(2, fma) DO(3, fma) DO(4, fma) DO(5, fma)
#define ZERO(r, fma)  vector c##r##0 = {0}, c##r##1 = {0};
#define ADD(r, fma)                                               \
	{                                                         \
		vector factor = a[(i + r) * N + k] - (vector){0}; \
		c##r##0 = fma(vector, factor, b0, c##r##0);       \
		c##r##1 = fma(vector, factor, b1, c##r##1);       \
	}
#define STORE(r, fma)                               \
	*(vector *)(c + (i + r) * N + j) = c##r##0; \
	*(vector *)(c + (i + r) * N + j + LANES) = c##r##1;

#define MULTIPLY(name, attribute, type, bytes, fma)                                 \
	attribute static void name(const type *a, const type *b, type *c)           \
	{                                                                           \
		typedef type vector __attribute__((vector_size(bytes), may_alias)); \
		enum { LANES = (bytes) / sizeof(type) };                            \
		for (size_t i = 0; i < N; i += 6)                                   \
			for (size_t j = 0; j < N; j += 2 * LANES) {                 \
				ROWS(ZERO, fma)                                     \
				for (size_t k = 0; k < N; k++) {                    \
					const type *row = b + k * N + j;            \
					vector b0 = *(const vector *)row;           \
					vector b1 = *(const vector *)(row + LANES); \
					ROWS(ADD, fma)                              \
				}                                                   \
				ROWS(STORE, fma)                                    \
			}                                                           \
	}

#define STREAM(name, attribute, bytes)                                                     \
	attribute static void name(double *a, const double *b, const double *c, size_t n)  \
	{                                                                                  \
		typedef double vector __attribute__((vector_size(bytes), may_alias));      \
		enum { LANES = (bytes) / sizeof(double) };                                 \
		for (size_t i = 0; i < n; i += LANES)                                      \
			*(vector *)(a + i) =                                               \
				*(const vector *)(b + i) + *(const vector *)(c + i) * 0.5; \
	}

/* Each row of A by each row of B, which is transposed. K is long, so that the final sums do not matter. */
#define INT8_ROWS (N / 4)
#define INT8_K	  (N * 16)
#define DOT(name, attribute, vector, zero, load, step, sum)                                     \
	attribute static void name(const uint8_t *a, const int8_t *b, int32_t *c)               \
	{                                                                                       \
		for (size_t i = 0; i < INT8_ROWS; i++)                                          \
			for (size_t j = 0; j < INT8_ROWS; j += 4) {                             \
				vector s0 = zero, s1 = zero, s2 = zero, s3 = zero;              \
				for (size_t k = 0; k < INT8_K; k += sizeof(vector)) {           \
					vector x = load((const void *)(a + i * INT8_K + k));    \
					const int8_t *y = b + j * INT8_K + k;                   \
					s0 = step(s0, x, load((const void *)y));                \
					s1 = step(s1, x, load((const void *)(y + INT8_K)));     \
					s2 = step(s2, x, load((const void *)(y + 2 * INT8_K))); \
					s3 = step(s3, x, load((const void *)(y + 3 * INT8_K))); \
				}                                                               \
				c[i * INT8_ROWS + j] = sum(s0, s1, s2, s3);                     \
			}                                                                       \
	}

/* The build forbids compilers to fuse a multiplication with an addition: here it is asked for, where processors can. */
#if defined(__aarch64__)
#define FMA_FP32(vector, a, b, c) \
	(vector) vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))
#define FMA_FP64(vector, a, b, c) \
	(vector) vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b))
#else
#define FMA_FP32(vector, a, b, c) ((c) + (a) * (b))
#define FMA_FP64		  FMA_FP32
#endif

MULTIPLY(multiply_fp32_16, PLAIN, float, 16, FMA_FP32)
MULTIPLY(multiply_fp64_16, PLAIN, double, 16, FMA_FP64)
STREAM(stream_16, PLAIN, 16)

#if defined(__x86_64__)
#define FMA(intrinsic, type, vector, a, b, c) (vector) intrinsic((type)(a), (type)(b), (type)(c))
#define FMA_FP32_32(vector, a, b, c)	      FMA(_mm256_fmadd_ps, __m256, vector, a, b, c)
#define FMA_FP64_32(vector, a, b, c)	      FMA(_mm256_fmadd_pd, __m256d, vector, a, b, c)
#define FMA_FP32_64(vector, a, b, c)	      FMA(_mm512_fmadd_ps, __m512, vector, a, b, c)
#define FMA_FP64_64(vector, a, b, c)	      FMA(_mm512_fmadd_pd, __m512d, vector, a, b, c)

MULTIPLY(multiply_fp32_32, AVX2, float, 32, FMA_FP32_32)
MULTIPLY(multiply_fp64_32, AVX2, double, 32, FMA_FP64_32)
MULTIPLY(multiply_fp32_64, AVX512, float, 64, FMA_FP32_64)
MULTIPLY(multiply_fp64_64, AVX512, double, 64, FMA_FP64_64)
STREAM(stream_32, AVX2, 32)
STREAM(stream_64, AVX512, 64)

/* Pairs of 8-bit products as 16 bits, pairs of those as 32. */
AVX2 INLINE __m256i step_avx2(__m256i sum, __m256i x, __m256i y)
{
	__m256i pairs = _mm256_maddubs_epi16(x, y);

	return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

AVX2 INLINE int32_t sum_avx2(__m256i s0, __m256i s1, __m256i s2, __m256i s3)
{
	__m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(s0, s1), _mm256_hadd_epi32(s2, s3));

	return _mm256_extract_epi32(all, 0) ^ _mm256_extract_epi32(all, 7);
}

#define VNNI __attribute__((target("avx512f,avx512vnni")))
VNNI INLINE int32_t sum_vnni(__m512i s0, __m512i s1, __m512i s2, __m512i s3)
{
	return _mm512_reduce_add_epi32(
		_mm512_xor_si512(_mm512_xor_si512(s0, s1), _mm512_xor_si512(s2, s3)));
}

DOT(dot_avx2, AVX2, __m256i, _mm256_setzero_si256(), _mm256_load_si256, step_avx2, sum_avx2)
DOT(dot_vnni, VNNI, __m512i, _mm512_setzero_si512(), _mm512_load_si512, _mm512_dpbusd_epi32,
    sum_vnni)
#endif

_Static_assert(N % 6 == 0 && N % (2 * 64 / sizeof(float)) == 0, "tiles fill the matrices");
_Static_assert(INT8_ROWS *INT8_ROWS *INT8_K == WTL_LOOP_WORK, "a product is a product");
_Static_assert(2 * INT8_ROWS * INT8_K + 4 * INT8_ROWS * INT8_ROWS <= WTL_LOOP_BYTES, "it has room");

unsigned wtl_loop_width(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return 64;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return 32;
#endif
	return 16;
}

bool wtl_loop_has_int8(unsigned width)
{
	return width > 16;
}

static void multiply_int8(uint8_t *memory, unsigned width)
{
#if defined(__x86_64__)
	const size_t size = (size_t)INT8_ROWS * INT8_K;
	int8_t *b = (int8_t *)memory + size;
	int32_t *c = (int32_t *)(void *)(memory + 2 * size);

	if (width == 64 && __builtin_cpu_supports("avx512vnni"))
		dot_vnni(memory, b, c);
	else if (width > 16)
		dot_avx2(memory, b, c);
#else
	(void)memory;
	(void)width;
#endif
}

static void multiply_fp32(float *memory, unsigned width)
{
	const size_t size = (size_t)N * N;

#if defined(__x86_64__)
	if (width == 64)
		multiply_fp32_64(memory, memory + size, memory + 2 * size);
	else if (width == 32)
		multiply_fp32_32(memory, memory + size, memory + 2 * size);
	else
#endif
		multiply_fp32_16(memory, memory + size, memory + 2 * size);
	(void)width;
}

static void multiply_fp64(double *memory, unsigned width)
{
	const size_t size = (size_t)N * N;

#if defined(__x86_64__)
	if (width == 64)
		multiply_fp64_64(memory, memory + size, memory + 2 * size);
	else if (width == 32)
		multiply_fp64_32(memory, memory + size, memory + 2 * size);
	else
#endif
		multiply_fp64_16(memory, memory + size, memory + 2 * size);
	(void)width;
}

void wtl_loop_multiply(void *memory, enum wtl_precision precision, unsigned width)
{
	if (precision == WTL_INT8)
		multiply_int8(memory, width);
	else if (precision == WTL_FP32)
		multiply_fp32(memory, width);
	else
		multiply_fp64(memory, width);
}

void wtl_loop_stream(double *memory, size_t bytes, unsigned width)
{
	size_t n = bytes / 3 / sizeof(double);

#if defined(__x86_64__)
	if (width == 64)
		stream_64(memory, memory + n, memory + 2 * n, n);
	else if (width == 32)
		stream_32(memory, memory + n, memory + 2 * n, n);
	else
#endif
		stream_16(memory, memory + n, memory + 2 * n, n);
	(void)width;
}
