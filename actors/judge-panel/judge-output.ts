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
      /** Cut; `output` holds all of it. */
      readonly reasoning: string;
      /** The whole output, as JSON. */
      readonly output: Json;
    }
  /** `reason` names the field and what was expected; `output` is JSON when it is, else the text, cut. */
  | { readonly ok: false; readonly reason: string; readonly output: Json };

/** Reads a judge's final output, without the Markdown fence around it if there is one. Never throws. */
export function readJudge(text: string): ReadJudge {
  if (text.length > LIMITS.outputChars) {
    const reason = `the output has ${text.length} characters, a judge may write ${LIMITS.outputChars}`;
    return { ok: false, reason, output: keepHead(text, LIMITS.keptOutputChars) };
  }
  const parsed = parseOutputJson(text);
  if (!parsed.ok) return { ok: false, reason: parsed.reason, output: keepHead(text, LIMITS.keptOutputChars) };
  const read = JudgeOutput.safeParse(parsed.value);
  if (!read.success) return { ok: false, reason: reasonOf(read.error), output: parsed.value };
  const { score, confidence, reasoning } = read.data;
  return { ok: true, score, confidence, reasoning: keepHead(reasoning, LIMITS.reasoningChars), output: parsed.value };
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
