import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import { newestFirst, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Random } from '../../runtime/random.ts';
import { checkNewToken, type JoinScope, type JoinTokens, type JoinTokenView } from './scope.ts';

const MAX_ATTEMPTS = 16;

const MOST_LISTED = 1_000;

const NEWEST_FIRST = newestFirst('created_at');

export type JoinAudit = (event: Readonly<Record<string, string>>, message: string) => void;

/** Join tokens over the documents that all nodes share. */
export async function openJoinTokens(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Pick<Random, 'uuid'>;
  /** Log of created and revoked tokens: ids and names, never a token. */
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
        tenant: SYSTEM_TENANT,
        id: random.uuid(),
        version: 1,
        digest: digestOf(token),
        ...scope,
        uses,
        used_by: [],
        refusals: 0,
        created_by: by.subject,
        revoked_at: null,
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

/** Changes a token by compare-and-set; `change` returns null for no change. Throws `not_found`, `unavailable`. */
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
  throw new SvcError('unavailable', 'the join token is being used by other nodes; try again', { retryAfterMs: 1_000 });
}

/** Prefix of all join tokens, by which scanners find leaked ones. */
const PREFIX = 'svcj_';

const FORM = /^svcj_[A-Za-z0-9_-]{43}$/;

const newTokenText = (): string => `${PREFIX}${randomBytes(32).toString('base64url')}`;

export const isTokenText = (text: string): boolean => FORM.test(text);

/** A token has 256 random bits, so a plain SHA-256 cannot be reversed by guessing. */
export const digestOf = (text: string): string => hash('sha256', text, 'hex');

export interface JoinTokenDocument extends StoredDocument, JoinScope {
  readonly digest: string;
  readonly uses: number;
  /** Nodes that joined with it, at most `uses`. */
  readonly used_by: readonly {
    readonly node_id: string;
    readonly key: string;
    readonly from: string;
    readonly at: string;
  }[];
  readonly refusals: number;
  readonly created_at: string;
  readonly created_by: string;
  readonly expires_at: string;
  readonly revoked_at: string | null;
}

export const JOIN_TOKENS: CollectionSpec = { name: 'join_tokens', unique: [['digest']], indexes: [['created_at']] };

/** How a node joined, by its id. */
export interface JoinedNode extends StoredDocument {
  /** `x` of its Ed25519 key. */
  readonly key: string;
  /** The join token that it used; null for `spec.cluster.join_token`. */
  readonly token_id: string | null;
  /** Time of its latest attestation, to the day. */
  readonly seen_at: string;
}

export const JOINED_NODES: CollectionSpec = { name: 'joined_nodes', unique: [], indexes: [['seen_at']] };

/** Why a token admits no more nodes; null while it does. */
export function deathOf(token: JoinTokenDocument, now: number): 'used_up' | 'expired' | 'revoked' | null {
  if (token.revoked_at !== null) return 'revoked';
  if (Date.parse(token.expires_at) <= now) return 'expired';
  return token.used_by.length >= token.uses ? 'used_up' : null;
}

function viewOf(token: JoinTokenDocument, now: number): JoinTokenView {
  const { id, names, tags, addresses, roles, uses, refusals, created_at, created_by, expires_at } = token;
  const used_by = token.used_by.map(({ node_id, from, at }) => ({ node_id, from, at }));
  const status = deathOf(token, now) ?? 'active';
  return { id, names, tags, addresses, roles, uses, used_by, refusals, status, created_at, created_by, expires_at };
}
