import type { z } from 'zod';
import type { WorkflowCatalog, WorkflowEntry } from '../../../catalog/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import type { ConsensusRule, Judge, JudgePanelApi, PanelConcluded } from '../../../usecases/judge-panels.ts';
import {
  eyesOf,
  inTenant,
  type LateManagement,
  readerOf,
  requireChange,
  unless,
} from '../../../usecases/management.ts';
import { type Tool, ToolFailure } from '../../tool.ts';
import { type ManagedCall, managed, refuseShipped, scopeOfNew } from '../managed.ts';
import { requestOf, searchAnswer } from '../search-contract.ts';
import {
  type validationResults,
  workflowCreate,
  workflowDelete,
  workflowDemote,
  workflowExport,
  workflowList,
  workflowPromote,
  workflowSearch,
  workflowUpdate,
  workflowValidate,
} from './deploy-contracts.ts';

/** The tools svc.workflow.* for deployed workflows (W35). */
export function workflowDeployTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(workflowCreate, async ({ manifest_yaml, force, ...judging }, managedCall) => {
      const { ports, identity } = managedCall;
      await checkBefore(ports.workflows, identity, { manifest_yaml, force });
      const validation_results = await judged(ports.judges, { manifest_yaml, ...judging }, managedCall);
      // Deploys exactly the text that was judged. The deploy makes all checks again.
      const deployed = await ports.workflows.deploy(identity, manifest_yaml, { force, scope: scopeOfNew(identity) });
      return { ...deployed, validation_results };
    }),

    define(workflowUpdate, update),

    define(workflowValidate, ({ manifest_yaml }, { ports, identity }) =>
      ports.workflows.validate(readerOf(identity), manifest_yaml),
    ),

    define(workflowExport, async ({ name }, { ports, identity }) => {
      const { manifest_yaml, ...found } = await ports.workflows.get(readerOf(identity), name);
      return { manifest_yaml, metadata: metadataOf(found) };
    }),

    define(workflowDelete, async ({ name, force }, { ports, identity }) => {
      requireChange(identity, (await ports.workflows.get(readerOf(identity), name)).scope);
      const { workflow_id } = await ports.workflows.delete(identity, name, { force });
      return { workflow_id, deleted: true };
    }),

    define(workflowList, async ({ tenant_id, scope, user_id }, { ports, identity }) => {
      const eyes = eyesOf(inTenant(identity, tenant_id, 'tenant not found'), user_id);
      const { items } = await ports.workflows.list(eyes, { scope });
      return { workflows: items.map(listed) };
    }),

    define(workflowSearch, async (asked, { ports, identity }) =>
      searchAnswer('svc.workflow.search', asked, await ports.search.workflows(readerOf(identity), requestOf(asked))),
    ),

    define(workflowPromote, async ({ name, target_scope, tenant_id }, { ports, identity }) => {
      const mover = inTenant(identity, tenant_id, 'workflow not found');
      const moved = await ports.workflows.promote(mover, name, target_scope);
      return { workflow_id: moved.id, name: moved.name, promoted: true, target_scope };
    }),

    define(workflowDemote, async ({ name, target_scope, user_id, tenant_id }, { ports, identity }) => {
      const mover = inTenant(identity, tenant_id, 'workflow not found');
      const moved = await ports.workflows.demote(mover, name, target_scope, user_id);
      return { workflow_id: moved.id, name: moved.name, demoted: true, target_scope };
    }),
  ];
}

interface Deploying {
  readonly manifest_yaml: string;
  readonly force: boolean;
}

/**
 * Makes the checks of a deploy before judges spend time on the manifest. Throws the errors that the deploy would throw.
 */
async function checkBefore(
  workflows: WorkflowCatalog,
  identity: Identity,
  { manifest_yaml, force }: Deploying,
): Promise<void> {
  const { valid, findings, metadata } = await workflows.validate(readerOf(identity), manifest_yaml);
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (!valid) throw new SvcError('invalid_manifest', undefined, { details: errors });
  if (force || metadata === undefined) return;
  const { name, version } = metadata;
  const known = await unless('not_found', workflows.get(readerOf(identity), name, version));
  if (known?.scope === scopeOfNew(identity))
    throw new SvcError('conflict', `${name} ${version} is deployed already; raise the version or force it`);
}

/** Deploys a new version of a workflow in its current scope. Throws `not_found` when there is no such workflow. */
async function update(
  { manifest_yaml, force }: Deploying,
  { ports: { workflows }, identity }: ManagedCall,
): Promise<object> {
  const { metadata } = await workflows.validate(readerOf(identity), manifest_yaml);
  // For an invalid manifest, `deploy` below throws the precise error.
  const found = metadata === undefined ? null : await workflows.get(readerOf(identity), metadata.name);
  if (found !== null) refuseShipped('workflow', found);
  const scope = found?.scope ?? scopeOfNew(identity);
  requireChange(identity, scope);
  const { workflow_id, warnings } = await workflows.deploy(identity, manifest_yaml, { force, scope });
  return { workflow_id, updated: true, warnings };
}

/** The summary of a workflow in lists (W37). */
const listed = ({ id, name, version, initial_state }: WorkflowEntry) => ({ id, name, version, initial_state });

function metadataOf(workflow: WorkflowEntry) {
  const {
    id: workflow_id,
    name,
    version,
    description,
    initial_state,
    status,
    scope,
    owner,
    labels,
    deployed_at,
  } = workflow;
  return { workflow_id, name, version, description, initial_state, status, scope, owner, labels, deployed_at };
}

/** Time-out of one judge including its start, ms: a tool call ends after 630 s. */
const JUDGE_TIMEOUT_MS = 540_000;

interface Judging {
  readonly manifest_yaml: string;
  readonly task_context?: string | undefined;
  readonly judge_agents: readonly string[];
  readonly min_score: number;
  readonly min_confidence: number;
}

type Result = z.output<typeof validationResults>[number];

/**
 * Lets every judge assess the manifest and returns their verdicts. Throws a `validation_failed` failure with all
 * verdicts when a judge's score is below `min_score` or its confidence below `min_confidence`, `failed_precondition`
 * when a judge gave no verdict, and `not_found` naming a judge that is not deployed.
 */
async function judged(
  judges: JudgePanelApi,
  judging: Judging,
  { identity, call }: Pick<ManagedCall, 'identity' | 'call'>,
): Promise<readonly Result[]> {
  const { judge_agents, min_score, min_confidence } = judging;
  const names = [...new Set(judge_agents)];
  const input = contentOf(judging);
  const asked = names.map((agent): Judge => ({ agent, input, weight: 1, timeout_ms: JUDGE_TIMEOUT_MS }));
  const consensus: ConsensusRule = {
    strategy: 'unanimous',
    threshold: min_score,
    min_agreement_confidence: min_confidence,
    early_stop: false,
    min_judges_required: names.length,
    confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
  };
  const { signal, trace } = call;
  const panel = { panelId: call.id, judges: asked, consensus, identity };
  const concluded = await call.parked(judges.validate(panel, { trace, signal }));
  const results = resultsOf(concluded, judging);
  if (results.some(({ passed }) => !passed)) throw refusal(results, judging);
  return results;
}

/** The input of a judge, the same as in ValidateWithJudges (G9). */
const contentOf = ({ manifest_yaml, task_context }: Judging): string =>
  JSON.stringify({
    task: 'Judge whether this workflow manifest is fit to be deployed.',
    output: manifest_yaml,
    ...(task_context === undefined ? {} : { context: { task_context } }),
  });

const resultsOf = ({ individual_results }: PanelConcluded, { min_score, min_confidence }: Judging): readonly Result[] =>
  individual_results.map(({ agent_id, score, confidence, reasoning }) => ({
    agent_id,
    score,
    confidence,
    reasoning,
    passed: score >= min_score && confidence >= min_confidence,
  }));

function refusal(results: readonly Result[], { min_score, min_confidence }: Judging): ToolFailure {
  const said = results.map(
    ({ agent_id, score, confidence, passed, reasoning }) =>
      `${agent_id} ${passed ? 'passes' : 'refuses'} it (score ${score}, confidence ${confidence}): ${reasoning}`,
  );
  const needed = `a score of at least ${min_score} and a confidence of at least ${min_confidence} are needed`;
  const failure = new ToolFailure('validation_failed', [`not deployed: ${needed}`, ...said].join('\n'));
  const structured: JsonObject = { deployed: false, validation_results: results.map((result) => ({ ...result })) };
  failure.structured = structured;
  return failure;
}
