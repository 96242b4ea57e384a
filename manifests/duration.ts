import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/gy;

const TEXT = /^(?:\d{1,9}(?:\.\d{1,3})?(?:ms|s|m|h|d)){1,5}$/;

/** `300s`, `5m`, `1h30m`, `500ms` as milliseconds; null when the text is not a duration. */
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

const FACTOR: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

const QUANTITY = /^(\d{1,12}(?:\.\d{1,3})?)(k|K|M|G|T|Ki|Mi|Gi|Ti|)B?$/;

/** `512Mi`, `1Gi`, `5G` or a plain number as bytes; null when the text is not a size. */
function parseBytes(text: string): number | null {
  const match = QUANTITY.exec(text);
  const factor = match?.[2] === undefined ? undefined : FACTOR[match[2]];
  if (match?.[1] === undefined || factor === undefined) return null;
  return Math.floor(Number(match[1]) * factor);
}

/** A size field: `512Mi` or a number of bytes in the document, bytes after parsing. */
export function bytes(bounds: { readonly min: number; readonly max: number; readonly text: string }) {
  const expected = `expected a size such as 512Mi or 1Gi (${bounds.text})`;
  return z
    .union([z.string(), z.number()], expected)
    .meta({ description: `Size such as 512Mi or 1Gi, or bytes; ${bounds.text}.`, examples: ['512Mi'] })
    .transform((value, context) => {
      const size = parseBytes(String(value));
      if (size !== null && size >= bounds.min && size <= bounds.max) return size;
      context.addIssue({ code: 'custom', message: `${expected}, got ${JSON.stringify(String(value).slice(0, 40))}` });
      return z.NEVER;
    });
}

/** Processor share: millicores as a number (1000 is one core) or as text `500m`; millicores after parsing. */
export function millicores(bounds: { readonly min: number; readonly max: number }) {
  const expected = `expected millicores from ${bounds.min} to ${bounds.max} (1000 is one core)`;
  return z
    .union([z.string(), z.number()], expected)
    .meta({ description: `Millicores from ${bounds.min} to ${bounds.max}; 1000 is one core.`, examples: [1000] })
    .transform((value, context) => {
      const text = String(value);
      const amount = /^\d{1,9}m?$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
      if (amount >= bounds.min && amount <= bounds.max) return amount;
      context.addIssue({ code: 'custom', message: `${expected}, got ${JSON.stringify(text.slice(0, 40))}` });
      return z.NEVER;
    });
}
