import { z } from 'zod';
import type { Blobs } from '../../runtime/blobs.ts';
import { type ModelInput, ModelMessage } from './call.ts';

/** A conversation of more bytes than this goes to Blobs when the caller keeps it by reference. */
const ASIDE_ABOVE_BYTES = 16 * 1024;
/** Parts of conversations that this process has seen lately, so that a round does not fetch what the last one had. */
const KEPT_BYTES = 32 * 1024 * 1024;

export interface StoredMessages {
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
