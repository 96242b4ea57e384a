import { AuditRecord, canonicalHash } from '../manifests/audit/record.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';
import { pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection, Condition } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { seenPart, sees, tenantOfViewer, type Viewer } from '../runtime/identity.ts';
import type { Json } from '../runtime/json.ts';
import {
  type InvokeCall,
  ownerOf,
  projectToolSession,
  type SessionSummary,
  type ToolSessionApi,
  type ToolSessionDocument,
} from './tool-session-api.ts';
import { endBehind, endOf, type SessionEvents } from './tool-call-end.ts';
import { InvokeReply, SESSION_LIMITS } from '../actors/tool-session/messages.ts';
import { ToolSessionState } from '../actors/tool-session/state.ts';

const MOST_LISTED = 1_000;

const NEWEST_FIRST = [
  ['opened_at', 'desc'],
  ['id', 'desc'],
] as const;

const PAGE = 500;

interface ToolSessionParts {
  readonly client: Pick<ActorClient, 'ask' | 'read'> & SessionEvents;
  /** Collection `TOOL_SESSIONS`. */
  readonly sessions: Collection<ToolSessionDocument>;
  /** Where large results are. */
  readonly blobs: Pick<Blobs, 'get'>;
}

/** `ToolSessionApi` over messages, events and committed states. Keeps nothing but who waits. */
export function createToolSessionApi(parts: ToolSessionParts): ToolSessionApi {
  const { client, sessions } = parts;
  const tellRefusal = refusalsInTurn(client);
  return {
    async open(tenant, session, options = {}) {
      const message: Json = JSON.parse(JSON.stringify(session));
      await client.ask(sessionAddress(tenant, session.session_id), 'Open', message, options);
    },

    async invoke(tenant, sessionId, call, options = {}) {
      const address = sessionAddress(tenant, sessionId);
      const reply = await begun(client, address, call, options);
      switch (reply.kind) {
        case 'ended':
          return endOf({ ...parts, tenant, address }, reply.sequence);
        case 'accepted': {
          const waiting = { call: call.call, after: reply.sequence, replayed: reply.replayed };
          return endBehind({ ...parts, tenant, address }, waiting, options.signal);
        }
        default:
          return reply;
      }
    },

    async refuse(tenant, sessionId, refusal) {
      const address = knownAddress(tenant, sessionId);
      if (address === null) return;
      // Read first: whoever guesses ids must not make a message of each guess.
      const state = await stateOf(client, address);
      if (state?.status !== 'active' || state.counts.refused > SESSION_LIMITS.refusals) return;
      const { envelopeHash, reason } = refusal;
      await tellRefusal(address, { envelope_hash: envelopeHash, reason: reason.slice(0, 500) });
    },

    async tools(tenant, sessionId) {
      const state = await stateOf(client, sessionAddress(tenant, sessionId));
      if (state === null || state.session === null) throw unknownSession();
      if (state.status !== 'active' || state.grant === null) {
        throw new SvcError('failed_precondition', 'the session is not active');
      }
      return state.grant.tools;
    },

    async revoke(identity, sessionId) {
      const reason = `revoked by ${identity.subject.slice(0, 200)}`;
      await seenState(client, identity, sessionId);
      await found(client.ask(sessionAddress(identity.tenant, sessionId), 'Revoke', { reason }, { identity }));
    },

    async audit(viewer, sessionId) {
      const address = sessionAddress(tenantOfViewer(viewer), sessionId);
      await seenState(client, viewer, sessionId);
      const records: AuditRecord[] = [];
      for (;;) {
        const page = await client.events(address, records.length, PAGE);
        records.push(...page.map(({ payload }) => AuditRecord.parse(payload)));
        if (page.length < PAGE) break;
      }
      if (records.length === 0) throw unknownSession();
      return records;
    },

    async list(viewer, { executionId, ...page }) {
      const where: Record<string, Condition> = { ...seenPart(viewer) };
      if (executionId !== undefined) where.execution_id = executionId;
      const of = { tenant: tenantOfViewer(viewer), where, sort: NEWEST_FIRST };
      const asked = { ...page, limit: Math.min(page.limit, MOST_LISTED) };
      return shownPage(await pageOf(sessions, 'tool sessions', of, asked), summaryOf);
    },

    async get(viewer, sessionId) {
      const state = await seenState(client, viewer, sessionId);
      const shown = projectToolSession(state, { tenant: tenantOfViewer(viewer), id: sessionId });
      if (shown === null) throw unknownSession();
      return summaryOf(shown);
    },
  };
}

type Shown = Omit<ToolSessionDocument, 'version'>;

const summaryOf = (shown: Shown): SessionSummary => ({
  session_id: shown.id,
  execution_id: shown.execution_id,
  agent_id: shown.agent_id,
  source: shown.source,
  status: shown.status,
  calls: shown.calls,
  denied: shown.denied,
  opened_at: shown.opened_at,
});

const sessionAddress = (tenant: string, sessionId: string): Address => addressOf('tool-session', tenant, sessionId);

/** Null for what cannot be an address: it comes from tokens that nobody signed. */
function knownAddress(tenant: string, sessionId: string): Address | null {
  try {
    return sessionAddress(tenant, sessionId);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'invalid_argument') return null;
    throw thrown;
  }
}

const unknownSession = (): SvcError => new SvcError('not_found', 'session not found');

async function found<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') throw unknownSession();
    throw thrown;
  }
}

async function stateOf(client: Pick<ActorClient, 'read'>, address: Address): Promise<ToolSessionState | null> {
  const snapshot = await client.read(address);
  return snapshot === null ? null : ToolSessionState.parse(snapshot.state);
}

/** Throws `not_found` for what the viewer does not see. */
async function seenState(
  client: Pick<ActorClient, 'read'>,
  viewer: Viewer,
  sessionId: string,
): Promise<ToolSessionState> {
  const state = await stateOf(client, sessionAddress(tenantOfViewer(viewer), sessionId));
  if (state === null || (state.session !== null && !sees(viewer, ownerOf(state.session).owner))) throw unknownSession();
  return state;
}

const INACTIVE = { kind: 'inactive' as const, message: 'the session is not active' };

async function begun(
  client: Pick<ActorClient, 'ask'>,
  address: Address,
  call: InvokeCall,
  options: CallOptions,
): Promise<InvokeReply> {
  const args: Json = JSON.parse(JSON.stringify(call.arguments ?? {}));
  const message = {
    call: call.call,
    tool: call.tool,
    arguments: args,
    call_hash: canonicalHash({ name: call.tool, arguments: args }),
    envelope_hash: call.envelopeHash,
    payload_hash: call.payloadHash,
    last: call.last === true,
  };
  try {
    return InvokeReply.parse(await client.ask(address, 'Invoke', message, options));
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return INACTIVE;
    throw thrown;
  }
}

/** Refusals of one session that wait at this node; of a greater flood the rest is not recorded. */
const MOST_WAITING = 64;

const TIMEOUT_MS = 5_000;

/**
 * Tells sessions of refused envelopes, those of one session one after another: strangers send them, and its mailbox is
 * for its calls. Throws as `ActorClient.ask`.
 */
export function refusalsInTurn(client: Pick<ActorClient, 'ask'>): (session: Address, refusal: Json) => Promise<void> {
  const waiting = new Map<Address, { count: number; last: Promise<unknown> }>();
  return async (session, refusal) => {
    const line = waiting.get(session) ?? { count: 0, last: Promise.resolve() };
    if (line.count >= MOST_WAITING) return;
    line.count += 1;
    waiting.set(session, line);
    const told = line.last.then(() => client.ask(session, 'Refuse', refusal, { timeoutMs: TIMEOUT_MS }));
    // What became of the one before is its own caller's to hear.
    line.last = told.catch(() => {});
    try {
      await told;
    } finally {
      line.count -= 1;
      if (line.count === 0) waiting.delete(session);
    }
  };
}
