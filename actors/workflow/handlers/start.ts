import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, ownerPart } from '../../../runtime/identity.ts';
import { type JsonObject, plainObject } from '../../../runtime/json.ts';
import { askEffect } from '../ask-effect.ts';
import { blackboardBytes } from '../blackboard.ts';
import { badDoubtPolicy, isoTime, notifyParent } from '../ending.ts';
import { emitPipelineStarted } from '../intent-pipeline.ts';
import { jsonBytes } from '../json-values.ts';
import { LIMITS } from '../limits.ts';
import type { Start as StartMessage, WorkflowTurn } from '../messages.ts';
import { advance } from '../run.ts';
import { CONTAINERS, isBadlySealed } from '../scope.ts';
import type { IdleWorkflow, WorkflowState } from '../state.ts';

/** pending → running. Starting again under the same id gets the same answer, whatever has happened to the run since. */
export const start =
  (settings: { readonly maxTransitions: number }) =>
  (state: WorkflowState, message: StartMessage, turn: WorkflowTurn): WorkflowState => {
    if (state.status !== 'pending') {
      if (state.workflow_id !== message.workflow_id)
        turn.refuse('conflict', 'the execution id is in use for another workflow');
      turn.reply({ execution_id: state.execution_id, status: state.status });
      return state;
    }
    const seed = seeded(message.manifest, message.blackboard);
    const problem = problemOf(message, seed);
    if (problem !== null) turn.refuse(problem.code, problem.message, problem.details);
    const next = begin(newRun(message, seed, settings.maxTransitions, turn), turn);
    turn.reply({ execution_id: message.execution_id, status: next.status });
    return next;
  };

function begin(run: IdleWorkflow, turn: WorkflowTurn): WorkflowState {
  const { execution_id, workflow_id, workflow_name, workflow_version, started_at } = run;
  const started = { execution_id, workflow_id, workflow_name, workflow_version, started_at };
  turn.emit('WorkflowExecutionStarted', started);
  emitPipelineStarted(run, turn);
  notifyParent(run, { status: 'running', reason: null, error: null, output: null, blackboard: {} }, turn);
  const { storage, initial_state } = run.manifest.spec;
  if (storage.workspace === undefined && storage.shared_volumes.length === 0) return advance(run, initial_state, turn);
  const input = {
    workflow_execution_id: execution_id,
    workspace: storage.workspace ?? null,
    shared_volumes: storage.shared_volumes,
    identity: run.identity,
  };
  const effectId = askEffect('volumes.prepare', plainObject(input), null, turn);
  return { ...run, awaiting: { kind: 'volumes', effect_id: effectId } };
}

function newRun(message: StartMessage, seed: Seed, maxTransitions: number, turn: WorkflowTurn): IdleWorkflow {
  const { metadata, spec } = message.manifest;
  const startedAt = isoTime(turn);
  return {
    status: 'running',
    execution_id: message.execution_id,
    workflow_id: message.workflow_id,
    workflow_name: metadata.name,
    workflow_version: metadata.version,
    manifest: message.manifest,
    identity: turn.identity ?? ownIdentity(turn),
    ancestors: message.ancestors,
    ...ownerPart(turn.identity),
    labels: message.labels,
    trace_id: turn.trace,
    notify: message.notify,
    pipeline: message.pipeline,
    rules: message.rules,
    intent: message.intent ?? null,
    input: message.input,
    context: spec.context,
    blackboard: seed.blackboard,
    blackboard_bytes: seed.bytes,
    storage: { workspace: message.execution_id, implicit: true, shared: {} },
    visits: {},
    current_state: null,
    feedback: '',
    human_feedback: null,
    entry: 0,
    max_transitions: maxTransitions,
    in_doubt: 0,
    started_at: startedAt,
    last_transition_at: startedAt,
  };
}

/** For a start without an identity (by the node's maintenance): children run in the name of this actor, without roles. */
export const ownIdentity = ({ self, tenant }: WorkflowTurn): Identity => ({
  kind: 'actor',
  subject: self,
  tenant,
  roles: [],
  tier: 'free',
});

/** Why a run with these values is refused; null when it is not. */
export function problemOf(
  { manifest, input, intent = '', blackboard }: Values,
  seed = seeded(manifest, blackboard),
): SvcError | null {
  const policy = badDoubtPolicy(manifest);
  if (policy !== null) {
    const path = `metadata.annotations.${policy}`;
    return badAnnotation(path, 'expected retry, fail or ask');
  }
  if (isBadlySealed(manifest)) return badAnnotation(`metadata.annotations.${CONTAINERS}`, 'expected sealed');
  return (
    tooLarge('input', jsonBytes(input), LIMITS.inputBytes) ??
    tooLarge('intent', intent.length, LIMITS.intentChars) ??
    tooLarge('blackboard', seed.bytes, LIMITS.blackboardBytes) ??
    tooMany('blackboard', Object.keys(seed.blackboard).length, LIMITS.blackboardKeys) ??
    tooLarge('manifest.spec.context', jsonBytes(manifest.spec.context), LIMITS.contextBytes) ??
    tooLarge('manifest', Buffer.byteLength(JSON.stringify(manifest)), LIMITS.manifestBytes)
  );
}

type Values = Pick<StartMessage, 'manifest' | 'input' | 'intent' | 'blackboard'>;

const badAnnotation = (path: string, message: string): SvcError =>
  new SvcError('invalid_manifest', `${path}: ${message}`, { details: [{ path, message }] });

/** The initial blackboard of a run, and its size. */
interface Seed {
  readonly blackboard: JsonObject;
  readonly bytes: number;
}

/** The caller's entries override the manifest's constants (W18). There may be many, so they are copied and measured once. */
function seeded({ spec }: StartMessage['manifest'], pairs: JsonObject = {}): Seed {
  const blackboard = { ...spec.context, ...pairs };
  return { blackboard, bytes: blackboardBytes(blackboard) };
}

function tooLarge(field: string, size: number, limit: number): SvcError | null {
  if (size <= limit) return null;
  const message = `${field} has a size of ${size}, the limit is ${limit}`;
  return new SvcError('payload_too_large', message, {
    details: [{ path: field, message: `expected at most ${limit}` }],
  });
}

function tooMany(field: string, count: number, limit: number): SvcError | null {
  if (count <= limit) return null;
  return new SvcError('payload_too_large', `${field} has ${count} keys, the limit is ${limit}`, {
    details: [{ path: field, message: `expected at most ${limit} keys` }],
  });
}
