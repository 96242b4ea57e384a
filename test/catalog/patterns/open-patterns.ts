import type { Embeddings } from '../../../catalog/api.ts';
import { createPatterns } from '../../../catalog/patterns/patterns.ts';
import type { NewPattern, Patterns } from '../../../catalog/patterns-api.ts';
import { NodeCortex } from '../../../manifests/node/models.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import type { Documents } from '../../../runtime/documents.ts';

export const DAY_MS = 86_400_000;

/** A clock that the test moves. */
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
    embeddings,
    ...settings
  }: { clock?: Clock; enabled?: boolean; embeddings?: Embeddings } & Partial<typeof DEFAULTS> = {},
): Promise<Patterns> =>
  createPatterns({
    documents,
    clock,
    ...(embeddings === undefined ? {} : { embeddings }),
    settings: {
      enabled,
      patterns: { ...DEFAULTS, ...settings },
      ...(embeddings === undefined
        ? {}
        : { embeddings: NodeCortex.parse({ embeddings: { alias: 'any' } }).embeddings }),
    },
  });

export const pattern = (errorSignature: string, rest: Partial<NewPattern> = {}): NewPattern => ({
  errorSignature,
  errorType: 'TypeError',
  errorMessage: '',
  solutionApproach: 'check the value before it is read',
  tags: [],
  ...rest,
});
