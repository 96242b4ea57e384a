import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pageOf } from '../../runtime/documents/pages.ts';
import type { StoredDocument } from '../../runtime/documents.ts';
import { DOCUMENT_STORES } from '../catalog/document-stores.ts';

interface Numbered extends StoredDocument {
  readonly n: number;
}

for (const store of DOCUMENT_STORES)
  describe(`pages of a list on ${store.name}`, { skip: store.skip }, () => {
    test('the last page has no token, a full one neither, up to the largest page', async () => {
      const { documents, stop } = await store.open();
      const things = await documents.collection<Numbered>({ name: 'numbered', unique: [], indexes: [['n']] });
      const fill = (tenant: string, count: number) =>
        things.putMany(Array.from({ length: count }, (_, n) => ({ tenant, id: `i${n}`, version: 1, n: n % 2 })));
      for (const [tenant, count] of [
        ['few', 4],
        ['many', 1_000],
        ['more', 1_001],
      ] as const) {
        await fill(tenant, count);
        const read = (limit: number, rest: { readonly skip?: number; readonly pageToken?: string | undefined } = {}) =>
          pageOf(things, 'things', { tenant, sort: [['n', 'asc']] }, { limit, ...rest });
        const most = Math.min(count, 1_000);
        const first = await read(most);
        assert.deepEqual([first.items.length, first.next_page_token === undefined], [most, count === most], tenant);
        const before = await read(count - most === 0 ? count - 1 : most);
        const rest = await read(1, { pageToken: before.next_page_token });
        assert.deepEqual([rest.items.length, rest.next_page_token], [1, undefined], tenant);
        assert.equal((await read(2, { skip: count - 2 })).next_page_token, undefined, tenant);
      }
      await stop();
    });
  });
