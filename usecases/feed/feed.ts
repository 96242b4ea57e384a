import { APPROVALS, type ApprovalDocument } from '../../actors/approval/view.ts';
import { EXECUTIONS, type ExecutionDocument } from '../../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../../actors/workflow/view.ts';
import type { ActorClient } from '../../runtime/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ChangeLog, ChangePosition, NumberedChange } from '../../runtime/documents/change-log.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, sees, tenantOfViewer, type Viewer } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import { requireRole } from '../../security/api.ts';
import type { ExecutionApi } from '../executions.ts';
import type { ClusterApi } from '../ports/cluster.ts';
import { ServedPools } from '../runs/list-runs.ts';
import type { Run } from '../runs/run.ts';
import { matches, type RunFilter } from '../runs/run-filter.ts';
import type { WorkflowApi } from '../workflow-runs.ts';
import { type FeedPosition, feedId } from './feed-id.ts';
import { merged } from './merged.ts';
import { type FeedNode, NodeWatch } from './node-watch.ts';
import { type Shown, TenantFeed } from './tenant-feed.ts';

export const FEED_TOPICS = ['run', 'approval', 'node'] as const;

export type FeedTopic = (typeof FEED_TOPICS)[number];

export interface FeedAsked {
  readonly topics: readonly FeedTopic[];
  readonly filter: RunFilter;
  /** Run whose events are sent too. */
  readonly followed?: string | undefined;
  /** The last record that the reader has; absent: it begins now. */
  readonly after?: FeedPosition | undefined;
}

/** One record of a feed: `data` has one key, the name of the record. */
export interface FeedRecord {
  readonly id: string;
  readonly name: string;
  readonly content: object;
}

/** An approval, as the feed shows it. */
type FeedApproval = Pick<
  ApprovalDocument,
  'id' | 'status' | 'execution_id' | 'state_name' | 'prompt' | 'created_at' | 'timeout_seconds' | 'resolved_at'
>;

type Content = { readonly run: Run } | { readonly approval: FeedApproval };

export interface FeedApi {
  /**
   * Opens a feed. It yields null after `heartbeatMs` of silence. Throws `not_found` for a followed run that the viewer
   * may not see, and `forbidden` when the viewer may not see nodes.
   */
  open(
    viewer: Identity,
    asked: FeedAsked,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): Promise<AsyncIterable<FeedRecord | null>>;
}

interface FeedParts {
  readonly log: Pick<ChangeLog, 'read' | 'end' | 'onAppend'>;
  readonly clock: Clock;
  readonly client: Pick<ActorClient, 'isServed'>;
  readonly executions: Pick<ExecutionApi, 'hasEnded' | 'follow'>;
  readonly workflows: Pick<WorkflowApi, 'status' | 'follow'>;
  readonly cluster: Pick<ClusterApi, 'status'>;
  readonly lists: {
    readonly executions: Collection<ExecutionDocument>;
    readonly workflows: Collection<WorkflowExecutionDocument>;
    readonly approvals: Collection<ApprovalDocument>;
  };
  readonly warn: (message: string, error: unknown) => void;
}

/** After this many changes without a record for the reader, the reader gets its new position. */
const SEND_POSITION_AFTER = 1_000;

/** One result of a source: the new position in that source, and the record if the reader gets one. */
interface Step {
  readonly position?: ChangePosition;
  readonly event?: number;
  readonly record?: Omit<FeedRecord, 'id'>;
}

/** Implements `FeedApi` over the change log: all readers of a tenant on a node share one read of it. */
export function createFeedApi(parts: FeedParts): FeedApi {
  const feeds = new Map<string, TenantFeed<Content>>();
  const nodes = new NodeWatch(parts);
  const show = showOf(parts);

  function enter(tenant: string): TenantFeed<Content> {
    const feed = feeds.get(tenant) ?? new TenantFeed<Content>({ ...parts, tenant, show });
    feeds.set(tenant, feed);
    feed.enter();
    return feed;
  }

  function leave(tenant: string, feed: TenantFeed<Content>): void {
    feed.leave();
    if (feed.isIdle) feeds.delete(tenant);
  }

  /** The changes behind a position that the viewer may see, and a reset whenever the position no longer exists. */
  async function* changes(
    viewer: Viewer,
    asked: FeedAsked,
    from: ChangePosition,
    signal: AbortSignal,
  ): AsyncGenerator<Step> {
    const tenant = tenantOfViewer(viewer);
    const feed = enter(tenant);
    try {
      let [position, era, isKnown] = [from, feed.era, false];
      while (!signal.aborted) {
        const { version } = feed;
        const isSameEra = feed.era === era;
        // The first read goes to the log, which knows whether the position still exists.
        const found = isSameEra ? ((isKnown ? feed.behind(position) : null) ?? (await feed.read(position))) : 'gone';
        if (found === 'gone') {
          position = await parts.log.end(tenant);
          [era, isKnown] = [feed.era, true];
          yield {
            position,
            record: {
              name: 'reset',
              content: { reason: 'the changes after your last record are no longer stored: read the lists again' },
            },
          };
          continue;
        }
        isKnown = true;
        for (const one of found) {
          position = one.position;
          yield { position, ...stepOf(viewer, asked, one) };
        }
        if (found.length === 0) await feed.newerThan(version, signal);
      }
    } finally {
      leave(tenant, feed);
    }
  }

  async function* nodeChanges(signal: AbortSignal): AsyncGenerator<Step> {
    for await (const node of nodes.follow(signal)) yield { record: { name: 'node', content: node satisfies FeedNode } };
  }

  /** The events of one run, behind the last one that the reader has. Throws `not_found`. */
  async function followed(viewer: Identity, id: string, after: number, options: Following) {
    const kind = await kindOf(parts, viewer, id);
    const events = parts[kind === 'execution' ? 'executions' : 'workflows'].follow(viewer, id, after, options);
    return (async function* (): AsyncGenerator<Step> {
      for await (const event of events) {
        if (event === null) continue;
        const { seq: sequence, name, payload } = event;
        yield {
          event: sequence,
          record: { name: 'run_event', content: { id, kind, sequence, event: { [name]: payload } } },
        };
      }
    })();
  }

  return {
    async open(viewer, asked, { signal, heartbeatMs }) {
      if (asked.topics.includes('node')) requireRole(viewer, 'inspect');
      const ended = new AbortController();
      const stop = AbortSignal.any([signal, ended.signal]);
      const start = asked.after?.position ?? (await parts.log.end(viewer.tenant));
      const first: FeedPosition = { count: asked.after?.count ?? 0, position: start, event: asked.after?.event ?? 0 };
      const sources: AsyncGenerator<Step>[] = [changes(viewer, asked, start, stop)];
      if (asked.topics.includes('node')) sources.push(nodeChanges(stop));
      if (asked.followed !== undefined) {
        const options = { signal: stop, heartbeatMs };
        sources.push(await followed(viewer, asked.followed, first.event, options));
      }
      const steps = merged(sources, { clock: parts.clock, heartbeatMs, signal: stop, onEnd: () => ended.abort() });
      return records(steps, first, asked.after === undefined);
    },
  };
}

type Following = { readonly signal: AbortSignal; readonly heartbeatMs: number };

/**
 * Numbers the records of a reader 1, 2, 3 …. When it resumes, the number continues, even if its filter has dropped
 * records.
 */
async function* records(
  steps: AsyncIterable<Step | null>,
  first: FeedPosition,
  isNew: boolean,
): AsyncGenerator<FeedRecord | null> {
  let { count, position, event } = first;
  let sentAt = position.n;
  const next = (record: Omit<FeedRecord, 'id'>): FeedRecord => {
    count += 1;
    sentAt = position.n;
    return { ...record, id: feedId({ count, position, event }) };
  };
  if (isNew) yield next({ name: 'open', content: {} });
  for await (const step of steps) {
    position = step?.position ?? position;
    event = step?.event ?? event;
    if (step === null) yield null;
    else if (step.record !== undefined) yield next(step.record);
    else if (position.n - sentAt >= SEND_POSITION_AFTER) yield next({ name: 'place', content: {} });
  }
}

async function kindOf(
  { executions, workflows }: Pick<FeedParts, 'executions' | 'workflows'>,
  viewer: Viewer,
  id: string,
): Promise<'execution' | 'workflow'> {
  if ((await foundOrNull(executions.hasEnded(viewer, id))) !== null) return 'execution';
  if ((await foundOrNull(workflows.status(viewer, id))) !== null) return 'workflow';
  throw new SvcError('not_found', 'run not found');
}

/** The record of a change for one reader; none when it may not see it or did not ask for it. */
function stepOf(viewer: Viewer, { topics, filter }: FeedAsked, change: Shown<Content>): Step {
  const { content, id, owner, collection } = change;
  if (!sees(viewer, owner)) return {};
  if (collection === APPROVALS.name) {
    if (!topics.includes('approval') || content === null || !('approval' in content)) return {};
    return { record: { name: 'approval', content: content.approval } };
  }
  if (!topics.includes('run')) return {};
  const kind = collection === EXECUTIONS.name ? 'execution' : 'workflow';
  if (content === null) return { record: { name: 'run_removed', content: { id, kind } } };
  if (!('run' in content)) return {};
  if (matches(content.run, filter)) return { record: { name: 'run', content: content.run } };
  // A document that never changed did not match: it was never in the reader's list.
  const { kind: wanted, name, version, labels, from, to, tags, text } = filter;
  if (!matches(content.run, { kind: wanted, name, version, labels, from, to, tags, text })) return {};
  return { record: { name: 'run_left', content: { id, kind } } };
}

/** Reads the documents of changes, each once. */
function showOf({ lists, client }: FeedParts) {
  return async (tenant: string, changes: readonly NumberedChange[]): Promise<Shown<Content>[]> => {
    const served = new ServedPools(client);
    const ids = (collection: string): string[] => [
      ...new Set(changes.filter(({ change }) => change.collection === collection).map(({ change }) => change.id)),
    ];
    const contents = new Map<string, { readonly owner: string | undefined; readonly content: Content }>();
    const [executions, workflows, approvals] = await Promise.all([
      documentsOf(lists.executions, tenant, ids(EXECUTIONS.name)),
      documentsOf(lists.workflows, tenant, ids(WORKFLOW_EXECUTIONS.name)),
      documentsOf(lists.approvals, tenant, ids(APPROVALS.name)),
    ]);
    for (const document of executions) {
      if (document.removed) continue;
      const run = await served.run({ kind: 'execution', document });
      contents.set(`${EXECUTIONS.name} ${document.id}`, { owner: document.owner, content: { run } });
    }
    for (const document of workflows) {
      if (document.removed) continue;
      const run = await served.run({ kind: 'workflow', document });
      contents.set(`${WORKFLOW_EXECUTIONS.name} ${document.id}`, { owner: document.owner, content: { run } });
    }
    for (const document of approvals) {
      contents.set(`${APPROVALS.name} ${document.id}`, {
        owner: document.owner,
        content: { approval: shown(document) },
      });
    }
    return changes.map(({ position, change: { collection, id, owner } }) => {
      const known = contents.get(`${collection} ${id}`);
      return { position, collection, id, owner: known?.owner ?? owner, content: known?.content ?? null };
    });
  };
}

async function documentsOf<T extends ExecutionDocument | WorkflowExecutionDocument | ApprovalDocument>(
  collection: Collection<T>,
  tenant: string,
  ids: readonly string[],
): Promise<T[]> {
  if (ids.length === 0) return [];
  return collection.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
}

const shown = (document: ApprovalDocument): FeedApproval => ({
  id: document.id,
  status: document.status,
  execution_id: document.execution_id,
  state_name: document.state_name,
  prompt: document.prompt,
  created_at: document.created_at,
  timeout_seconds: document.timeout_seconds,
  resolved_at: document.resolved_at,
});
