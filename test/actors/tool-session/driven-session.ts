import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { toolSessionActor } from '../../../actors/tool-session/definition.ts';
import { InvokeReply } from '../../../actors/tool-session/messages.ts';
import { ToolSessionState } from '../../../actors/tool-session/state.ts';
import { AuditRecord, recordHash } from '../../../manifests/audit/record.ts';
import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import type { CallLimits, ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { ToolGrant, ToolOffer } from '../../../manifests/tool/scope.ts';
import type { Json } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn, type OpenEffect } from '../../../runtime/testing/actor-driver.ts';

export const SESSION = '6f1c3a52-0000-4000-8000-00000000000a';
const EXECUTION = '6f1c3a52-0000-4000-8000-00000000000e';
const AGENT = '6f1c3a52-0000-4000-8000-00000000000f';
export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

const offer = (name: string, more: Partial<ToolOffer> = {}): ToolOffer => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object' },
  schema_hash: sha(name),
  source: 'builtin',
  skip_judge: true,
  mode: 'repeatable',
  reads: true,
  runs: 'node',
  ...more,
});

/** Tools of the grant: `slow.one` one at a time, `cmd.run` never repeated. */
const grant: ToolGrant = {
  security_context: 'test',
  deny_list: [],
  capabilities: [],
  manifest: [],
  network: null,
  filesystem: null,
  tools: [offer('fs.read'), offer('slow.one'), offer('cmd.run', { mode: 'once', reads: false })],
};

const LIMITS: Readonly<Record<string, CallLimits>> = { 'slow.one': { max_concurrent: 1 } };

const Arguments = z.object({ path: z.unknown().optional() });

/** Decides like the real policy: name, then arguments. `path` is required, and `/etc` is forbidden. */
const policy: ToolPolicy = {
  decide({ tools }, call) {
    const found = tools.find(({ name }) => name === call.name);
    if (found === undefined) {
      return { allowed: false, reason: 'ToolNotAllowed', message: `${call.name}: no such tool` };
    }
    const { path } = Arguments.parse(call.arguments);
    if (typeof path !== 'string') {
      const message = `${call.name}: path is required`;
      return { allowed: false, reason: 'InvalidArguments', message, field: 'path', offer: found };
    }
    if (path.startsWith('/etc')) {
      return { allowed: false, reason: 'PathOutsideBoundary', message: `${path} is outside`, offer: found };
    }
    return { allowed: true, offer: found, arguments: { path }, limits: LIMITS[call.name] ?? {} };
  },
};

export const definition = toolSessionActor({ policy });

export const opening = (more: Record<string, Json> = {}): Json => ({
  session_id: SESSION,
  source: 'seal',
  subject: {
    execution_id: EXECUTION,
    agent_id: AGENT,
    session_id: SESSION,
    principal: { kind: 'operator', subject: 'ada', roles: [], tier: 'free' },
    mounts: [],
    isolation: 'process',
  },
  grant: JSON.parse(JSON.stringify(grant)),
  public_key: 'k',
  expires_at: null,
  ...more,
});

export const asked = (call: string, more: Record<string, Json> = {}): Record<string, Json> => {
  const made = { tool: 'fs.read', arguments: { path: 'a.txt' }, ...more };
  const payload = sha(JSON.stringify([call, made]));
  return {
    call,
    envelope_hash: sha(`e${payload}`),
    payload_hash: payload,
    call_hash: sha(JSON.stringify(made)),
    ...made,
  };
};

export function session(more: Record<string, Json> = {}): ActorDriver {
  const actor = new ActorDriver(definition, 'acme', SESSION);
  actor.send('Open', opening(more));
  return actor;
}

export const answer = ({ reply }: DrivenTurn): InvokeReply =>
  reply?.ok === true ? InvokeReply.parse(reply.value) : assert.fail(JSON.stringify(reply));
export const refusal = ({ reply }: DrivenTurn): string | undefined => (reply?.ok === false ? reply.code : undefined);
export const stateOf = (actor: ActorDriver): ToolSessionState => ToolSessionState.parse(actor.state);

export const said = (text: string, more: Partial<ToolOutcome> = {}): ToolOutcome => ({
  content: [{ type: 'text', text }],
  is_error: false,
  duration_ms: 1,
  ...more,
});

/** The effect ends; by default it says `done`. */
export function end(actor: ActorDriver, effect: OpenEffect | undefined, outcome?: Json): DrivenTurn {
  const { id, request } = effect ?? assert.fail('no effect');
  actor.effects.delete(id);
  return actor.send(
    'ToolEnded',
    {
      effectId: id,
      kind: request.kind,
      attempt: 1,
      context: request.context ?? null,
      outcome: outcome ?? { kind: 'done', value: JSON.parse(JSON.stringify(said('done'))) },
    },
    'effect',
  );
}

/** The chain so far, with every link checked as by an auditor. */
export function chain(actor: ActorDriver): AuditRecord[] {
  let previous: string | null = null;
  return actor.events.map(({ seq, payload }) => {
    const record = AuditRecord.parse(payload);
    assert.equal(record.sequence, seq);
    assert.equal(record.previous_hash, previous);
    assert.equal(recordHash(record), record.hash);
    previous = record.hash;
    return record;
  });
}

export const bodies = (actor: ActorDriver) => chain(actor).map(({ body }) => body);
