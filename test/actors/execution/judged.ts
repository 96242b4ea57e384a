import { Convene, PanelConcluded } from '../../../actors/judge-panel/messages.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import type { DrivenTurn } from '../../../runtime/testing/actor-driver.ts';
import { DrivenExecution, manifestOf } from './driven-execution.ts';

export const ada: Identity = {
  ...{ kind: 'tenant_user', subject: 'ada', tenant: 'acme' },
  ...{ roles: ['svc:operator'], tier: 'pro' },
};

export const CRITIC: JsonObject = { type: 'semantic', judge_agent: 'critic', criteria: 'Is it short?' };
export const THREE: JsonObject = { type: 'multi_judge', judges: ['a', 'b', 'c'], criteria: 'Is it true?' };
export const DIGITS: JsonObject = { type: 'regex', pattern: '^[0-9]+$' };

/** An agent of three iterations with these validators. */
export const judgedBy = (validation: Json, execution: JsonObject = {}) =>
  manifestOf({ execution: { mode: 'iterative', max_iterations: 3, validation, ...execution } });

export interface Said {
  readonly score: number;
  readonly confidence?: number;
  readonly reasoning?: string;
}

/** An execution whose judges answer as the test says. */
export class JudgedExecution extends DrivenExecution {
  constructor() {
    super();
    this.identity = ada;
  }

  sent(type: string): { readonly to: string; readonly payload: Json }[] {
    const sends = this.turns.flatMap((turn) => turn.sends);
    return sends.filter((message) => message.type === type).map(({ to, payload }) => ({ to, payload }));
  }

  /** Panels convened so far. */
  get panels(): Convene[] {
    return this.sent('Convene').map(({ payload }) => Convene.parse(payload));
  }

  get panel(): Convene {
    const last = this.panels.at(-1);
    if (last === undefined) throw new Error('no panel was convened');
    return last;
  }

  /** Prompts of models that judged, oldest first. */
  get prompts(): string[] {
    const texts = this.turns.flatMap(({ effects }) => effects.map(({ request }) => JSON.stringify(request.input)));
    return texts.map((text) => JSON.parse(text).messages[0].content);
  }

  /** The panel's outcome, with the given consensus and its judges. */
  verdict(consensus: Said, judges: readonly Said[] = [consensus], panel: Convene = this.panel): DrivenTurn {
    const { score, confidence = 1 } = consensus;
    const results = judges.map((judge, at) => ({
      agent_id: `id-${at}`,
      score: judge.score,
      confidence: judge.confidence ?? 1,
      reasoning: judge.reasoning ?? 'It does what was asked.',
    }));
    return this.word(panel, {
      status: 'concluded',
      consensus: { score, confidence, strategy: panel.consensus.strategy, metadata: {} },
      individual_results: results,
      agents: panel.judges.map(({ weight }, at) => ({ agent_id: `id-${at}`, output: null, weight })),
    });
  }

  /** `code`: set when asking again cannot help. */
  noVerdict(error: string, panel: Convene = this.panel, code?: string): DrivenTurn {
    return this.word(panel, { status: 'failed', error, ...(code === undefined ? {} : { code }) });
  }

  private word({ panel_id, notify }: Convene, more: JsonObject): DrivenTurn {
    const word = PanelConcluded.parse({
      ...{ panel_id, error: null, consensus: null, binary_valid: false, individual_results: [], agents: [] },
      context: notify?.context ?? null,
      ...more,
    });
    return this.send('PanelWord', JSON.parse(JSON.stringify(word)), 'actor');
  }

  /** The answer of the model that was asked to judge. */
  judged(outcome: Json, effectId = this.effectId): DrivenTurn {
    return this.send('ModelJudged', { effectId, kind: 'model.generate', attempt: 1, outcome }, 'effect');
  }

  judgedText(text: string, effectId = this.effectId): DrivenTurn {
    const usage = { input_tokens: 3, output_tokens: 2, cost: 0.25 };
    return this.judged({ kind: 'done', value: { text, tool_calls: [], finish_reason: 'stop', usage } }, effectId);
  }
}

export function started(validation: Json, execution: JsonObject = {}): JudgedExecution {
  const driven = new JudgedExecution();
  driven.start(judgedBy(validation, execution));
  return driven;
}
