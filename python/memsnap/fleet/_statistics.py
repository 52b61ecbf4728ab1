# SPDX-License-Identifier: Apache-2.0
"""How much of what was counted may be chance. The rule: what is counted are jobs, since the ranks of one job fail together; the bounds hold for all
comparisons of a report at once (Bonferroni), so that the largest of a hundred is no discovery by itself."""

from __future__ import annotations

import math
import statistics

LEVEL_PERMILLE = 950


def z_of(comparison_count: int) -> float:
    """Standard deviations of a two-sided bound that holds for so many comparisons together."""
    return statistics.NormalDist().inv_cdf(1 - (1 - LEVEL_PERMILLE / 1000) / (2 * max(1, comparison_count)))


def share(part: int, whole: int, z: float) -> tuple[int, int]:
    """Wilson's bounds of part / whole, in permille, outwards."""
    if whole == 0:
        return 0, 1000
    middle = (part + z * z / 2) / (whole + z * z)
    reach = z / (whole + z * z) * math.sqrt(part * (whole - part) / whole + z * z / 4)
    return max(0, math.floor(1000 * (middle - reach))), min(1000, math.ceil(1000 * (middle + reach)))


def risk_ratio(part: int, whole: int, other_part: int, other_whole: int, z: float) -> tuple[int, int, int] | None:
    """(part / whole) / (other_part / other_whole) and its bounds by the logarithm (Katz), in permille. A half is added to each number where one part
    is 0. None where there is nothing to compare."""
    if whole == 0 or other_whole == 0 or part + other_part == 0:
        return None
    a, n, b, m = float(part), float(whole), float(other_part), float(other_whole)
    if part == 0 or other_part == 0:
        a, n, b, m = a + 0.5, n + 0.5, b + 0.5, m + 0.5
    ratio = (a / n) / (b / m)
    reach = z * math.sqrt(max(0.0, 1 / a - 1 / n + 1 / b - 1 / m))
    return round(1000 * ratio), math.floor(1000 * ratio * math.exp(-reach)), math.ceil(1000 * ratio * math.exp(reach))
