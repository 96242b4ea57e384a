import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { Json } from '../../../runtime/json.ts';
import type { Convene, PanelConcluded } from '../../judge-panel/messages.ts';
import { bounded } from '../ask-effect.ts';
import type { WorkflowTurn } from '../messages.ts';
import { renderer } from '../render.ts';
import type { IdleWorkflow } from '../state.ts';
import { agentName } from './agent.ts';
import { type Begun, failed, type StepResult, succeeded } from './step.ts';

/** Kind ParallelAgents (spec 3): a judge panel is convened; it asks each judge and makes one verdict. */
export function beginParallelAgents(run: IdleWorkflow, step: StateOf<'ParallelAgents'>, turn: WorkflowTurn): Begun {
  const render = renderer(run);
  const panelId = turn.newId();
  const judges = bounded(
    step.agents.map(({ agent, input, weight, timeout_seconds }) => ({
      agent: agentName(render(agent)),
      input: input === undefined ? '' : render(input),
      weight,
      timeout_ms: timeout_seconds * 1_000,
    })),
  );
  const convene: Convene = {
    panel_id: panelId,
    judges: [...judges],
    consensus: step.consensus,
    workflow_execution_id: run.execution_id,
    // A turn that an effect's result caused has no identity of its own.
    identity: run.identity,
    notify: { to: turn.self, as: 'PanelWord', context: { entry: run.entry } },
  };
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Convene', plain(convene));
  return { kind: 'waits', awaiting: { kind: 'panel', panel_id: panelId, judges: judges.length } };
}

/** Optional fields of the rule may be present and undefined; JSON has no undefined. */
function plain(convene: Convene): Json {
  const json: Json = JSON.parse(JSON.stringify(convene));
  return json;
}

/** Spec 3, kind ParallelAgents: consensus, individual_results, agents. */
export function panelResult(word: PanelConcluded): StepResult {
  const { consensus, individual_results, agents } = word;
  const record = { individual_results, agents };
  if (word.status === 'concluded' && consensus !== null) return succeeded({ consensus: { ...consensus }, ...record });
  const code = word.status === 'cancelled' ? 'cancelled' : 'too_few_judges';
  return failed(code, word.error ?? `the judge panel ${word.status}`, record);
}
