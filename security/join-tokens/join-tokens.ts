import type { Clock } from '../../runtime/clock.ts';
import { pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Random } from '../../runtime/random.ts';
import type { JoinTokens } from './api.ts';
import { digestOf, JOIN_TOKENS, type JoinTokenDocument, newTokenText, viewOf } from './record.ts';
import { checkNewToken } from './scope.ts';

const MAX_ATTEMPTS = 16;
const MOST_LISTED = 1_000;
const NEWEST_FIRST = [
  ['created_at', 'desc'],
  ['id', 'desc'],
] as const;

export type JoinAudit = (event: Readonly<Record<string, string>>, message: string) => void;

/** Join tokens over the documents that all nodes share. */
export async function openJoinTokens(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  /** Who made and revoked which token: ids and names, never a token. */
  readonly audit: JoinAudit;
}): Promise<JoinTokens> {
  const { documents, clock, random, audit } = parts;
  const tokens = await documents.collection<JoinTokenDocument>(JOIN_TOKENS);
  return {
    async create(by, request) {
      const { uses, expiresInSeconds, ...scope } = checkNewToken(request);
      const token = newTokenText();
      const now = clock.now();
      const made: JoinTokenDocument = {
        ...{ tenant: SYSTEM_TENANT, id: random.uuid(), version: 1, digest: digestOf(token), ...scope, uses },
        ...{ used_by: [], refusals: 0, created_by: by.subject, revoked_at: null },
        created_at: new Date(now).toISOString(),
        expires_at: new Date(now + expiresInSeconds * 1_000).toISOString(),
      };
      await tokens.insert(made);
      audit({ event: 'JoinTokenCreated', token_id: made.id, by: by.subject }, 'join token');
      return { ...viewOf(made, now), token };
    },

    async list(page) {
      const asked = { ...page, limit: Math.min(page.limit, MOST_LISTED) };
      const found = await pageOf(
        tokens,
        'join tokens',
        { tenant: SYSTEM_TENANT, where: {}, sort: NEWEST_FIRST },
        asked,
      );
      return shownPage(found, (token) => viewOf(token, clock.now()));
    },

    async revoke(by, id) {
      const now = clock.now();
      const { token, changed } = await changedToken(tokens, id, (known) =>
        known.revoked_at === null ? { ...known, revoked_at: new Date(now).toISOString() } : null,
      );
      if (changed) audit({ event: 'JoinTokenRevoked', token_id: id, by: by.subject }, 'join token');
      return viewOf(token, now);
    },
  };
}

/** Compare and set; `change` answers null for what is to stay as it is. Throws `not_found`, `unavailable`. */
export async function changedToken(
  tokens: Collection<JoinTokenDocument>,
  id: string,
  change: (known: JoinTokenDocument) => JoinTokenDocument | null,
): Promise<{ readonly token: JoinTokenDocument; readonly changed: boolean }> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const known = await tokens.get(SYSTEM_TENANT, id.toLowerCase());
    if (known === null) throw new SvcError('not_found', 'join token not found');
    const next = change(known);
    if (next === null) return { token: known, changed: false };
    const token = { ...next, version: known.version + 1 };
    if (await tokens.replace(token, known.version)) return { token, changed: true };
  }
  throw new SvcError('unavailable', 'the join token is being used by others', { retryAfterMs: 1_000 });
}
