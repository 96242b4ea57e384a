import { resolve } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { pause } from '../../runtime/pause.ts';
import type { ModelPart } from './call.ts';
import { ModelFailure } from './failure.ts';
import { type Script, ScriptFiles, type ScriptMatch, type ScriptReply } from './script-file.ts';
import type { ModelCall, ModelSource } from './source.ts';

const MAX_SHOWN_CHARS = 80;

/**
 * The provider `scripted`: answers from a YAML file (docs/scripted-provider.md), for demos and tests without a key.
 * Used only where the configuration names it. The answer depends on the call alone, never on what came before.
 */
export function answerFromScript(options: { readonly clock: Clock; readonly scriptDir: string }): ModelSource {
  const files = new ScriptFiles();
  return async function* answer(call: ModelCall): AsyncGenerator<ModelPart> {
    const path = call.target.provider.script;
    if (path === undefined) throw new ModelFailure('refused', 'it has no script');
    const reply = chooseReply(await files.get(resolve(options.scriptDir, path)), call);
    yield* speak(reply, call, options.clock);
  };
}

/** The first rule that fits. Throws `ModelFailure` when none does, showing the beginning of the message. */
function chooseReply(script: Script, call: ModelCall): ScriptReply {
  const rule = script.rules.find(({ match }) => fits(match, call));
  if (rule !== undefined) return rule.reply;
  const said = lastUserMessage(call).replace(/\s+/g, ' ').slice(0, MAX_SHOWN_CHARS);
  throw new ModelFailure('refused', `no rule of its script fits model "${call.input.model}" and message "${said}"`);
}

function fits(match: ScriptMatch, call: ModelCall): boolean {
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
  await pause(clock, delayMs, call.signal);
  if (call.signal.aborted) throw new ModelFailure('busy', 'the call was ended');
}

function failureOf({ status, message }: NonNullable<ScriptReply['error']>): ModelFailure {
  const comesBack = status === 408 || status === 425 || status === 429 || status >= 500;
  return new ModelFailure(comesBack ? 'busy' : 'refused', `HTTP ${status}${message === '' ? '' : `: ${message}`}`);
}

function piecesOf({ text, chunks }: ScriptReply): readonly string[] {
  if (Array.isArray(chunks)) return chunks;
  const letters = [...text];
  const size = Math.max(1, Math.ceil(letters.length / (chunks ?? 1)));
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, n) =>
    letters.slice(n * size, (n + 1) * size).join(''),
  );
}
