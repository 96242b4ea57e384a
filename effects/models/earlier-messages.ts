import { z } from 'zod';
import type { Blobs } from '../../runtime/blobs.ts';
import { BoundedCache } from '../../runtime/kit/bounded-cache.ts';
import { counted } from '../../runtime/kit/counted.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import { type ModelInput, ModelMessage } from './call.ts';

/** Longer conversations go to Blobs if the caller keeps them by reference. */
const ASIDE_ABOVE_BYTES = 16 * 1024;

/** Characters of recent parts in memory, so that a round does not fetch those of the last one again. */
const CACHE_CHARS = 32 * 1024 * 1024;

interface StoredMessages {
  readonly ref: string;
  readonly messages: number;
  readonly bytes: number;
}

type Store = Pick<Blobs, 'get' | 'put'>;

/**
 * Long conversations by reference (docs/decisions/0015): the state of an actor contains only the latest messages. Parts are
 * content-addressed, so a repeated call finds and creates the same ones.
 */
export class EarlierMessages {
  readonly #blobs: Store | undefined;
  readonly #cache = new BoundedCache<string, string>(CACHE_CHARS);

  constructor(blobs: Store | undefined) {
    this.#blobs = blobs;
  }

  /** Returns the whole conversation. Throws `not_found` for a deleted part. */
  async whole(input: ModelInput, tenant: string): Promise<ModelInput> {
    const { earlier = [], messages, ...rest } = input;
    const parts: ModelMessage[] = [];
    for (const ref of earlier) parts.push(...Parts.parse(JSON.parse(await this.#textOf(tenant, ref))));
    return { ...rest, messages: [...parts, ...messages] };
  }

  /** Stores the messages of the input for `owner` if they are long; null if they stay in place. */
  async store({ keep_aside, messages }: ModelInput, tenant: string, owner: string): Promise<StoredMessages | null> {
    if (keep_aside !== true || this.#blobs === undefined) return null;
    const text = JSON.stringify(messages);
    const bytes = Buffer.from(text);
    if (bytes.length <= ASIDE_ABOVE_BYTES) return null;
    const ref = await this.#blobs.put(tenant, bytes, owner);
    this.#cache.put(`${tenant}/${ref}`, text, text.length);
    return { ref, messages: messages.length, bytes: bytes.length };
  }

  async #textOf(tenant: string, ref: string): Promise<string> {
    const key = `${tenant}/${ref}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    if (this.#blobs === undefined) throw new Error('a conversation by reference needs a blob store');
    const text = Buffer.from(await this.#blobs.get(tenant, ref)).toString('utf8');
    this.#cache.put(key, text, text.length);
    return text;
  }
}

const Parts = z.array(ModelMessage);

/** Longest text of one tool result; longer ones are cut with a note. */
const RESULT_BYTES = 256 * 1024;

/** All tool results of one call; beyond it the oldest are not loaded. */
const TOTAL_BYTES = 4 * 1024 * 1024;

const Stored = z.object({ content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })) });

/** Replaces references to stored tool results (`ToolOutcome.stored`) by their texts. */
export async function withToolResults(
  input: ModelInput,
  blobs: Pick<Blobs, 'get'> | undefined,
  tenant: string,
): Promise<ModelInput> {
  let leftBytes = TOTAL_BYTES;
  const messages: ModelMessage[] = [];
  // Newest first: the latest results matter most.
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

/** Null if it was deleted; the caller then uses its beginning. */
async function textOf(blobs: Pick<Blobs, 'get'>, tenant: string, ref: string): Promise<string | null> {
  const bytes = await foundOrNull(blobs.get(tenant, ref));
  if (bytes === null) return null;
  const stored = Stored.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  return stored.content.map(({ type, text }) => text ?? `[${type}: not shown]`).join('\n');
}

function head(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  // A character cut in half becomes one replacement character, which is removed.
  const kept = bytes
    .subarray(0, maxBytes)
    .toString('utf8')
    .replace(/\ufffd$/, '');
  return `${kept}\n[cut: ${counted(bytes.length - Buffer.byteLength(kept), 'more byte')}; ask for a part of it]`;
}
