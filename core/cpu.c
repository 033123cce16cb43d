/*
 * cpu.c
 *		Which instructions this build and processor have.
 *
 * Everything is compiled for the baseline of its architecture; functions for
 * more carry an attribute and are called only where the processor has it.
 *
 * Copyright (c) 2026, the acdat_decoder authors; PostgreSQL licence
 */
#include "acd_filter.h"

/* Is an instruction set there? */
bool
acd_simd_supported(acd_simd simd)
{
	switch (simd)
	{
		case ACD_SIMD_AUTO:
		case ACD_SIMD_NONE:
			return true;
#if ACD_X86
		case ACD_SIMD_SSSE3:
			return __builtin_cpu_supports("ssse3") != 0;
		case ACD_SIMD_AVX2:
			return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
				__builtin_cpu_supports("bmi2") != 0;
		case ACD_SIMD_AVX512:
			return acd_simd_supported(ACD_SIMD_AVX2) && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
				__builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
				__builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
#endif
#if ACD_NEON
		case ACD_SIMD_NEON:
			return true;
#endif
		default:
			return false;
	}
}

/* The best there is. */
acd_simd
acd_simd_best(void)
{
	static const acd_simd best_first[] = {
		ACD_SIMD_AVX512, ACD_SIMD_AVX2, ACD_SIMD_SSSE3, ACD_SIMD_NEON
	};

	for (size_t i = 0; i < sizeof(best_first) / sizeof(best_first[0]); i++)
		if (acd_simd_supported(best_first[i]))
			return best_first[i];
	return ACD_SIMD_NONE;
}

/* Filters of an instruction set. */
const acd_filters *
acd_simd_filters(acd_simd simd)
{
	switch (simd)
	{
#if ACD_X86
		case ACD_SIMD_SSSE3:
			return &acd_filters_ssse3;
		case ACD_SIMD_AVX2:
			return &acd_filters_avx2;
		case ACD_SIMD_AVX512:
			return &acd_filters_avx512;
#endif
#if ACD_NEON
		case ACD_SIMD_NEON:
			return &acd_filters_neon;
#endif
		default:
			return &acd_filters_none;
	}
}

/* Name an instruction set. */
const char *
acd_simd_name(acd_simd simd)
{
	static const char *const names[] = {
		[ACD_SIMD_AUTO] = "auto",
		[ACD_SIMD_NONE] = "none",
		[ACD_SIMD_SSSE3] = "ssse3",
		[ACD_SIMD_AVX2] = "avx2",
		[ACD_SIMD_AVX512] = "avx512",
		[ACD_SIMD_NEON] = "neon"
	};

	return (size_t) simd < sizeof(names) / sizeof(names[0]) ? names[simd] : "unknown";
}
