import { createHash } from 'node:crypto';
import type { RateWindow } from '../manifests/node/rate-limits.ts';
import type { RateLimit } from '../runtime/rate-limits.ts';
import type { Principal } from './api.ts';
import { type RateBucket, WINDOW_MS } from './rate-bounds.ts';

/** One bound of a bucket, as the shared counters know it. */
export interface Counter extends RateLimit {
  readonly bucket: string;
  readonly window: RateWindow;
}

/** The counters of a bucket: one a window. */
export function countersOf(principal: Pick<Principal, 'subject'>, { name, bounds }: RateBucket): Counter[] {
  const key = `${subjectKey(principal)} ${name}`;
  return bounds.map(({ window, limit }) => ({ key, limit, windowMs: WINDOW_MS[window], window, bucket: name }));
}

/** Subjects may be of any length and hold anything; a digest of one is a key of fixed length. */
export const subjectKey = ({ subject }: Pick<Principal, 'subject'>): string =>
  createHash('sha256').update(subject).digest('base64url').slice(0, 32);
