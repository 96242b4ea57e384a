import { readFile, stat } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { compileRe2 } from '../../manifests/re2.ts';
import { FINISH_REASONS } from './call.ts';
import { ModelFailure } from './failure.ts';

const MAX_SCRIPT_BYTES = 1024 * 1024;

/** Linear-time pattern; a bad one is an error of the file. */
const Pattern = z
  .string()
  .max(2_000)
  .transform((source, check) => {
    try {
      return compileRe2(source);
    } catch (error) {
      check.addIssue({ code: 'custom', message: `expected a regular expression (RE2): ${String(error)}` });
      return z.NEVER;
    }
  });

const OneOrMore = z.union([z.string(), z.array(z.string()).min(1).max(100)]);

/** All that is given must hold. Nothing here counts in memory: the same call gets the same answer after a restart. */
const Match = z.strictObject({
  /** The alias that was asked for. */
  model: z.string().optional(),
  /** In the last user message; of a list, all of them. */
  contains: OneOrMore.optional(),
  regex: Pattern.optional(),
  /** In the system prompt. */
  system_contains: OneOrMore.optional(),
  /** Iteration the caller names, else 1 + the assistant's turns so far. */
  iteration: z.number().int().min(1).optional(),
  /** 1 + the assistant's turns so far in the conversation: 2 after the first tool results. */
  round: z.number().int().min(1).optional(),
  /** In the last tool result; of a list, all of them. Without a tool result it does not hold. */
  tool_contains: OneOrMore.optional(),
  /** Attempt of the effect: 2 after a broken stream or a crash. */
  attempt: z.number().int().min(1).optional(),
  /** Try within the attempt: 2 after an error that is tried again. */
  try: z.number().int().min(1).optional(),
});
export type ScriptMatch = z.output<typeof Match>;

const Reply = z.strictObject({
  text: z.string().default(''),
  /** Pieces the text is streamed in: a number of equal ones, or the pieces themselves (then `text` is left out). */
  chunks: z.union([z.number().int().min(1).max(10_000), z.array(z.string()).min(1).max(10_000)]).optional(),
  /** Before each piece. */
  delay_ms: z.number().int().min(0).max(600_000).default(0),
  usage: z.strictObject({ input_tokens: z.number().int().min(0), output_tokens: z.number().int().min(0) }).optional(),
  /** Fails like a provider that answers with this HTTP status. */
  error: z.strictObject({ status: z.number().int().min(400).max(599), message: z.string().default('') }).optional(),
  /** The stream breaks after so many pieces. */
  cut_after_chunks: z.number().int().min(0).optional(),
  tool_calls: z
    .array(z.strictObject({ id: z.string().optional(), name: z.string(), arguments: z.record(z.string(), z.json()) }))
    .max(100)
    .default([]),
  finish_reason: z.enum(FINISH_REASONS).optional(),
});
export type ScriptReply = z.output<typeof Reply>;

const Rule = z.strictObject({
  match: Match.default({}),
  reply: z.union([z.string().transform((text) => Reply.parse({ text })), Reply]),
});
const Script = z.strictObject({ rules: z.array(Rule).min(1).max(1_000) });
export type Script = z.output<typeof Script>;

/** Reads a script; throws `ModelFailure` naming the place in the file and what was expected. */
async function readScript(path: string): Promise<Script> {
  const text = await readFile(path, 'utf8');
  let document: unknown;
  try {
    document = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw new ModelFailure('refused', `its script is not YAML: ${error instanceof Error ? error.message : ''}`);
  }
  const checked = Script.safeParse(document);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  throw new ModelFailure(
    'refused',
    `its script breaks a rule at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}

/** Scripts by path, read again when the file changes. */
export class ScriptFiles {
  readonly #known = new Map<string, { readonly version: string; readonly script: Promise<Script> }>();

  async get(path: string): Promise<Script> {
    const file = await stat(path).catch(() => undefined);
    if (file === undefined || !file.isFile()) throw new ModelFailure('refused', 'its script file cannot be read');
    if (file.size > MAX_SCRIPT_BYTES) throw new ModelFailure('refused', `its script is over ${MAX_SCRIPT_BYTES} bytes`);
    const version = `${file.mtimeMs}:${file.size}:${file.ino}`;
    const known = this.#known.get(path);
    if (known?.version === version) return known.script;
    const script = readScript(path);
    this.#known.set(path, { version, script });
    return script;
  }
}
