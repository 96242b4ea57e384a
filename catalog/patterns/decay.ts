import type { PatternRecord } from './pattern-record.ts';

const MS_PER_DAY = 86_400_000;

type Used = Pick<PatternRecord, 'weight' | 'last_used_ms'>;

/** How patterns fade: after each half life without use they count half. All is computed from the time given. */
export interface Decay {
  /** Of a weight that was so at its last use. */
  weight(used: Used, nowMs: number): number;
  /**
   * Grows with the decayed weight of any moment: log2(weight · 2^(−(now − last) / half life)) is this minus now / half
   * life, which is the same for all.
   */
  strength(used: Used): number;
  /** 0 to 1: the share of its uses that succeeded, by the rule of succession, decayed since the last. */
  success(record: Pick<PatternRecord, 'frequency' | 'last_used_ms'>, nowMs: number): number;
}

export function halfLife(days: number): Decay {
  const halfLifeMs = days * MS_PER_DAY;
  // A clock that runs behind makes nothing younger than new.
  const left = (lastMs: number, nowMs: number): number => 2 ** -(Math.max(0, nowMs - lastMs) / halfLifeMs);
  return {
    weight: ({ weight, last_used_ms }, nowMs) => weight * left(last_used_ms, nowMs),
    strength: ({ weight, last_used_ms }) => Math.log2(weight) + last_used_ms / halfLifeMs,
    success: ({ frequency, last_used_ms }, nowMs) => ((frequency + 1) / (frequency + 2)) * left(last_used_ms, nowMs),
  };
}
