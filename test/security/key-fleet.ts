import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import type { SigningKeys } from '../../security/api.ts';
import { createFileKeys } from '../../security/keys/file-keys.ts';
import { createPublishedKeys } from '../../security/keys/published-keys.ts';
import { createNodeTokens, NODE_TOKEN_AUDIENCE, NODE_TOKEN_ISSUER } from '../../security/node-tokens.ts';
import { checkedDocuments } from '../support/over-documents.ts';
import { ManualClock } from './identity-provider.ts';

export const HOUR_MS = 3_600_000;
export const MINUTE_MS = 60_000;

/** A node's Ed25519 pair. */
export function nodePair(): {
  readonly privateKey: KeyObject;
  readonly publicKeyPem: string;
  readonly publicKey: KeyObject;
} {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey, publicKeyPem: String(publicKey.export({ type: 'spki', format: 'pem' })) };
}

/** A private directory that is removed at the end. */
export async function privateDirectory() {
  const path = await mkdtemp(join(tmpdir(), 'svc-node-keys-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Documents that count how often keys are looked up, and can be down. */
class WatchedDocuments implements Documents {
  readonly #checked: Documents;
  finds = 0;
  isDown = false;

  constructor(inner: Documents) {
    this.#checked = checkedDocuments(inner, (method) => {
      if (method !== 'find') return;
      this.finds += 1;
      if (this.isDown) throw new SvcError('unavailable', 'The documents are down.');
    });
  }
  open(): Promise<void> {
    return this.#checked.open();
  }
  close(): Promise<void> {
    return this.#checked.close();
  }
  collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    return this.#checked.collection<T>(spec);
  }
}

/** A fleet on one SQLite file; each controller has keys of its own and reads the documents itself. */
export async function fleet() {
  const directory = await privateDirectory();
  const sqlite = new SqliteDocuments({ directory: directory.path });
  await sqlite.open();
  const clock = new ManualClock();
  let made = 0;
  const controller = (at: { clock?: Clock; keys?: SigningKeys } = {}) => {
    made += 1;
    const keysDirectory = join(directory.path, `keys-${made}`);
    const ownClock = at.clock ?? clock;
    const documents = new WatchedDocuments(sqlite);
    const keys = at.keys ?? createFileKeys({ directory: keysDirectory, rotateAfterDays: 90, clock: ownClock });
    const published = createPublishedKeys({ documents, clock: ownClock });
    const tokens = createNodeTokens({ keys, published, clock: ownClock });
    return { keys, tokens, documents, published, keysDirectory };
  };
  // The timer of the cool-down does not keep a process running; in a server a socket does.
  const alive = setInterval(() => {}, 1_000);
  return {
    clock,
    sqlite,
    controller,
    async [Symbol.asyncDispose]() {
      clearInterval(alive);
      await sqlite.close();
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** The private key of the newest file, as an attacker would have it. */
export async function newestPrivateKey(directory: string): Promise<KeyObject> {
  const newest = (await readdir(directory)).sort().at(-1);
  assert.ok(newest !== undefined);
  return createPrivateKey(await readFile(join(directory, newest)));
}

export const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Any JWT, whatever it says; signed with RS256. */
export function jwt(header: object, claims: object, key: KeyObject): string {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
}

/** The claims of a good token; those with the value undefined are omitted. */
export function goodClaims(clock: Clock, publicKey: KeyObject, changed: object = {}): object {
  const iat = Math.floor(clock.now() / 1_000);
  const { kty, crv, x } = publicKey.export({ format: 'jwk' });
  return {
    iss: NODE_TOKEN_ISSUER,
    aud: NODE_TOKEN_AUDIENCE,
    sub: 'node-1',
    role: 'WORKER',
    iat,
    exp: iat + 3_600,
    cnf: { jwk: { kty, crv, x } },
    ...changed,
  };
}
