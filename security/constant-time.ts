import { hash, timingSafeEqual } from 'node:crypto';

/**
 * Compares two secrets through their digests, so that the time it takes depends neither on their lengths nor on where they
 * differ.
 */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
