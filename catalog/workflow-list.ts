import type { Condition } from '../runtime/documents.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { MAX_PAGE } from './page.ts';
import type { CatalogReader } from './workflow-api.ts';
import { ownersFor } from './workflow-lookup.ts';
import type { WorkflowRecord } from './workflow-record.ts';
import type { WorkflowShelf } from './workflow-shelf.ts';

export type ListedScope = 'global' | 'visible' | undefined;

/**
 * Records by name: global ones, all the reader sees, or (undefined) those of its tenant and its own. One that is moving
 * is listed once.
 */
export async function listRecords(
  shelf: WorkflowShelf,
  reader: CatalogReader,
  filter: { readonly scope: ListedScope; readonly limit: number; readonly skip: number },
): Promise<WorkflowRecord[]> {
  const near = { owner: { in: ownersFor(reader) } };
  const ofTenant = pages(shelf, reader.tenant, { ...near, scope: { in: ['user', 'tenant'] } });
  const ofAll = pages(shelf, SYSTEM_TENANT, { scope: 'global' });
  const sources = filter.scope === 'global' ? [ofAll] : filter.scope === 'visible' ? [ofTenant, ofAll] : [ofTenant];
  const seen = new Set<string>();
  const listed: WorkflowRecord[] = [];
  for await (const record of byName(sources)) {
    if (seen.has(record.id)) continue;
    seen.add(record.id);
    if (seen.size > filter.skip) listed.push(record);
    if (listed.length === filter.limit) break;
  }
  return listed;
}

type Records = AsyncGenerator<WorkflowRecord, void, undefined>;

async function* pages(shelf: WorkflowShelf, tenant: string, where: Readonly<Record<string, Condition>>): Records {
  for (let skip = 0; ; skip += MAX_PAGE) {
    const page = await shelf.records.find({
      tenant,
      where: { ...where, status: 'deployed' },
      sort: [
        ['name', 'asc'],
        ['id', 'asc'],
      ],
      limit: MAX_PAGE,
      skip,
    });
    yield* page;
    if (page.length < MAX_PAGE) return;
  }
}

/** Sorted sources as one. */
async function* byName(sources: readonly Records[]): Records {
  const heads = await Promise.all(sources.map(async (source) => ({ source, next: await source.next() })));
  for (;;) {
    let first: (typeof heads)[number] | undefined;
    for (const head of heads) {
      if (head.next.done === true) continue;
      const least = first?.next;
      if (least === undefined || least.done === true || head.next.value.name < least.value.name) first = head;
    }
    if (first === undefined || first.next.done === true) return;
    yield first.next.value;
    first.next = await first.source.next();
  }
}
