import { z } from 'zod';
import type { Blobs } from '../../runtime/blobs.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type ModelInput, ModelMessage } from './call.ts';

/** A conversation of more bytes than this goes to Blobs when the caller keeps it by reference. */
const ASIDE_ABOVE_BYTES = 16 * 1024;

/** Parts of conversations that this process has seen lately, so that a round does not fetch what the last one had. */
const KEPT_BYTES = 32 * 1024 * 1024;

interface StoredMessages {
  readonly ref: string;
  readonly messages: number;
  readonly bytes: number;
}

type Store = Pick<Blobs, 'get' | 'put'>;

/**
 * Long conversations by reference (docs/decisions/0015): what an actor carries from commit to commit is what came
 * last. Parts are content-addressed and never change, so a call that is made again finds and makes the same.
 */
export class EarlierMessages {
  readonly #blobs: Store | undefined;
  readonly #seen = new Map<string, string>();
  #seenChars = 0;

  constructor(blobs: Store | undefined) {
    this.#blobs = blobs;
  }

  /** The whole conversation. Throws `not_found` for a part that is not there any more. */
  async whole(input: ModelInput, tenant: string): Promise<ModelInput> {
    const { earlier = [], messages, ...rest } = input;
    const parts: ModelMessage[] = [];
    for (const ref of earlier) parts.push(...Parts.parse(JSON.parse(await this.#textOf(tenant, ref))));
    return { ...rest, messages: [...parts, ...messages] };
  }

  /** Stores what `input` itself holds for the actor that asked, when it is long; null when it stays where it is. */
  async setAside({ keep_aside, messages }: ModelInput, tenant: string, owner: string): Promise<StoredMessages | null> {
    if (keep_aside !== true || this.#blobs === undefined) return null;
    const text = JSON.stringify(messages);
    const bytes = Buffer.from(text);
    if (bytes.length <= ASIDE_ABOVE_BYTES) return null;
    const ref = await this.#blobs.put(tenant, bytes, owner);
    this.#remember(`${tenant}/${ref}`, text);
    return { ref, messages: messages.length, bytes: bytes.length };
  }

  async #textOf(tenant: string, ref: string): Promise<string> {
    const key = `${tenant}/${ref}`;
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    if (this.#blobs === undefined) throw new Error('a conversation by reference needs a store for it');
    const text = Buffer.from(await this.#blobs.get(tenant, ref)).toString('utf8');
    this.#remember(key, text);
    return text;
  }

  #remember(key: string, text: string): void {
    if (this.#seen.has(key)) return;
    this.#seen.set(key, text);
    this.#seenChars += text.length;
    for (const [oldest, old] of this.#seen) {
      if (this.#seenChars <= KEPT_BYTES) break;
      this.#seen.delete(oldest);
      this.#seenChars -= old.length;
    }
  }
}

const Parts = z.array(ModelMessage);

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
