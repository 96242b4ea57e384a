import { RUN_RULES } from '../../../actors/run-rules.ts';
import { workflowActor } from '../../../actors/workflow/definition.ts';
import { WorkflowState } from '../../../actors/workflow/state.ts';
import { type WorkflowManifest, WorkflowManifestSchema } from '../../../manifests/workflow/schema.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { Message } from '../../../runtime/message.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { toJson } from '../../support/to-json.ts';

export const RUN_ID = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a11';
export const WORKFLOW_ID = '9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e12';

/** A manifest of these states; the first is the initial one. */
export function manifestOf(
  states: JsonObject,
  extra: { readonly spec?: JsonObject; readonly annotations?: Record<string, string> } = {},
): WorkflowManifest {
  return WorkflowManifestSchema.parse({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name: 'release', version: '1.2.0', annotations: extra.annotations ?? {} },
    spec: { initial_state: Object.keys(states)[0] ?? '', states, ...extra.spec },
  });
}

/** One state under test, then DONE or FAILED by its status; `transitions` in the state wins. */
export function single(state: JsonObject, extra: Parameters<typeof manifestOf>[1] = {}): WorkflowManifest {
  const byStatus = [
    { condition: 'on_success', target: 'DONE' },
    { condition: 'on_failure', target: 'BAD' },
  ];
  return manifestOf({ STEP: { transitions: byStatus, ...state }, DONE: pure('ok'), BAD: pure('bad') }, extra);
}

/** A System state that ends in the turn and records that it ran. */
export const pure = (value: string, transitions: JsonObject[] = []): JsonObject => ({
  kind: 'System',
  command: 'update_blackboard',
  env: { ran: value },
  transitions,
});

/** A run driven through pure turns, with helpers for its tests. */
export class DrivenWorkflow extends ActorDriver {
  constructor(maxTransitions?: number) {
    super(workflowActor(maxTransitions === undefined ? {} : { maxTransitions }), 'acme', RUN_ID);
  }

  start(manifest: WorkflowManifest, extra: JsonObject = {}): DrivenTurn {
    const ids = { execution_id: RUN_ID, workflow_id: WORKFLOW_ID };
    const base = { ...ids, manifest: toJson(manifest), input: { who: 'ann' }, rules: RUN_RULES };
    return this.send('Start', { ...base, ...extra });
  }

  /** The last effect that was requested and not cancelled. */
  get effect() {
    const effect = [...this.effects.values()].at(-1);
    if (effect === undefined) throw new Error('no effect was asked for');
    return effect;
  }

  result(outcome: Json, effectId = this.effect.id): DrivenTurn {
    const { kind, replyAs } = this.turns.flatMap((turn) => turn.effects).find(({ id }) => id === effectId)?.request ?? {
      kind: '?',
      replyAs: 'CommandEnded',
    };
    this.effects.delete(effectId);
    return this.send(replyAs, { effectId, kind, attempt: 1, outcome }, 'effect');
  }

  done(value: Json, effectId = this.effect.id): DrivenTurn {
    return this.result({ kind: 'done', value }, effectId);
  }

  fail(code: string, message = `it is ${code}`, effectId = this.effect.id): DrivenTurn {
    return this.result({ kind: 'failed', code, message }, effectId);
  }

  exit(exit_code: number | null, extra: JsonObject = {}, effectId = this.effect.id): DrivenTurn {
    return this.done({ exit_code, stdout: 'out', stderr: 'err', duration_ms: 7, ...extra }, effectId);
  }

  /** Id under which the run addressed an actor: an execution, a child, a panel or an approval. */
  get awaitedId(): string {
    const { view } = this;
    if (!('awaiting' in view)) throw new Error('the run waits for nothing');
    const { awaiting } = view;
    if (awaiting.kind === 'agent' || awaiting.kind === 'child') return awaiting.execution_id;
    if (awaiting.kind === 'panel') return awaiting.panel_id;
    if (awaiting.kind === 'approval') return awaiting.approval_id;
    throw new Error(`the run waits for ${awaiting.kind}`);
  }

  agentWord(word: JsonObject, id = this.awaitedId): DrivenTurn {
    const base = { agent_id: 'a', output: null, reason: null, error: null, iterations: 1, score: 1, context: null };
    return this.send('AgentWord', { ...base, execution_id: id, ...word }, 'actor');
  }

  childWord(word: JsonObject, id = this.awaitedId): DrivenTurn {
    const base = { workflow_id: 'child-id', reason: null, error: null, output: null, blackboard: {}, context: null };
    return this.send('ChildWord', { ...base, execution_id: id, ...word }, 'actor');
  }

  panelWord(word: JsonObject, id = this.awaitedId): DrivenTurn {
    const base = { status: 'concluded', error: null, consensus: null, binary_valid: true, context: null };
    return this.send('PanelWord', { ...base, panel_id: id, individual_results: [], agents: [], ...word }, 'actor');
  }

  approvalWord(kind: string, payload: string | null = null, feedback: string | null = null, id = this.awaitedId) {
    return this.send('ApprovalWord', { approval_id: id, kind, payload, feedback, context: null }, 'actor');
  }

  get names(): string[] {
    return this.events.map((event) => event.name);
  }

  get view() {
    return WorkflowState.parse(this.state);
  }

  get status(): string {
    return this.view.status;
  }

  get blackboard(): JsonObject {
    const { view } = this;
    return view.status === 'pending' ? {} : view.blackboard;
  }

  get current(): string | null {
    const { view } = this;
    return view.status === 'pending' ? null : view.current_state;
  }

  /** Messages of the run to other actors in the last turn. */
  get told(): readonly Message[] {
    return this.turns.at(-1)?.sends ?? [];
  }

  /** Names of the states entered, in order. */
  get path(): string[] {
    return this.payloads('WorkflowStateEntered').map(({ state_name }) => String(state_name));
  }

  payloads(name: string): JsonObject[] {
    return this.events.filter((event) => event.name === name).map((event) => toJson(event.payload));
  }
}
