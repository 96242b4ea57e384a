import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy;
const TEXT = /^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|s|m|h|d)){1,5}$/;

/** `300s`, `5m`, `1h30m`, `500ms` as milliseconds; null when the text is no duration. */
function parseDurationMs(text: string): number | null {
  if (!TEXT.test(text)) return null;
  let totalMs = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    if (unit === 'ms' || unit === 's' || unit === 'm' || unit === 'h' || unit === 'd')
      totalMs += Number(amount) * UNIT_MS[unit];
  }
  return Math.round(totalMs);
}

/** A duration field: text with a unit in the document, milliseconds after parsing. Bounds are inclusive. */
export function duration(bounds: { readonly minMs: number; readonly maxMs: number; readonly text: string }) {
  return z
    .string(`expected a duration such as 300s, 5m or 1h (${bounds.text})`)
    .meta({ description: `Duration such as 300s, 5m or 1h; ${bounds.text}.`, examples: ['300s'] })
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      if (ms !== null && ms >= bounds.minMs && ms <= bounds.maxMs) return ms;
      const expected = `expected a duration such as 300s, 5m or 1h (${bounds.text})`;
      context.addIssue({ code: 'custom', message: `${expected}, got ${JSON.stringify(text.slice(0, 40))}` });
      return z.NEVER;
    });
}
