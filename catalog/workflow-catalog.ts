import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';
import type { AgentCatalog } from './api.ts';
import { EventLog } from './event-log.ts';
import { checkPage, MAX_PAGE } from './page.ts';
import { type ManifestRecord, StoredManifests } from './stored-manifests.ts';
import type {
  CatalogReader,
  DeployedWorkflow,
  Finding,
  WorkflowCatalog,
  WorkflowEntry,
  WorkflowScope,
  WorkflowValidation,
} from './workflow-api.ts';
import { checkedManifest, errorsOf, readWorkflowManifest, WorkflowChecks } from './workflow-checks.ts';
import { listRecords } from './workflow-list.ts';
import { findStanding, findToChange, findVisible } from './workflow-lookup.ts';
import { moveWorkflow } from './workflow-move.ts';
import { requireChange, requireDeploy, requireScopeChange } from './workflow-permissions.ts';
import {
  type Place,
  WORKFLOW_EVENTS,
  WORKFLOW_MANIFESTS,
  WORKFLOWS,
  type WorkflowEventRecord,
  type WorkflowRecord,
} from './workflow-record.ts';
import {
  busy,
  deletedRecord,
  deployedRecord,
  entryOf,
  newestEntry,
  notFound,
  placeOf,
  refusalOf,
  shownOf,
} from './workflow-rules.ts';
import { MAX_ATTEMPTS, WorkflowShelf } from './workflow-shelf.ts';

/** The catalog of workflows over a document store (see workflow-api.ts for what each call promises). */
export async function createWorkflowCatalog(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  /** What the checker looks agents up in. */
  readonly agents: Pick<AgentCatalog, 'get'>;
}): Promise<WorkflowCatalog> {
  const { documents, clock, random, agents } = parts;
  const shelf = new WorkflowShelf({
    records: await documents.collection<WorkflowRecord>(WORKFLOWS),
    manifests: new StoredManifests(
      await documents.collection<ManifestRecord>(WORKFLOW_MANIFESTS),
      readWorkflowManifest,
    ),
    log: new EventLog<WorkflowEventRecord>({
      events: await documents.collection<WorkflowEventRecord>(WORKFLOW_EVENTS),
      ownerField: 'workflow_id',
      row: (event, workflow_id) => ({ ...event, workflow_id }),
    }),
  });
  return new DocumentWorkflowCatalog({ shelf, agents, clock, random });
}

interface Parts {
  readonly shelf: WorkflowShelf;
  readonly agents: Pick<AgentCatalog, 'get'>;
  readonly clock: Clock;
  readonly random: Random;
}

class DocumentWorkflowCatalog implements WorkflowCatalog {
  readonly #parts: Parts;
  readonly #shelf: WorkflowShelf;
  readonly #checks: WorkflowChecks;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#shelf = parts.shelf;
    const find = (reader: CatalogReader, name: string) =>
      this.get(reader, name).then(({ manifest }) => manifest, nullIfNone);
    this.#checks = new WorkflowChecks(find, parts.agents);
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
    requireDeploy(identity, scope);
    const checked = await this.#checks.check(readerOf(identity), manifestYaml);
    const manifest = checkedManifest(checked);
    const place = placeOf(identity, scope);
    const manifestId = this.#parts.random.uuid();
    // The text goes in first: a record never points to a text that is not there.
    await this.#shelf.manifests.add(place.tenant, manifestId, manifestYaml);
    const workflow_id = await this.#register(identity, { manifest, manifestId, place, force });
    return { workflow_id, deployed: true, warnings: checked.findings };
  }

  /** Puts the version into the workflow's record, whoever else writes it meanwhile. Answers the workflow's id. */
  async #register(
    identity: Identity,
    deploy: { manifest: WorkflowManifest; manifestId: string; place: Place; force: boolean },
  ): Promise<string> {
    const { manifest, manifestId, place, force } = deploy;
    const { records, log, manifests } = this.#shelf;
    const { name, version } = manifest.metadata;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#shelf.at(place, name);
      if (known !== null && !(await this.#shelf.isSettled(known))) continue;
      const refusal = refusalOf(manifest, known, force);
      if (refusal !== null) {
        await manifests.remove(place.tenant, [{ manifest_id: manifestId }]);
        throw refusal;
      }
      const workflowId = known?.id ?? this.#parts.random.uuid();
      const record = deployedRecord(manifest, known, {
        ...{ place, workflowId, manifestId },
        at: this.#now(),
        by: identity.subject,
      });
      const written = known === null ? await records.insert(record) : await records.replace(record, known.version);
      if (!written) continue;
      await log.record(record);
      const replaced = known?.versions.find((entry) => entry.version === version);
      if (replaced !== undefined) await manifests.remove(place.tenant, [replaced]);
      return workflowId;
    }
    throw busy();
  }

  async get(reader: CatalogReader, idOrName: string, version?: string): Promise<DeployedWorkflow> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const seen = await findVisible(this.#shelf, reader, idOrName);
      const [found] = seen.flatMap((record) => {
        const entry =
          version === undefined ? record.versions[0] : record.versions.find((one) => one.version === version);
        return entry === undefined ? [] : [{ record, entry }];
      });
      if (found === undefined) throw new SvcError('not_found', 'workflow version not found', { field: 'version' });
      const parsed = await this.#shelf.manifests.get(found.record.tenant, found.entry.manifest_id);
      if (parsed !== null) return { ...entryOf(found.record, found.entry, shownOf(parsed.manifest)), ...parsed };
      // The version was replaced, moved or deleted between the two reads: read again.
    }
    throw busy();
  }

  async list(
    reader: CatalogReader,
    filter: { readonly scope?: 'global' | 'visible'; readonly limit?: number; readonly skip?: number } = {},
  ): Promise<WorkflowEntry[]> {
    const page = checkPage(filter.limit ?? MAX_PAGE, filter.skip ?? 0, 'skip');
    return (await listRecords(this.#shelf, reader, { scope: filter.scope, ...page })).map(newestEntry);
  }

  async versions(reader: CatalogReader, idOrName: string): Promise<WorkflowEntry[]> {
    const [record] = await findVisible(this.#shelf, reader, idOrName);
    if (record === undefined) return notFound();
    const entries: WorkflowEntry[] = [];
    for (const entry of record.versions) {
      const parsed = await this.#shelf.manifests.get(record.tenant, entry.manifest_id);
      if (parsed !== null) entries.push(entryOf(record, entry, shownOf(parsed.manifest)));
    }
    return entries;
  }

  async delete(identity: Identity, idOrName: string): Promise<{ workflow_id: string }> {
    const { records, log } = this.#shelf;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await findToChange(this.#shelf, identity, idOrName);
      requireChange(identity, known);
      await log.recover(known);
      const record = deletedRecord(known, identity.subject, this.#now());
      // From here on it is gone for everyone; what follows only cleans up.
      if (!(await records.replace(record, known.version))) continue;
      await log.record(record);
      await this.#shelf.purge(record);
      return { workflow_id: known.id };
    }
    throw busy();
  }

  promote(identity: Identity, idOrName: string, target: 'tenant' | 'global'): Promise<WorkflowEntry> {
    return this.#move(identity, idOrName, {
      from: target === 'tenant' ? 'user' : 'tenant',
      to: placeOf(identity, target),
    });
  }

  demote(identity: Identity, idOrName: string, target: 'tenant' | 'user', userId?: string): Promise<WorkflowEntry> {
    const to = placeOf(identity, target, userId);
    return this.#move(identity, idOrName, { from: target === 'tenant' ? 'global' : 'tenant', to });
  }

  async #move(
    identity: Identity,
    idOrName: string,
    { from, to }: { readonly from: WorkflowScope; readonly to: Place },
  ): Promise<WorkflowEntry> {
    requireScopeChange(identity, from, to.scope);
    const known = await findStanding(this.#shelf, identity, idOrName, from);
    const { shelf, clock, random } = this.#parts;
    return newestEntry(await moveWorkflow({ shelf, clock, random, by: identity.subject }, known, to));
  }

  #now(): string {
    return new Date(this.#parts.clock.now()).toISOString();
  }
}

const readerOf = ({ tenant, subject }: Identity): CatalogReader => ({ tenant, subject });

function nullIfNone(thrown: unknown): null {
  if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
  throw thrown;
}
