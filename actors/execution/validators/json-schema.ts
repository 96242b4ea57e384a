import { z } from 'zod';
import { compileSchema, fitSchema, type Misfit } from '../../../manifests/json-schema/fit.ts';
import { linearRegex } from '../../../manifests/re2.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { LIMITS } from '../limits.ts';

/** Input of the validators. A model's result has its text as stdout, exit code 0 and an empty stderr. */
export const IterationResult = z.object({
  stdout: z.string(),
  stderr: z.string(),
  exit_code: z.number().int().nullable(),
  /** Tools that had a successful call in this execution. */
  tools: z.array(z.string()).optional(),
});

export type IterationResult = Readonly<z.infer<typeof IterationResult>>;

/** Why the check failed; null: it passed. */
export type Complaint = string | null;

/** Up to this length all errors are collected, above it only the first. */
const ALL_ERRORS_CHARS = 64 * 1024;

const MAX_SHOWN = 10;

/** Checks the output as JSON against a schema (fit.ts bounds the work). */
export const checkJson = ({ stdout }: IterationResult, schema: JsonObject): Complaint =>
  checkFit(schema, stripFences(stdout), 'the output');

/** Checks a text as JSON against a schema that compiles. `what`: its name in complaints. */
export function checkFit(schema: JsonObject, text: string, what: string): Complaint {
  const parsed = parseJson(text, what);
  if (!parsed.ok) return parsed.reason;
  const fit = fitSchema(schema, parsed.value, { allErrors: text.length <= ALL_ERRORS_CHARS });
  if (fit.ok) return null;
  return 'endless' in fit ? fit.endless : describe(fit.misfits, what);
}

/** Throws `invalid_manifest` with `path` when the schema does not compile. */
export function checkJsonSchema(schema: JsonObject, path: string): void {
  try {
    compileSchema(schema, false);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not compile';
    throw new SvcError('invalid_manifest', `${path}: expected a JSON Schema: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}

function describe(misfits: readonly Misfit[], what: string): string {
  const shown = misfits
    .slice(0, MAX_SHOWN)
    .map(({ path, message }) => `${path === '' ? '/' : path} ${message}`.slice(0, 300));
  const more = misfits.length > MAX_SHOWN ? `; and ${misfits.length - MAX_SHOWN} more` : '';
  return `${what} does not fit the schema: ${shown.join('; ')}${more}`;
}

type ParsedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string };

const FENCE = /^```[^\n`]*\r?\n([\s\S]*?)\r?\n?```$/;

/**
 * The text inside a Markdown code fence when the whole text is one fence; else the text, trimmed. A text that is too long is
 * returned unchanged.
 */
export function stripFences(text: string): string {
  if (text.length > LIMITS.validatedChars) return text;
  const trimmed = text.trim();
  if (!trimmed.startsWith('```') || !trimmed.endsWith('```') || trimmed.length < 7) return trimmed;
  return (FENCE.exec(trimmed)?.[1] ?? trimmed).trim();
}

/** An output as JSON: fences stripped, length and depth bounded. Never throws. */
export const parseOutputJson = (output: string): ParsedJson => parseJson(stripFences(output), 'the output');

/** A text as JSON, length and depth bounded. Never throws. `what`: its name in the reason. */
export function parseJson(text: string, what: string): ParsedJson {
  if (text.length > LIMITS.validatedChars) {
    const reason = `${what} has ${text.length} characters, at most ${LIMITS.validatedChars} are checked`;
    return { ok: false, reason };
  }
  if (text.trim() === '') return { ok: false, reason: `expected JSON, got an empty ${what.replace(/^the /, '')}` };
  const depth = nesting(text);
  if (depth > LIMITS.jsonDepth) {
    return { ok: false, reason: `the JSON of ${what} nests deeper than ${LIMITS.jsonDepth} levels` };
  }
  try {
    const value: Json = JSON.parse(text);
    return { ok: true, value };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message.slice(0, 200) : 'it does not parse';
    return { ok: false, reason: what === 'the output' ? `expected JSON: ${why}` : `${what}: expected JSON: ${why}` };
  }
}

/** Deepest nesting of brackets outside strings; counted before parsing, without recursion. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (inString) {
      if (unit === 0x5c) at += 1;
      else if (unit === 0x22) inString = false;
    } else if (unit === 0x22) inString = true;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > deepest) deepest = depth;
    } else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return deepest;
}

/** Throws `invalid_manifest` with `path` when the pattern is not RE2 syntax. */
export function checkPattern(pattern: string, path: string): void {
  try {
    linearRegex(pattern);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.slice(0, 300) : 'does not compile';
    throw new SvcError('invalid_manifest', `${path}: expected a regular expression of RE2 syntax: ${reason}`, {
      field: path,
      details: [{ path, message: reason }],
    });
  }
}
