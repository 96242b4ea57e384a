import type { CallLimits, ToolDecision } from '../../manifests/tool/decision.ts';
import { mayRunAhead, type ToolGrant } from '../../manifests/tool/scope.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { SessionTurn } from './appending.ts';
import type { Session } from './state.ts';

/** A tool bounds itself; this ends what does not. */
const LONGEST_MS = 600_000;
const MARGIN_MS = 30_000;
/** Of failures before the tool acted, which the effect reports as kind `retry`, also of what must not be repeated. */
const RETRY = { maxAttempts: 3, initialDelayMs: 250, maxDelayMs: 2_000 };

/** What `max_concurrent` counts together. */
export const capabilityOf = (tool: string, limits: CallLimits): string => limits.capability ?? tool;

export interface Beginning {
  readonly call: string;
  readonly decision: Extract<ToolDecision, { allowed: true }>;
  readonly session: Session;
  readonly grant: ToolGrant;
}

/** Asks for the effect of an allowed call; answers its id. */
export function begin({ call, decision, session, grant }: Beginning, turn: SessionTurn): string {
  const { offer, limits } = decision;
  const { tools: _pinned, ceilings: _ceilings, ...scope } = grant;
  const commandMs = (limits.command?.timeout_secs ?? 0) * 1_000;
  const input: JsonObject = {
    tool: offer.name,
    arguments: decision.arguments,
    schema_hash: offer.schema_hash,
    ...(offer.server === undefined ? {} : { server: offer.server }),
    subject: plain(session.subject),
    scope: plain(scope),
    limits: plain(limits),
  };
  return turn.effect({
    kind: 'tool.call',
    mode: offer.mode,
    ahead: mayRunAhead(offer),
    input,
    replyAs: 'ToolEnded',
    context: { call },
    timeoutMs: Math.max(LONGEST_MS, commandMs) + MARGIN_MS,
    retry: RETRY,
  });
}

/** As it travels: without members that are not there. */
const plain = (value: object): Json => JSON.parse(JSON.stringify(value));
