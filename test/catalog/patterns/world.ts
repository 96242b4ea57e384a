import { createPatterns } from '../../../catalog/patterns/patterns.ts';
import type { NewPattern, Patterns } from '../../../catalog/patterns-api.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import type { Documents } from '../../../runtime/documents.ts';

export const DAY_MS = 86_400_000;

/** A clock that a test moves. */
export class HandClock implements Clock {
  nowMs = Date.UTC(2026, 0, 1);
  now = (): number => this.nowMs;
  monotonic = (): number => this.nowMs;
  after = (delayMs: number, call: () => void): (() => void) => systemClock.after(delayMs, call);
}

const DEFAULTS = { dedup_threshold: 0.85, half_life_days: 30, max_per_tenant: 100_000 };

export const openPatterns = (
  documents: Documents,
  {
    clock = systemClock,
    enabled = true,
    ...settings
  }: { clock?: Clock; enabled?: boolean } & Partial<typeof DEFAULTS> = {},
): Promise<Patterns> =>
  createPatterns({ documents, clock, settings: { enabled, patterns: { ...DEFAULTS, ...settings } } });

export const pattern = (errorSignature: string, rest: Partial<NewPattern> = {}): NewPattern => ({
  errorSignature,
  errorType: 'TypeError',
  errorMessage: '',
  solutionApproach: 'check the value before it is read',
  tags: [],
  ...rest,
});
