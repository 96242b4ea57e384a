import { SvcError } from '../errors.ts';

/** What a read finds; null when it throws `not_found`. */
export async function foundOrNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
    throw thrown;
  }
}
