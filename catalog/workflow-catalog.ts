import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Page, shownPage } from '../runtime/documents/pages.ts';
import type { CollectionSpec, Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';
import type { AgentCatalog, CatalogStatus } from './api.ts';
import { type BuiltIns, NO_BUILT_INS } from './built-in/api.ts';
import type { ShelfEntry, Whole } from './shelf/entry.ts';
import type { StoredEvent } from './shelf/event-log.ts';
import type { ShelfKind } from './shelf/record.ts';
import { openShelf } from './shelf/shelf.ts';
import { ShelfCatalog } from './shelf/shelf-catalog.ts';
import {
  type CatalogReader,
  type DeployedWorkflow,
  type Finding,
  type InUse,
  NOT_IN_USE,
  type WorkflowCatalog,
  type WorkflowEntry,
  type WorkflowFilter,
  type WorkflowScope,
  type WorkflowValidation,
} from './workflow-api.ts';
import { checkedManifest, errorsOf, readWorkflowManifest, WorkflowChecks } from './workflow-checks.ts';

const WORKFLOW: ShelfKind<WorkflowManifest> = {
  noun: 'workflow',
  idField: 'workflow_id',
  events: {
    deployed: 'WorkflowRegistered',
    removed: 'WorkflowRemoved',
    moved: 'WorkflowScopeChanged',
    status: { deployed: 'WorkflowResumed', paused: 'WorkflowPaused', archived: 'WorkflowArchived' },
  },
  read: readWorkflowManifest,
  shown: ({ metadata: { description, labels }, spec: { initial_state } }) => ({ description, labels, initial_state }),
};

/** The catalog of workflows over a document store (see workflow-api.ts for what each call promises). */
export async function createWorkflowCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  /** What the checker looks agents up in. */
  readonly agents: Pick<AgentCatalog, 'get'>;
  readonly builtIns?: Pick<BuiltIns, 'workflows'>;
  readonly inUse?: Pick<InUse, 'workflow'>;
}): Promise<WorkflowCatalog> {
  const { documents, clock, random, agents, builtIns = NO_BUILT_INS, inUse = NOT_IN_USE } = parts;
  const shelf = await openShelf(documents, WORKFLOW, {
    ...{ records: WORKFLOWS, manifests: WORKFLOW_MANIFESTS, events: WORKFLOW_EVENTS },
  });
  const catalog = new ShelfCatalog({
    ...{ shelf, clock, random },
    shipped: () => builtIns.workflows.map(shippedOf),
    inUse: (tenant, id) => inUse.workflow(tenant, id),
    insert: (_identity, record) => shelf.records.insert(record),
  });
  return new DocumentWorkflowCatalog(catalog, agents);
}

class DocumentWorkflowCatalog implements WorkflowCatalog {
  readonly #catalog: ShelfCatalog<WorkflowManifest>;
  readonly #checks: WorkflowChecks;

  constructor(catalog: ShelfCatalog<WorkflowManifest>, agents: Pick<AgentCatalog, 'get'>) {
    this.#catalog = catalog;
    const find = (reader: CatalogReader, name: string) =>
      catalog.get(reader, name).then(({ manifest }) => manifest, nullIfNone);
    this.#checks = new WorkflowChecks(find, agents);
  }

  async validate(reader: CatalogReader, manifestYaml: string): Promise<WorkflowValidation> {
    const { manifest, findings } = await this.#checks.check(reader, manifestYaml);
    const valid = errorsOf(findings).length === 0;
    if (manifest === null) return { valid, findings };
    const { name, version } = manifest.metadata;
    return { valid, findings, metadata: { name, version, initial_state: manifest.spec.initial_state } };
  }

  async deploy(
    identity: Identity,
    manifestYaml: string,
    { force, scope = 'tenant' }: { readonly force: boolean; readonly scope?: WorkflowScope },
  ): Promise<{ workflow_id: string; deployed: true; warnings: readonly Finding[] }> {
    this.#catalog.requireDeploy(identity, scope);
    const { tenant, subject } = identity;
    const checked = await this.#checks.check({ tenant, subject }, manifestYaml);
    const manifest = checkedManifest(checked);
    const workflow_id = await this.#catalog.deploy(identity, { manifest, manifestYaml, force }, scope);
    return { workflow_id, deployed: true, warnings: checked.findings };
  }

  async get(reader: CatalogReader, idOrName: string, version?: string): Promise<DeployedWorkflow> {
    const found = await this.#catalog.get(reader, idOrName, version);
    return { ...entryOf(found), manifest: found.manifest, manifest_yaml: found.manifest_yaml };
  }

  async list(reader: CatalogReader, filter: WorkflowFilter = {}): Promise<Page<WorkflowEntry>> {
    return shownPage(await this.#catalog.list(reader, filter), entryOf);
  }

  async versions(reader: CatalogReader, idOrName: string): Promise<WorkflowEntry[]> {
    return (await this.#catalog.versions(reader, idOrName)).map(entryOf);
  }

  async delete(
    identity: Identity,
    idOrName: string,
    options?: { readonly force?: boolean },
  ): Promise<{ workflow_id: string }> {
    return { workflow_id: await this.#catalog.delete(identity, idOrName, options) };
  }

  async setStatus(identity: Identity, idOrName: string, status: CatalogStatus): Promise<WorkflowEntry> {
    return entryOf(await this.#catalog.setStatus(identity, idOrName, status));
  }

  async promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<WorkflowEntry> {
    return entryOf(await this.#catalog.promote(identity, idOrName, target));
  }

  async demote(
    identity: Identity,
    idOrName: string,
    target: 'tenant' | 'user',
    userId?: string,
  ): Promise<WorkflowEntry> {
    return entryOf(await this.#catalog.demote(identity, idOrName, target, userId));
  }
}

function entryOf(entry: ShelfEntry): WorkflowEntry {
  const { id, name, version, initial_state = '', scope, owner, status, description, labels, deployed_at } = entry;
  return { id, name, version, initial_state, scope, owner, status, description, labels, deployed_at };
}

const shippedOf = (workflow: DeployedWorkflow): Whole<WorkflowManifest> => ({ ...workflow, tenant: SYSTEM_TENANT });

function nullIfNone(thrown: unknown): null {
  if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
  throw thrown;
}

export interface WorkflowEventRecord extends StoredEvent {
  readonly workflow_id: string;
}

export const WORKFLOWS: CollectionSpec = {
  name: 'workflows',
  unique: [['scope', 'owner', 'name']],
  indexes: [['name']],
  // A list reads these alone, and whole records only when it does not know them (shelf/kept-entries.ts).
  beside: ['owner', 'scope', 'status', 'version'],
};

export const WORKFLOW_MANIFESTS: CollectionSpec = { name: 'workflow_manifests', unique: [], indexes: [] };

export const WORKFLOW_EVENTS: CollectionSpec = {
  name: 'workflow_events',
  unique: [],
  indexes: [['workflow_id', 'sequence'], ['recorded_at']],
};
