import type { StateOf } from '../../../manifests/workflow/schema.ts';
import { addressOf } from '../../../runtime/address.ts';
import { type JsonObject, jsonObjectIn, plainJson } from '../../../runtime/json.ts';
import type { ExecutionUpdate } from '../../execution/update.ts';
import type { Convene, PanelConcluded } from '../../judge-panel/messages.ts';
import { hasRules } from '../../run-rules.ts';
import { askEffect, bounded } from '../ask-effect.ts';
import { own } from '../json-values.ts';
import type { WorkflowTurn } from '../messages.ts';
import { renderer } from '../scope.ts';
import type { IdleWorkflow } from '../state.ts';
import { type Begun, failed, StepFailure, type StepResult, succeeded } from './step.ts';
import { volumeIdOf, withRunWorkspace } from './volumes.ts';

/** Kind Agent (W7): starts an execution under a new id and waits for its updates. */
export function beginAgent(run: IdleWorkflow, step: StateOf<'Agent'>, turn: WorkflowTurn): Begun {
  const render = renderer(run);
  const executionId = turn.newId();
  const mounts = step.volumes.map(({ volume, mount_path, access_mode }) => ({
    volume_id: volumeIdOf(run, render(volume)),
    mount_path,
    access_mode,
  }));
  const input = {
    execution_id: executionId,
    agent: agentName(render(step.agent)),
    input: step.input === undefined ? '' : render(step.input),
    isolation: step.isolation,
    mounts: [...withRunWorkspace(run, step.workspace, mounts, (at) => ({ ...at, access_mode: 'read-write' as const }))],
    workflow_execution_id: run.execution_id,
    notify: { to: turn.self, as: 'AgentWord', context: { entry: run.entry } },
    identity: run.identity,
  };
  bounded([input]);
  const effectId = askEffect('agent.start', input, { entry: run.entry }, turn);
  return { kind: 'waits', awaiting: { kind: 'agent', effect_id: effectId, execution_id: executionId } };
}

const MAX_NAME = 128;

/** A rendered name or UUID of an agent or workflow. */
export function agentName(text: string): string {
  const name = text.trim();
  if (name !== '' && name.length <= MAX_NAME) return name;
  throw new StepFailure('invalid_argument', `expected a name of 1 to ${MAX_NAME} characters, got ${name.length}`);
}

/** Output of kind Agent (W7): status, output, score, iterations; `confidence` is for its condition. */
export function agentResult(update: ExecutionUpdate): StepResult {
  const { output, iterations } = update;
  if (update.status !== 'completed') {
    const record = { output, score: 0, confidence: 0, iterations, execution_id: update.execution_id };
    const code = update.status === 'cancelled' ? 'cancelled' : (update.reason ?? 'failed');
    return failed(code, update.error ?? `the agent's execution ${update.status}`, record);
  }
  const said = jsonObjectIn(output ?? '');
  // A validator's score below 1 takes precedence over the score in the agent's output.
  const score = update.score < 1 ? update.score : (fraction(said, 'score') ?? update.score);
  const confidence = fraction(said, 'confidence') ?? 1;
  return succeeded({ output, score, confidence, iterations, execution_id: update.execution_id });
}

function fraction(said: JsonObject | null, key: string): number | undefined {
  const value = said === null ? undefined : own(said, key);
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined;
}

/** Kind ParallelAgents (W10): convenes a judge panel, which asks each judge and returns one verdict. */
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
    // A turn that an effect's result caused has no identity.
    identity: run.identity,
    notify: { to: turn.self, as: 'PanelWord', context: { entry: run.entry } },
    in_prose: hasRules(run, 1) ? true : undefined,
    rules: hasRules(run, 3) ? run.rules : undefined,
  };
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Convene', plainJson(convene));
  return { kind: 'waits', awaiting: { kind: 'panel', panel_id: panelId, judges: judges.length } };
}

/** Output of kind ParallelAgents (W10): consensus, individual_results, agents. */
export function panelResult(panel: PanelConcluded): StepResult {
  const { consensus, individual_results, agents } = panel;
  const record = { individual_results, agents };
  if (panel.status === 'concluded' && consensus !== null) return succeeded({ consensus: { ...consensus }, ...record });
  const code = panel.status === 'cancelled' ? 'cancelled' : (panel.code ?? 'too_few_judges');
  return failed(code, panel.error ?? `the judge panel ${panel.status}`, record);
}
