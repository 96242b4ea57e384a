import type { WorkflowCatalog, WorkflowEntry } from '../../../catalog/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { Tool } from '../../tool.ts';
import { eyesOf, inTenant, readerOf, requireChange } from '../caller.ts';
import { unless } from '../failure.ts';
import { scopeOfNew } from '../generate/scope.ts';
import { type ManagedCall, managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { requestOf, searchAnswer } from '../search-contract.ts';
import { refuseShipped } from '../shipped.ts';
import {
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
import { judged } from './judging.ts';

/** svc.workflow.*, as far as they are about what is deployed (spec 3, Workflow tools). */
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

/** Workflow summary of spec 3, Tool result records. */
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
