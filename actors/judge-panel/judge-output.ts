import { z } from 'zod';
import type { Json } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { parseOutputJson } from '../execution/validators/json-schema.ts';
import { LIMITS } from './state.ts';

const fraction = z.number().min(0).max(1);

/** Output of a judge (W10). Other members are kept for templates and not read. */
const JudgeOutput = z.looseObject({
  score: fraction,
  confidence: fraction,
  reasoning: z.string().min(10),
  suggestions: z.array(z.string()).optional(),
  verdict: z.enum(['pass', 'fail', 'warning']).optional(),
});

export type ReadJudge =
  | {
      readonly ok: true;
      readonly score: number;
      readonly confidence: number;
      /** Cut; `output` has all of it. */
      readonly reasoning: string;
      /** The whole output, as JSON. */
      readonly output: Json;
    }
  /** `reason` names the field and the expected value; `output` is the parsed JSON, or the text, cut. */
  | { readonly ok: false; readonly reason: string; readonly output: Json };

/**
 * Reads a judge's final output, without a Markdown fence around it. `inProse`: when the output is not JSON, the last verdict
 * inside it is read. Never throws.
 */
export function readJudge(text: string, { inProse }: { readonly inProse: boolean }): ReadJudge {
  if (text.length > LIMITS.outputChars) {
    const reason = `the output has ${text.length} characters, a judge may write ${LIMITS.outputChars}`;
    return { ok: false, reason, output: keepHead(text, LIMITS.keptOutputChars) };
  }
  const parsed = parseOutputJson(text);
  const repaired = inProse && !parsed.ok ? verdictIn(text) : null;
  if (repaired !== null) return repaired;
  if (!parsed.ok) return { ok: false, reason: parsed.reason, output: keepHead(text, LIMITS.keptOutputChars) };
  const read = JudgeOutput.safeParse(parsed.value);
  if (!read.success) return { ok: false, reason: reasonOf(read.error), output: parsed.value };
  return verdictOf(read.data, parsed.value);
}

function verdictOf({ score, confidence, reasoning }: z.output<typeof JudgeOutput>, output: Json): ReadJudge {
  return { ok: true, score, confidence, reasoning: keepHead(reasoning, LIMITS.reasoningChars), output };
}

/** Number of brackets that are tried as the start of an object. */
const MOST_STARTS = 100;

/** The last JSON object in a text that is a verdict: a judge that writes its reasoning first concludes at the end. */
function verdictIn(text: string): ReadJudge | null {
  let found: ReadJudge | null = null;
  let start = text.indexOf('{');
  for (let starts = 0; start !== -1 && starts < MOST_STARTS; starts += 1) {
    const end = objectEnd(text, start);
    const parsed = end === -1 ? null : parseOutputJson(text.slice(start, end));
    const read = parsed?.ok === true ? JudgeOutput.safeParse(parsed.value) : null;
    if (read?.success === true && parsed?.ok === true) found = verdictOf(read.data, parsed.value);
    start = text.indexOf('{', parsed?.ok === true ? end : start + 1);
  }
  return found;
}

/** The index after the bracket that closes the object; -1 when there is none. */
function objectEnd(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let at = start; at < text.length; at += 1) {
    const unit = text[at];
    if (inString && unit === '\\') at += 1;
    else if (unit === '"') inString = !inString;
    else if (!inString && unit === '{') depth += 1;
    else if (!inString && unit === '}') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return -1;
}

const EXPECTED: Readonly<Record<string, string>> = {
  score: 'a number from 0.0 to 1.0',
  confidence: 'a number from 0.0 to 1.0',
  reasoning: 'a text of at least 10 characters',
  suggestions: 'a list of texts',
  verdict: 'pass, fail or warning',
};

function reasonOf({ issues }: z.ZodError): string {
  const fields = new Set(issues.map(({ path }) => String(path[0] ?? '')));
  if (fields.has('')) return 'expected a JSON object with score, confidence and reasoning';
  return [...fields].map((field) => `${field}: expected ${EXPECTED[field] ?? 'something else'}`).join('; ');
}
