import { createHash, randomBytes } from 'node:crypto';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { JoinScope, JoinTokenView } from './api.ts';

/** What every join token begins with: scanners for leaked secrets look for it. */
const PREFIX = 'svcj_';
const FORM = /^svcj_[A-Za-z0-9_-]{43}$/;

export const newTokenText = (): string => `${PREFIX}${randomBytes(32).toString('base64url')}`;
export const isTokenText = (text: string): boolean => FORM.test(text);
/** It holds 256 random bits, so a plain SHA-256 cannot be guessed back. */
export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export interface JoinTokenDocument extends StoredDocument, JoinScope {
  readonly digest: string;
  readonly uses: number;
  /** Who came in by it; never more than `uses`. */
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

/** How a node came in, by its id: what it needs no second use of a token for. */
export interface JoinedNode extends StoredDocument {
  /** `x` of its Ed25519 key. */
  readonly key: string;
  /** Null: by `spec.cluster.join_token`. */
  readonly token_id: string | null;
  /** Of its latest attestation, to the day. */
  readonly seen_at: string;
}

export const JOINED_NODES: CollectionSpec = { name: 'joined_nodes', unique: [], indexes: [['seen_at']] };

/** Why a token lets nobody new in; null while it does. */
export function deathOf(token: JoinTokenDocument, now: number): 'used_up' | 'expired' | 'revoked' | null {
  if (token.revoked_at !== null) return 'revoked';
  if (Date.parse(token.expires_at) <= now) return 'expired';
  return token.used_by.length >= token.uses ? 'used_up' : null;
}

export function viewOf(token: JoinTokenDocument, now: number): JoinTokenView {
  const { id, names, tags, addresses, roles, uses, refusals, created_at, created_by, expires_at } = token;
  const used_by = token.used_by.map(({ node_id, from, at }) => ({ node_id, from, at }));
  const status = deathOf(token, now) ?? 'active';
  return { id, names, tags, addresses, roles, uses, used_by, refusals, status, created_at, created_by, expires_at };
}
