import { z } from 'zod';
import type { Blobs } from '../../runtime/blobs.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ModelInput, ModelMessage } from './call.ts';

/** Of one result, in bytes of its text; what is over is left out, and it says so. */
const RESULT_BYTES = 256 * 1024;
/** Of all results that are looked up for one call; beyond it the oldest stay at their beginning. */
const TOGETHER_BYTES = 4 * 1024 * 1024;

const Stored = z.object({ content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })) });

/** A conversation whose references to stored tool results are replaced by their texts (`ToolOutcome.stored`). */
export async function withToolResults(
  input: ModelInput,
  blobs: Pick<Blobs, 'get'> | undefined,
  tenant: string,
): Promise<ModelInput> {
  let leftBytes = TOGETHER_BYTES;
  const messages: ModelMessage[] = [];
  // The newest first: what the model asked for last matters most.
  for (const message of input.messages.toReversed()) {
    if (message.role !== 'tool' || message.content_ref === undefined) messages.push(message);
    else {
      const { content_ref: ref, ...rest } = message;
      const whole = blobs === undefined || leftBytes <= 0 ? null : await textOf(blobs, tenant, ref);
      const content = whole === null ? rest.content : head(whole, Math.min(RESULT_BYTES, leftBytes));
      leftBytes -= Buffer.byteLength(content);
      messages.push({ ...rest, content });
    }
  }
  return { ...input, messages: messages.toReversed() };
}

/** Null when it is not there any more: then its beginning has to do. */
async function textOf(blobs: Pick<Blobs, 'get'>, tenant: string, ref: string): Promise<string | null> {
  try {
    const stored = Stored.parse(JSON.parse(Buffer.from(await blobs.get(tenant, ref)).toString('utf8')));
    return stored.content.map(({ type, text }) => text ?? `[${type}: not shown]`).join('\n');
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
    throw thrown;
  }
}

function head(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A character that is cut in two becomes one replacement character, which is taken off.
  const kept = bytes
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\ufffd$/, '');
  return `${kept}\n[cut: ${bytes.length - Buffer.byteLength(kept)} more bytes; ask for a part of it]`;
}
