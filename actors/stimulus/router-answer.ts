import { z } from 'zod';

/** What the router agent has to answer (decided.md "Stimuli"), and nothing else. */
const RouterAnswer = z.strictObject({
  workflow: z.string().trim().min(1).max(200),
  confidence: z.number().min(0).max(1),
  reasoning: z.string().max(65_536),
});
export type RouterAnswer = z.output<typeof RouterAnswer>;

export type ReadAnswer =
  | { readonly ok: true; readonly answer: RouterAnswer }
  | { readonly ok: false; readonly problem: string };

const FENCED = /^```[A-Za-z0-9]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/;
const MAX_CHARS = 100_000;

/** Reads the router's output; a code fence around it is stripped, all else must be the JSON object alone. */
export function readRouterAnswer(output: string): ReadAnswer {
  const text = output.trim();
  if (text.length > MAX_CHARS) return { ok: false, problem: `it has more than ${MAX_CHARS} characters` };
  let value: unknown;
  try {
    value = JSON.parse(FENCED.exec(text)?.[1] ?? text);
  } catch {
    return { ok: false, problem: 'it is no JSON' };
  }
  const read = RouterAnswer.safeParse(value);
  if (read.success) return { ok: true, answer: read.data };
  const issue = read.error.issues[0];
  return { ok: false, problem: `${issue?.path.join('.') ?? ''} ${issue?.message ?? 'malformed'}`.trim() };
}

/** Input of the router agent (original-facts.md 7). */
export const routerInput = (
  stimulus: { readonly source: string; readonly content: string; readonly headers: Readonly<Record<string, string>> },
  tenant: string,
): string => JSON.stringify({ stimulus, tenant_id: tenant });
