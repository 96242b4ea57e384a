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

/** svc.workflow.*, as far as they are about what is deployed (W35). */
export function workflowDeployTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(workflowCreate, async ({ manifest_yaml, force, ...judging }, managedCall) => {
      const { ports, identity } = managedCall;
      await checkBefore(ports.workflows, identity, { manifest_yaml, force });
      const validation_results = await judged(ports.judges, { manifest_yaml, ...judging }, managedCall);
      // The text that was judged is the text that is deployed, and all checks are made again with it.
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

    define(workflowDelete, async ({ name }, { ports, identity }) => {
      requireChange(identity, (await ports.workflows.get(readerOf(identity), name)).scope);
      const { workflow_id } = await ports.workflows.delete(identity, name);
      return { workflow_id, deleted: true };
    }),

    define(workflowList, async ({ tenant_id, scope, user_id }, { ports, identity }) => {
      const eyes = eyesOf(inTenant(identity, tenant_id, 'tenant not found'), user_id);
      const { items } = await ports.workflows.list(eyes, scope === undefined ? {} : { scope });
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

/** What would be refused anyway is refused before a judge spends time on it. Throws what the deploy would. */
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

/** Where the workflow stands now; one that is not there is not made. */
async function update(
  { manifest_yaml, force }: Deploying,
  { ports: { workflows }, identity }: ManagedCall,
): Promise<object> {
  const { metadata } = await workflows.validate(readerOf(identity), manifest_yaml);
  // What is wrong with the text the deploy says best, and first.
  const found = metadata === undefined ? null : await workflows.get(readerOf(identity), metadata.name);
  if (found !== null) refuseShipped('workflow', found);
  const scope = found?.scope ?? scopeOfNew(identity);
  requireChange(identity, scope);
  const { workflow_id, warnings } = await workflows.deploy(identity, manifest_yaml, { force, scope });
  return { workflow_id, updated: true, warnings };
}

/** Workflow summary (W37). */
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

/** Of one judge, its start included: a call of a tool ends after 630 s. */
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
 * Has every judge look at the manifest, and answers what each said. Throws a `validation_failed` failure with all that was
 * said when one refuses: its score is below `min_score` or its confidence below `min_confidence`; `failed_precondition`
 * when one gave no verdict, `not_found` naming one that is not deployed.
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
    ...{ strategy: 'unanimous', threshold: min_score, min_agreement_confidence: min_confidence, early_stop: false },
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

/** What a judge is given: as ValidateWithJudges gives it (G9). */
const contentOf = ({ manifest_yaml, task_context }: Judging): string =>
  JSON.stringify({
    task: 'Judge whether this workflow manifest is fit to be deployed.',
    output: manifest_yaml,
    ...(task_context === undefined ? {} : { context: { task_context } }),
  });

const resultsOf = ({ individual_results }: PanelConcluded, { min_score, min_confidence }: Judging): readonly Result[] =>
  individual_results.map(({ agent_id, score, confidence, reasoning }) => ({
    ...{ agent_id, score, confidence, reasoning },
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
