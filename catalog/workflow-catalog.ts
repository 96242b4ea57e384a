import type { KnownStorage } from '../manifests/workflow/check/flow.ts';
import { agentsNamedIn, childrenNamedIn } from '../manifests/workflow/finding.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import type { CollectionSpec, Documents } from '../runtime/documents.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { foundOrNull } from '../runtime/kit/found.ts';
import type { Random } from '../runtime/random.ts';
import {
  type AgentCatalog,
  type CatalogReader,
  type DeployedWorkflow,
  type Finding,
  type InUse,
  NOT_IN_USE,
  type WorkflowCatalog,
  type WorkflowEntry,
  type WorkflowScope,
  type WorkflowValidation,
} from './api.ts';
import { type BuiltIns, NO_BUILT_INS } from './built-in/api.ts';
import { invalidManifest } from './changes.ts';
import { readWorkflowManifest, workflowFindings } from './manifest-reading.ts';
import type { CheckedWorkflow, KnownToChecker } from './manifest-work.ts';
import type { CatalogEntry, EntryWithManifest } from './store/entry.ts';
import { openManifestStore } from './store/manifest-store.ts';
import type { CatalogKind, CatalogRecord } from './store/record.ts';
import { VersionedCatalog, type VersionedCatalogParts } from './store/versioned-catalog.ts';

/** Maximum number of children that the checker looks up; it reports nothing about further ones. */
const MAX_CHILDREN = 200;

const NOTHING_KNOWN: KnownToChecker = { agents: [], workflows: null };

/** Finds a workflow that the reader sees; null when there is none. */
type FindManifest = (reader: CatalogReader, idOrName: string) => Promise<WorkflowManifest | null>;

/** Checks manifests against the deployed agents and workflows. */
class WorkflowChecks {
  readonly #find: FindManifest;
  readonly #agents: Pick<AgentCatalog, 'get'>;
  readonly #storage: KnownStorage | undefined;

  constructor(find: FindManifest, agents: Pick<AgentCatalog, 'get'>, storage: KnownStorage | undefined) {
    this.#find = find;
    this.#agents = agents;
    this.#storage = storage;
  }

  async check(reader: CatalogReader, manifestYaml: string): Promise<CheckedWorkflow> {
    const read = await readWorkflowManifest(manifestYaml);
    const manifest = read.ok ? read.manifest : null;
    const known = manifest === null ? NOTHING_KNOWN : await this.#knownTo(reader, manifest);
    return { manifest, findings: await workflowFindings(manifestYaml, known) };
  }

  async #knownTo(reader: CatalogReader, manifest: WorkflowManifest): Promise<KnownToChecker> {
    const agents: string[] = [];
    for (const name of new Set(agentsNamedIn(manifest).map((named) => named.name)))
      if ((await foundOrNull(this.#agents.get(reader, name))) !== null) agents.push(name);
    const { found, isWhole } = await this.#children(reader, manifest);
    return { agents, workflows: isWhole ? found : null, storage: this.#storage };
  }

  /** The children of a workflow and their children, transitively, by the name with which they are started. */
  async #children(
    reader: CatalogReader,
    manifest: WorkflowManifest,
  ): Promise<{ found: ReadonlyMap<string, WorkflowManifest>; isWhole: boolean }> {
    const found = new Map<string, WorkflowManifest>();
    const asked = new Set([manifest.metadata.name]);
    const waiting = [manifest];
    for (const parent of waiting)
      for (const { name } of childrenNamedIn(parent)) {
        if (asked.has(name)) continue;
        if (asked.size > MAX_CHILDREN) return { found, isWhole: false };
        asked.add(name);
        const child = await this.#find(reader, name);
        if (child === null) continue;
        found.set(name, child);
        waiting.push(child);
      }
    return { found, isWhole: true };
  }
}

const errorsOf = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ severity }) => severity === 'error');

/** Throws `invalid_manifest` with all errors; warnings are not errors (W20). */
function checkedManifest({ manifest, findings }: CheckedWorkflow): WorkflowManifest {
  const errors = errorsOf(findings);
  if (manifest === null || errors.length > 0) throw invalidManifest(errors);
  return manifest;
}

/** Parses the text of a deployed manifest. */
async function readDeployed(manifestYaml: string): Promise<WorkflowManifest> {
  const parsed = await readWorkflowManifest(manifestYaml);
  if (parsed.ok) return parsed.manifest;
  throw invalidManifest(parsed.problems);
}

const WORKFLOW: CatalogKind<WorkflowManifest> = {
  noun: 'workflow',
  idField: 'workflow_id',
  events: {
    deployed: 'WorkflowRegistered',
    removed: 'WorkflowRemoved',
    moved: 'WorkflowScopeChanged',
    status: { deployed: 'WorkflowResumed', paused: 'WorkflowPaused', archived: 'WorkflowArchived' },
  },
  read: readDeployed,
  shown: ({ metadata: { description, labels }, spec: { initial_state } }) => ({ description, labels, initial_state }),
};

/** The catalog of workflows over a document store (see api.ts for what each call promises). */
export async function createWorkflowCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  /** Used by the checker to look up agents. */
  readonly agents: Pick<AgentCatalog, 'get'>;
  readonly builtIns?: Pick<BuiltIns, 'workflows'>;
  readonly inUse?: Pick<InUse, 'workflow'>;
  /** The node's support for volumes; absent: sizes are not checked. */
  readonly storage?: KnownStorage;
}): Promise<WorkflowCatalog> {
  const { documents, clock, random, agents, builtIns = NO_BUILT_INS, inUse = NOT_IN_USE, storage } = parts;
  const specs = { records: WORKFLOWS, manifests: WORKFLOW_MANIFESTS, events: WORKFLOW_EVENTS };
  const store = await openManifestStore(documents, WORKFLOW, specs);
  const catalogParts = {
    store,
    shipped: () => builtIns.workflows.map(shippedOf),
    inUse: (tenant: string | null, id: string) => inUse.workflow(tenant, id),
    insert: (_identity: Identity, record: CatalogRecord) => store.records.insert(record),
    summary: entryOf,
    clock,
    random,
  };
  return new DocumentWorkflowCatalog(catalogParts, agents, storage);
}

class DocumentWorkflowCatalog extends VersionedCatalog<WorkflowManifest, WorkflowEntry> implements WorkflowCatalog {
  readonly #checks: WorkflowChecks;

  constructor(
    parts: VersionedCatalogParts<WorkflowManifest, WorkflowEntry>,
    agents: Pick<AgentCatalog, 'get'>,
    storage: KnownStorage | undefined,
  ) {
    super(parts);
    const find = async (reader: CatalogReader, name: string) =>
      (await foundOrNull(this.find(reader, name)))?.manifest ?? null;
    this.#checks = new WorkflowChecks(find, agents, storage);
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
    this.requireDeploy(identity, scope);
    const { tenant, subject } = identity;
    const checked = await this.#checks.check({ tenant, subject }, manifestYaml);
    const manifest = checkedManifest(checked);
    const workflow_id = await this.register(identity, { manifest, manifestYaml, force }, scope);
    return { workflow_id, deployed: true, warnings: checked.findings };
  }

  async delete(
    identity: Identity,
    idOrName: string,
    options?: { readonly force?: boolean },
  ): Promise<{ workflow_id: string }> {
    return { workflow_id: await this.remove(identity, idOrName, options) };
  }
}

function entryOf(entry: CatalogEntry): WorkflowEntry {
  const { id, name, version, initial_state = '', scope, owner, status, description, labels, deployed_at } = entry;
  return { id, name, version, initial_state, scope, owner, status, description, labels, deployed_at };
}

const shippedOf = (workflow: DeployedWorkflow): EntryWithManifest<WorkflowManifest> => ({
  ...workflow,
  tenant: SYSTEM_TENANT,
});

export const WORKFLOWS: CollectionSpec = {
  name: 'workflows',
  unique: [['scope', 'owner', 'name']],
  indexes: [['name']],
  // A list reads only these fields; it reads whole records only when they are not cached (store/manifest-store.ts).
  beside: ['owner', 'scope', 'status', 'version'],
};

export const WORKFLOW_MANIFESTS: CollectionSpec = { name: 'workflow_manifests', unique: [], indexes: [] };

export const WORKFLOW_EVENTS: CollectionSpec = {
  name: 'workflow_events',
  unique: [],
  indexes: [['workflow_id', 'sequence'], ['recorded_at']],
};
