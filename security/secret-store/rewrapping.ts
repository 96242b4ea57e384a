import type { Clock } from '../../runtime/clock.ts';
import { SharedRuns } from '../../runtime/kit/queues.ts';
import { turnsFirst } from '../../runtime/kit/waits.ts';
import type { SecretKeys, SecretKeysView } from '../api.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import type { StoredPayloadKeys } from '../encryption/payload-keys.ts';
import type { SecretDocuments } from './secret-documents.ts';

/** Secrets that are read at once. */
const STEP = 20;

/**
 * How often each node looks for secrets of an older key version, left by a killed node or written during a rotation, and reports its
 * copy of the keys.
 */
const LOOK_MS = 30_000;

interface RewrappingParts {
  readonly secrets: SecretDocuments;
  readonly payloadKeys: Pick<StoredPayloadKeys, 'rewrap' | 'usesOf'>;
  readonly ring: KeyRing;
  readonly clock: Pick<Clock, 'after'>;
  readonly warn: (message: string, error: unknown) => void;
  /** Log of rotations. */
  readonly audit: (event: Readonly<Record<string, string | number>>, message: string) => void;
}

/**
 * Rotates the key of secrets. A new version is in use at once; then the data key of one secret after another is wrapped with
 * it. Each secret is readable before and after. After a kill any node continues the work.
 */
export class SecretKeyRotation implements SecretKeys {
  readonly #parts: RewrappingParts;
  readonly #rewraps = new SharedRuns(() => this.#rewrap());
  #cancel = (): void => {};
  #isClosed = false;

  constructor(parts: RewrappingParts) {
    this.#parts = parts;
  }

  /** Continues what was interrupted, and looks again at intervals. */
  start(): void {
    if (this.#isClosed) return;
    const again = (): void => {
      if (!this.#isClosed) this.#cancel = this.#parts.clock.after(LOOK_MS, () => this.start());
    };
    this.#rewraps.run().then(again, (error: unknown) => {
      this.#parts.warn('secrets could not be encrypted with the current key version; retrying', error);
      again();
    });
  }

  async view(): Promise<SecretKeysView> {
    const { ring, secrets, payloadKeys } = this.#parts;
    const current = await ring.current();
    const versions: SecretKeysView['versions'][number][] = [];
    for (const { version, made_at } of await ring.versions()) {
      const needs = { secrets: await secrets.usesOf(version), payload_keys: await payloadKeys.usesOf(version) };
      versions.push({ version, made_at, ...needs });
    }
    return { current, versions: versions.reverse() };
  }

  async rotate(by: { readonly subject: string }): Promise<SecretKeysView> {
    const { from, to } = await this.#parts.ring.rotate();
    this.#parts.audit({ event: 'SecretKeyRotated', from, to, by: by.subject }, 'secret key');
    this.#cancel();
    this.start();
    return this.view();
  }

  /** Waits for the step in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    await this.#rewraps.idle;
  }

  async #rewrap(): Promise<void> {
    const { ring, secrets, payloadKeys } = this.#parts;
    await ring.report();
    const current = await ring.current();
    let wrapped = 0;
    while (!this.#isClosed && current > 1) {
      const older = await secrets.wrappedBefore(current, STEP);
      for (const secret of older) {
        if (this.#isClosed) return;
        // False: it was changed meanwhile, and a later pass finds it if it still has the old version.
        if (await secrets.rewrap(ring, secret, current)) wrapped += 1;
        await turnsFirst();
      }
      if (older.length === 0) break;
    }
    if (wrapped > 0) this.#parts.audit({ event: 'SecretsRewrapped', to: current, secrets: wrapped }, 'secret key');
    if (current > 1) await payloadKeys.rewrap(current, () => this.#isClosed);
  }
}
