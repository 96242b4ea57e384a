import { type Stats, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { yaml } from '../../manifests/late-libraries.ts';
import { compileRe2 } from '../../manifests/re2.ts';
import type { Clock } from '../../runtime/clock.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { ModelCall, ModelSource } from './call.ts';
import { ModelFailure } from './call.ts';
import { FINISH_REASONS, type ModelPart } from './targets.ts';

const MAX_SHOWN_CHARS = 80;

/**
 * The provider `scripted`: answers from a YAML file (docs/guides/scripted-provider.md), for demos and tests without a key.
 * Used only if the configuration names it. The answer depends only on the call, not on earlier ones.
 */
export function answerFromScript(options: { readonly clock: Clock; readonly scriptDir: string }): ModelSource {
  const files = new ScriptFiles();
  return async function* answer(call: ModelCall): AsyncGenerator<ModelPart> {
    const path = call.target.provider.script;
    if (path === undefined) throw new ModelFailure('refused', 'it has no script');
    const reply = chooseReply(await files.get(resolve(options.scriptDir, path), path), call);
    yield* speak(reply, call, options.clock);
  };
}

/** The reply of the first matching rule. Throws `ModelFailure` with the beginning of the message if none matches. */
function chooseReply(script: Script, call: ModelCall): ScriptReply {
  const rule = script.rules.find(({ match }) => matches(match, call));
  if (rule !== undefined) return rule.reply;
  const text = lastUserMessage(call).replace(/\s+/g, ' ').slice(0, MAX_SHOWN_CHARS);
  throw new ModelFailure('unusable', `no rule of its script matches model "${call.input.model}" and message "${text}"`);
}

function matches(match: ScriptMatch, call: ModelCall): boolean {
  const { input } = call;
  const message = lastUserMessage(call);
  return (
    (match.model === undefined || match.model === input.model || match.model === call.target.model.alias) &&
    holds(match.contains, message) &&
    (match.regex === undefined || match.regex.matcher(message).find()) &&
    (match.system_contains === undefined || holds(match.system_contains, systemOf(call))) &&
    (match.iteration === undefined || match.iteration === iterationOf(call)) &&
    (match.round === undefined || match.round === roundOf(call)) &&
    (match.tool_contains === undefined || holds(match.tool_contains, lastToolResult(call))) &&
    (match.attempt === undefined || match.attempt === call.attempt) &&
    (match.try === undefined || match.try === call.tryNumber)
  );
}

const holds = (parts: string | readonly string[] | undefined, text: string): boolean =>
  parts === undefined || (typeof parts === 'string' ? [parts] : parts).every((part) => text.includes(part));

const lastUserMessage = ({ input }: ModelCall): string =>
  input.messages.findLast((message) => message.role === 'user')?.content ?? '';

const systemOf = ({ input }: ModelCall): string =>
  [input.system ?? '', ...input.messages.filter((m) => m.role === 'system').map((m) => m.content)].join('\n');

const iterationOf = ({ input }: ModelCall): number => input.iteration ?? roundOf({ input });

const roundOf = ({ input }: Pick<ModelCall, 'input'>): number =>
  1 + input.messages.filter((message) => message.role === 'assistant').length;

const lastToolResult = ({ input }: ModelCall): string =>
  input.messages.findLast((message) => message.role === 'tool')?.content ?? '';

async function* speak(reply: ScriptReply, call: ModelCall, clock: Clock): AsyncGenerator<ModelPart> {
  if (reply.delay_ms > 0) await wait(reply.delay_ms, call, clock);
  if (reply.error !== undefined) throw failureOf(reply.error);
  for (const [index, text] of piecesOf(reply).entries()) {
    if (index > 0 && reply.delay_ms > 0) await wait(reply.delay_ms, call, clock);
    if (index === reply.cut_after_chunks) throw new ModelFailure('broken', 'its script cuts the answer here');
    yield { kind: 'text', text };
  }
  if (reply.cut_after_chunks !== undefined) throw new ModelFailure('broken', 'its script cuts the answer here');
  for (const [index, { id, name, arguments: args }] of reply.tool_calls.entries()) {
    yield { kind: 'tool_call', id: id ?? `call_${index + 1}`, name, arguments: args };
  }
  yield {
    kind: 'finish',
    reason: reply.finish_reason ?? (reply.tool_calls.length > 0 ? 'tool-calls' : 'stop'),
    inputTokens: reply.usage?.input_tokens,
    outputTokens: reply.usage?.output_tokens,
  };
}

async function wait(delayMs: number, call: ModelCall, clock: Clock): Promise<void> {
  await sleep(clock, delayMs, call.signal);
  if (call.signal.aborted) throw new ModelFailure('busy', 'the call was ended');
}

function failureOf({ status, message }: NonNullable<ScriptReply['error']>): ModelFailure {
  const comesBack = status === 408 || status === 425 || status === 429 || status >= 500;
  return new ModelFailure(
    comesBack ? 'busy' : 'refused',
    `it answered ${status}${message === '' ? '' : `: ${message}`}`,
  );
}

function piecesOf({ text, chunks }: ScriptReply): readonly string[] {
  if (Array.isArray(chunks)) return chunks;
  const letters = [...text];
  const size = Math.max(1, Math.ceil(letters.length / (chunks ?? 1)));
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, n) =>
    letters.slice(n * size, (n + 1) * size).join(''),
  );
}

const MAX_SCRIPT_BYTES = 1024 * 1024;

/** A regular expression with linear run time. */
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

/** Conditions of a rule; all must hold. None depends on state, so a call gets the same answer after a restart. */
const Match = z.strictObject({
  /** The requested alias. */
  model: z.string().optional(),
  /** In the last user message; all elements of a list. */
  contains: OneOrMore.optional(),
  regex: Pattern.optional(),
  /** In the system prompt. */
  system_contains: OneOrMore.optional(),
  /** The caller's iteration, else 1 + the assistant's turns so far. */
  iteration: z.number().int().min(1).optional(),
  /** 1 + the assistant's turns so far in the conversation: 2 after the first tool results. */
  round: z.number().int().min(1).optional(),
  /** In the last tool result; all elements of a list. False without a tool result. */
  tool_contains: OneOrMore.optional(),
  /** Attempt of the effect: 2 after a broken stream or a crash. */
  attempt: z.number().int().min(1).optional(),
  /** Try within the attempt: 2 after a retried error. */
  try: z.number().int().min(1).optional(),
});

type ScriptMatch = z.output<typeof Match>;

const Reply = z.strictObject({
  text: z.string().default(''),
  /** How the text is streamed: a number of equal pieces, or the pieces themselves instead of `text`. */
  chunks: z.union([z.number().int().min(1).max(10_000), z.array(z.string()).min(1).max(10_000)]).optional(),
  /** Delay before each piece. */
  delay_ms: z.number().int().min(0).max(600_000).default(0),
  usage: z.strictObject({ input_tokens: z.number().int().min(0), output_tokens: z.number().int().min(0) }).optional(),
  /** Fails like a provider that answers with this HTTP status. */
  error: z.strictObject({ status: z.number().int().min(400).max(599), message: z.string().default('') }).optional(),
  /** The stream breaks after this number of pieces. */
  cut_after_chunks: z.number().int().min(0).optional(),
  tool_calls: z
    .array(z.strictObject({ id: z.string().optional(), name: z.string(), arguments: z.record(z.string(), z.json()) }))
    .max(100)
    .default([]),
  finish_reason: z.enum(FINISH_REASONS).optional(),
});

type ScriptReply = z.output<typeof Reply>;

const Rule = z.strictObject({
  match: Match.default({}),
  reply: z.union([z.string().transform((text) => Reply.parse({ text })), Reply]),
});

const Script = z.strictObject({ rules: z.array(Rule).min(1).max(1_000) });

type Script = z.output<typeof Script>;

/** Reads a script. Throws `ModelFailure` naming the place in the file. */
async function readScript(path: string): Promise<Script> {
  const text = await readFile(path, 'utf8');
  let document: unknown;
  try {
    document = yaml().parse(text, { maxAliasCount: 100 });
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
class ScriptFiles {
  readonly #files = new Map<string, ScriptFile>();

  /** `name`: the path as the configuration has it, for errors. */
  get(path: string, name: string): Promise<Script> {
    const known = this.#files.get(path);
    if (known !== undefined) return known.get(name);
    const file = new ScriptFile(path);
    this.#files.set(path, file);
    return file.get(name);
  }
}

/**
 * Each call checks the file synchronously: that takes microseconds, a tenth of a check on another thread, and an answer that is
 * available at once is part of the commit that requested it.
 */
class ScriptFile {
  readonly #path: string;
  #known: { readonly version: string; readonly script: Promise<Script> } | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  async get(name: string): Promise<Script> {
    const file = this.#stat();
    if (file === undefined || !file.isFile())
      throw new ModelFailure('refused', `its script file ${name} cannot be read`);
    if (file.size > MAX_SCRIPT_BYTES) throw new ModelFailure('refused', `its script is over ${MAX_SCRIPT_BYTES} bytes`);
    const version = `${file.mtimeMs}:${file.size}:${file.ino}`;
    if (this.#known?.version !== version) this.#known = { version, script: readScript(this.#path) };
    return this.#known.script;
  }

  #stat(): Stats | undefined {
    try {
      return statSync(this.#path, { throwIfNoEntry: false });
    } catch {
      return undefined;
    }
  }
}
