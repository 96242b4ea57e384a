import type { ExecutionDocument } from '../../actors/execution/view.ts';
import type { WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { newestFirst, readToken, tokenOf } from '../../runtime/documents/pages.ts';
import type { Collection, Condition, Find, Position } from '../../runtime/documents.ts';
import { seenPart, tenantOfViewer, type Viewer } from '../../runtime/identity.ts';
import { isUnfinished, type Run, type RunDocument, type RunKind, type RunStatus, runOf } from './run.ts';
import { matches, type RunFilter, statusesOf } from './run-filter.ts';

/** A page of runs. `next` continues behind it; it is absent at the end. A page may be short and have a `next`. */
interface RunPage {
  readonly runs: Run[];
  readonly next?: string;
}

/** Executions of agents and runs of workflows in one list, newest first. Lags like every list (R2). */
export interface RunsApi {
  /** Throws `invalid_argument` naming `next` for a token of another filter. */
  list(viewer: Viewer, filter: RunFilter, page: { readonly limit: number; readonly next?: string }): Promise<RunPage>;
}

interface RunsParts {
  readonly executions: Collection<ExecutionDocument>;
  readonly workflows: Collection<WorkflowExecutionDocument>;
  readonly client: Pick<ActorClient, 'isServed'>;
}

/**
 * Most documents that one call examines. Conditions without an index are tested on documents read along the order, so a
 * rare match makes a short page instead of a slow one.
 */
const MOST_EXAMINED = 1_000;
/** Documents that are read at a time where not every one matches. */
const CHUNK = 200;
/** Most runs whose ids begin with the same text that are found. */
const MOST_BY_ID = 200;
/** Text of at least this length that can only be the beginning of an id is looked up by id. */
const ID_TEXT = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/;

const NEWEST_FIRST = newestFirst('started_at');

export function createRunsApi({ executions, workflows, client }: RunsParts): RunsApi {
  const collections = { execution: executions, workflow: workflows };

  /** Finds documents of one kind and gives them their kind. */
  async function find(kind: RunKind, asked: Find): Promise<RunDocument[]> {
    if (kind === 'execution') return (await collections.execution.find(asked)).map((document) => ({ kind, document }));
    return (await collections.workflow.find(asked)).map((document) => ({ kind, document }));
  }

  async function byId(viewer: Viewer, filter: RunFilter, prefix: string, limit: number): Promise<RunPage> {
    const served = new ServedPools(client);
    const where = { removed: false, ...seenPart(viewer), id: { gte: prefix, lt: `${prefix}~` } };
    const asked: Find = { tenant: tenantOfViewer(viewer), where, sort: [['id', 'asc']], limit: MOST_BY_ID };
    const found = await Promise.all(kindsOf(filter).map((kind) => find(kind, asked)));
    const runs: Run[] = [];
    for (const one of found.flat()) runs.push(await served.run(one));
    const matching = runs.filter((run) => matches(run, filter)).sort(newerFirst);
    const page = matching.slice(0, limit);
    const last = page.at(-1);
    // Further pages are found along the order: an id that begins with the text matches it too.
    if (last === undefined || matching.length <= limit) return { runs: page };
    return { runs: page, next: tokenOf(placed(viewer, filter), [last.started_at, last.id]) };
  }

  return {
    async list(viewer, filter, { limit, next }) {
      const tenant = tenantOfViewer(viewer);
      const prefix = filter.text?.toLowerCase() ?? '';
      if (next === undefined && ID_TEXT.test(prefix)) {
        const found = await byId(viewer, filter, prefix, limit);
        if (found.runs.length > 0) return found;
      }
      const what = placed(viewer, filter);
      const after = readToken(what, { pageToken: next }, 'next');
      const sources = sourcesOf(viewer, filter).map(
        (source) => new Source((asked) => find(source.kind, { ...asked, tenant, where: source.where }), after),
      );
      const served = new ServedPools(client);
      const chunk = isIndexed(filter) ? Math.min(CHUNK, limit + 1) : CHUNK;
      const runs: Run[] = [];
      let last: Position | undefined;
      for (let examined = 0; runs.length < limit && examined < MOST_EXAMINED; examined += 1) {
        const document = await newest(sources, chunk);
        if (document === null) return { runs };
        // Two queries may find the same run: one by its parent, one by its workflow run.
        if (document.document.id === last?.[1]) continue;
        last = [document.document.started_at, document.document.id];
        const run = await served.run(document);
        if (matches(run, filter)) runs.push(run);
      }
      if (last === undefined || !(await isMore(sources, chunk, last))) return { runs };
      return { runs, next: tokenOf(what, last) };
    },
  };
}

/** Identifies the list and conditions that a page token belongs to. */
const placed = (viewer: Viewer, filter: RunFilter) => ['runs', tenantOfViewer(viewer), seenPart(viewer), filter];

const kindsOf = ({ kind }: RunFilter): readonly RunKind[] => (kind === undefined ? ['execution', 'workflow'] : [kind]);

const newerFirst = (a: Run, b: Run): number => compare(b.started_at, a.started_at) || compare(b.id, a.id);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface SourceQuery {
  readonly kind: RunKind;
  readonly where: Readonly<Record<string, Condition>>;
}

/**
 * The queries whose results together contain every match. Each has only conditions that an index of the order answers: one
 * query for each status, since an index gives no order over several.
 */
function sourcesOf(viewer: Viewer, filter: RunFilter): SourceQuery[] {
  const { name, from, to } = filter;
  const statuses = statusesOf(filter);
  const time = { ...(from === undefined ? {} : { gte: from }), ...(to === undefined ? {} : { lt: to }) };
  const shared = {
    removed: false,
    ...seenPart(viewer),
    ...(Object.keys(time).length === 0 ? {} : { started_at: time }),
  };
  const { parent, traceId } = filter;
  if (parent !== undefined)
    return kindsOf(filter).flatMap((kind): SourceQuery[] => [
      { kind, where: { ...shared, parent_id: parent } },
      ...(kind === 'execution' ? [{ kind, where: { ...shared, workflow_execution_id: parent } }] : []),
    ]);
  if (traceId !== undefined) return kindsOf(filter).map((kind) => ({ kind, where: { ...shared, trace_id: traceId } }));
  const byName = name !== undefined && !(statuses?.every(isUnfinished) ?? false);
  return kindsOf(filter).flatMap((kind): SourceQuery[] => {
    if (byName) return [{ kind, where: { ...shared, [kind === 'execution' ? 'agent_name' : 'workflow_name']: name } }];
    if (statuses === null) return [{ kind, where: shared }];
    return statuses.filter((status) => isOf(kind, status)).map((status) => ({ kind, where: { ...shared, status } }));
  });
}

/** Whether every document that the queries find meets the conditions. */
const isIndexed = ({ version, labels, tags, node, text, outcome, errorCode, waitReason, parent }: RunFilter): boolean =>
  [version, labels, tags, node, text, outcome, errorCode, waitReason, parent].every((one) => one === undefined);

const isOf = (kind: RunKind, status: RunStatus): boolean =>
  status !== (kind === 'execution' ? 'waiting_for_human_input' : 'pending');

/** One query, read along its order in chunks. */
class Source {
  readonly #find: (asked: Pick<Find, 'sort' | 'limit' | 'after'>) => Promise<RunDocument[]>;
  #after: Position | undefined;
  #read: RunDocument[] = [];
  #isAtEnd = false;

  constructor(
    find: (asked: Pick<Find, 'sort' | 'limit' | 'after'>) => Promise<RunDocument[]>,
    after: Position | undefined,
  ) {
    this.#find = find;
    this.#after = after;
  }

  /** Returns the next document without taking it; null at the end. */
  async peek(chunk: number): Promise<RunDocument | null> {
    if (this.#read.length === 0 && !this.#isAtEnd) {
      const found = await this.#find({ sort: NEWEST_FIRST, limit: chunk, after: this.#after });
      const last = found.at(-1)?.document;
      if (last !== undefined) this.#after = [last.started_at, last.id];
      this.#isAtEnd = found.length < chunk;
      this.#read = found.reverse();
    }
    return this.#read.at(-1) ?? null;
  }

  take(): void {
    this.#read.pop();
  }
}

/** Takes the newest of the next documents of all sources; null when all are at their ends. */
async function newest(sources: readonly Source[], chunk: number): Promise<RunDocument | null> {
  let best: { readonly source: Source; readonly document: RunDocument } | null = null;
  for (const source of sources) {
    const document = await source.peek(chunk);
    if (document === null) continue;
    if (best === null || isNewer(document, best.document)) best = { source, document };
  }
  best?.source.take();
  return best?.document ?? null;
}

/** Whether a document other than the last one taken, which two sources may have, follows. */
async function isMore(sources: readonly Source[], chunk: number, last: Position): Promise<boolean> {
  for (;;) {
    const document = await newest(sources, chunk);
    if (document === null) return false;
    if (document.document.id !== last[1]) return true;
  }
}

function isNewer({ document: a }: RunDocument, { document: b }: RunDocument): boolean {
  return a.started_at === b.started_at ? a.id > b.id : a.started_at > b.started_at;
}

/** Shows runs, and looks up once whether the pools of unfinished ones are served. */
export class ServedPools {
  readonly #client: Pick<ActorClient, 'isServed'>;
  readonly #known = new Map<string, boolean>();

  constructor(client: Pick<ActorClient, 'isServed'>) {
    this.#client = client;
  }

  async run(document: RunDocument): Promise<Run> {
    const { status, pool } = document.document;
    if (pool !== undefined && isUnfinished(status) && !this.#known.has(pool))
      this.#known.set(pool, await this.#client.isServed(pool));
    return runOf(document, (name) => this.#known.get(name) ?? true);
  }
}
