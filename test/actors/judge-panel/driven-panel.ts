import { judgePanel } from '../../../actors/judge-panel/definition.ts';
import type { ConsensusRule, PanelConcluded } from '../../../actors/judge-panel/messages.ts';
import { type EndedPanel, JudgePanelState } from '../../../actors/judge-panel/state.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { ActorDriver, type DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { toJson } from '../../support/to-json.ts';
import { ruleOf } from './rules.ts';

export const PANEL_ID = '5a0c9a52-7a3e-4b67-9d44-0d0f6d1f2a05';

export const ada: Identity = {
  kind: 'tenant_user',
  subject: 'ada',
  tenant: 'acme',
  roles: ['svc:operator'],
  tier: 'pro',
};

/** A valid output of a judge. */
export const written = (score: number, confidence = 1, more: JsonObject = {}): string =>
  JSON.stringify({ score, confidence, reasoning: 'It does what was asked.', ...more });

interface Asked {
  readonly judges?: number;
  readonly weights?: readonly number[];
  readonly rule?: ConsensusRule;
  readonly identity?: Identity | null;
  /** `RUN_RULES` of the run that asks. */
  readonly rules?: number;
}

/** A panel driven through pure turns, with helpers for its tests. Judges are agents `judge-0`, `judge-1` … */
export class DrivenPanel extends ActorDriver {
  constructor() {
    super(judgePanel, 'acme', PANEL_ID);
  }

  convene({
    judges = 3,
    weights = [],
    rule = ruleOf('weighted_average'),
    identity = ada,
    rules,
  }: Asked = {}): DrivenTurn {
    return this.send('Convene', {
      panel_id: PANEL_ID,
      judges: Array.from({ length: judges }, (_, index) => ({
        agent: `judge-${index}`,
        input: `judge this, ${index}`,
        weight: weights[index] ?? 1,
        timeout_ms: 60_000,
      })),
      consensus: toJson(rule),
      workflow_execution_id: 'wf-1',
      notify: { to: 'workflow/acme/wf-1', as: 'PanelConcluded', context: { state: 'REVIEW' } },
      ...(rules === undefined ? {} : { rules }),
      ...(identity === null ? {} : { identity: toJson(identity) }),
    });
  }

  seat(judge: number) {
    const state = this.view;
    const seat = state.status === 'idle' ? undefined : state.seats[judge];
    if (seat === undefined) throw new Error(`there is no judge ${judge}`);
    return seat;
  }

  started(judge: number): DrivenTurn {
    return this.startResult(judge, { kind: 'done', value: { agent_id: agentId(judge) } });
  }

  notStarted(judge: number, code: string, message: string): DrivenTurn {
    return this.startResult(judge, { kind: 'failed', code, message });
  }

  private startResult(judge: number, outcome: Json): DrivenTurn {
    const effectId = this.seat(judge).effect_id;
    const result = { effectId, kind: 'agent.start', attempt: 1, context: { judge }, outcome };
    return this.send('JudgeStarted', result, 'effect');
  }

  word(judge: number, status: 'running' | 'completed' | 'failed' | 'cancelled', more: JsonObject = {}): DrivenTurn {
    const word = {
      execution_id: this.seat(judge).execution_id,
      agent_id: agentId(judge),
      status,
      output: null,
      reason: status === 'failed' ? 'max_iterations_exceeded' : null,
      error: null,
      iterations: 1,
      score: 0,
      context: { judge },
      ...more,
    };
    return this.send('JudgeWord', word, 'actor');
  }

  /** From start to end. */
  answers(judge: number, output: string): DrivenTurn {
    this.started(judge);
    this.word(judge, 'running');
    return this.word(judge, 'completed', { output });
  }

  get view(): JudgePanelState {
    return JudgePanelState.parse(this.state);
  }

  get ended(): EndedPanel {
    const state = this.view;
    if (state.status !== 'ended') throw new Error(`the panel is ${state.status}`);
    return state;
  }

  get outcome(): PanelConcluded {
    return this.ended.outcome;
  }

  get names(): string[] {
    return this.events.map(({ name }) => name);
  }

  payloads(name: string): JsonObject[] {
    return this.events.filter((event) => event.name === name).map(({ payload }) => toJson(payload));
  }

  /** Messages to other actors, from all turns. */
  sent(type: string): { readonly to: string; readonly payload: Json }[] {
    const sends = this.turns.flatMap((turn) => turn.sends);
    return sends.filter((message) => message.type === type).map(({ to, payload }) => ({ to, payload }));
  }

  /** All requested effects. */
  get asked() {
    return this.turns.flatMap((turn) => turn.effects);
  }
}

export const agentId = (judge: number): string => `9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e0${judge}`;
