import type { EntryRecord } from '../../manifests/audit/entries.ts';
import type { ChainEnd } from '../../manifests/audit/record.ts';
import { positionOf } from '../../runtime/documents/document-query.ts';
import { newestFirst, type Page, type PageAsked, readToken, tokenOf } from '../../runtime/documents/pages.ts';
import type { Collection, Condition, Position } from '../../runtime/documents.ts';
import type { ChainView, EntryFilter, ListedEntry } from './api.ts';
import type { Block } from './blocks.ts';
import type { CheckpointDocument } from './retention.ts';
import type { ChainDocument, Statements } from './statements.ts';

const NEWEST_FIRST = newestFirst('at');

/** Blocks that one query reads. */
const AT_ONCE = 100;

/** Most blocks that one page reads. Pages of a list with rarely met conditions may therefore not be full. */
const MOST_BLOCKS = 2_000;

const MOST_LISTED = 1_000;

/** Lists the entries of a tenant, newest first by the time of their block, then by their sequence. */
export async function listEntries(
  blocks: Pick<Collection<Block>, 'find' | 'get'>,
  tenant: string,
  filter: EntryFilter,
  { limit, skip, pageToken }: PageAsked,
): Promise<Page<ListedEntry>> {
  const most = Math.min(limit, MOST_LISTED);
  const what = ['audit', tenant, filter];
  const of = { tenant, where: whereOf(filter), sort: NEWEST_FIRST };
  const { place: start, passed } = placeOf(readToken(what, { skip, pageToken }));
  let place = start;
  const items: ListedEntry[] = [];
  let last: Position = [];
  const take = (block: Block, before: number): Page<ListedEntry> | null => {
    for (const entry of entriesOf(block)) {
      if (entry.sequence >= before || !fits(entry, filter)) continue;
      if (items.length === most) return { items, next_page_token: tokenOf(what, last) };
      items.push(entry);
      last = [...positionOf(of, block), entry.sequence];
    }
    return null;
  };
  const begun = passed === null ? null : await blocks.get(tenant, String(place?.[1]));
  const rest = begun === null ? null : take(begun, passed ?? 0);
  if (rest !== null) return rest;
  for (let read = 0; read < MOST_BLOCKS; read += AT_ONCE) {
    const found = await blocks.find({ ...of, limit: AT_ONCE, ...(place === undefined ? {} : { after: place }) });
    for (const block of found) {
      const full = take(block, Number.POSITIVE_INFINITY);
      if (full !== null) return full;
      place = positionOf(of, block);
    }
    if (found.length < AT_ONCE) return { items };
  }
  if (items.length === most) return { items, next_page_token: tokenOf(what, last) };
  return place === undefined ? { items } : { items, next_page_token: tokenOf(what, [...place, 0]) };
}

/** A token holds the position of the last block read and the sequence reached in it; 0: the whole block. */
function placeOf(token: Position | undefined): { place: Position | undefined; passed: number | null } {
  const passed = token?.at(-1);
  return { place: token?.slice(0, -1), passed: typeof passed === 'number' && passed > 0 ? passed : null };
}

/** Conditions that blocks can meet. In a block whose entries differ, each entry is compared. */
function whereOf({ subject, operation, outcome, from }: EntryFilter): Record<string, Condition> {
  const where: Record<string, Condition> = {};
  for (const [field, value] of Object.entries({ subject, operation, outcome })) {
    if (value !== undefined) where[field] = { in: [value, null] };
  }
  // The time of a block is that of its last entry, so entries are compared with the upper bound one by one.
  if (from !== undefined) where.at = { gte: from };
  return where;
}

function entriesOf({ node, records }: Block): ListedEntry[] {
  return records
    .flatMap(({ sequence, at, body }) => {
      if (body.kind !== 'operation') return [];
      const { kind: _kind, ...entry } = body;
      return [{ node, sequence, at, ...entry }];
    })
    .reverse();
}

function fits(entry: ListedEntry, { subject, operation, outcome, from, to }: EntryFilter): boolean {
  return (
    (subject === undefined || entry.subject === subject) &&
    (operation === undefined || entry.operation === operation) &&
    (outcome === undefined || entry.outcome === outcome) &&
    (from === undefined || entry.at >= from) &&
    (to === undefined || entry.at < to)
  );
}

/** Most chains of a tenant that are listed. */
const MOST_CHAINS = 1_000;

/** The chains of a tenant, and the statements about their ends: the newest of each node, and one more of this node now. */
export async function chainsOf(
  parts: {
    readonly blocks: Pick<Collection<Block>, 'find'>;
    readonly chains: Pick<Collection<ChainDocument>, 'find'>;
    readonly checkpoints: Pick<Collection<CheckpointDocument>, 'get'>;
    readonly statements: Pick<Statements, 'now'>;
  },
  tenant: string,
): Promise<{ readonly chains: readonly ChainView[]; readonly statements: readonly string[] }> {
  const listed = await parts.chains.find({ tenant, sort: [['id', 'asc']], limit: MOST_CHAINS });
  const views: ChainView[] = [];
  const ends: [string, ChainEnd][] = [];
  for (const { node } of listed) {
    const one = (order: 'asc' | 'desc') =>
      parts.blocks.find({ tenant, where: { node }, sort: [['last', order]], limit: 1 });
    const [[first], [last], begin] = await Promise.all([one('asc'), one('desc'), parts.checkpoints.get(tenant, node)]);
    const end = last?.records.at(-1);
    if (end !== undefined) ends.push([node, end]);
    views.push({ node, first: first?.first ?? 1, last: last?.last ?? 0, checkpoint: begin?.checkpoint ?? null });
  }
  const said = listed.flatMap(({ statement }) => statement ?? []);
  return { chains: views, statements: [...said, await parts.statements.now(tenant, ends)] };
}

/** Records of one chain behind `after`, in order. */
export async function recordsBehind(
  blocks: Pick<Collection<Block>, 'find'>,
  {
    tenant,
    node,
    after,
    limit,
  }: { readonly tenant: string; readonly node: string; readonly after: number; readonly limit: number },
): Promise<readonly EntryRecord[]> {
  const most = Math.min(limit, MOST_LISTED);
  const records: EntryRecord[] = [];
  for (let last = after; records.length < most; ) {
    const where = { node, last: { gt: last } };
    const found = await blocks.find({ tenant, where, sort: [['last', 'asc']], limit: Math.min(most, AT_ONCE) });
    for (const block of found) {
      records.push(...block.records.filter(({ sequence }) => sequence > after));
      last = block.last;
    }
    if (found.length < Math.min(most, AT_ONCE)) break;
  }
  return records.slice(0, most);
}
