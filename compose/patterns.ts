import type { PatternParts } from '../catalog/patterns/patterns.ts';
import type { Patterns } from '../catalog/patterns-api.ts';

/** Learned patterns, made when they are first asked for: an idle node does not carry them. */
export function openPatterns(parts: PatternParts): Patterns {
  let opened: Promise<Patterns> | null = null;
  const patterns = (): Promise<Patterns> => {
    opened ??= import('../catalog/patterns/patterns.ts')
      .then(({ createPatterns }) => createPatterns(parts))
      .catch((thrown: unknown) => {
        opened = null;
        throw thrown;
      });
    return opened;
  };
  return {
    query: async (...call) => (await patterns()).query(...call),
    store: async (...call) => (await patterns()).store(...call),
    list: async (...call) => (await patterns()).list(...call),
  };
}
