import type { PatternParts } from '../catalog/patterns/patterns.ts';
import type { Patterns } from '../catalog/patterns-api.ts';
import { FirstUse } from '../runtime/first-use.ts';

/** Learned patterns, made when they are first asked for: an idle node does not carry them. */
export function openPatterns(parts: PatternParts): Patterns {
  const patterns = new FirstUse(async () => {
    const { createPatterns } = await import('../catalog/patterns/patterns.ts');
    return createPatterns(parts);
  });
  return {
    query: async (...call) => (await patterns.get()).query(...call),
    store: async (...call) => (await patterns.get()).store(...call),
    list: async (...call) => (await patterns.get()).list(...call),
  };
}
