import type { Page } from 'playwright-core';
import { z } from 'zod';

const Heap = z.object({ usedSize: z.number(), backingStorageSize: z.number().optional() });

/** MB of objects and typed arrays of a page after a collection. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize, backingStorageSize = 0 } = Heap.parse(await session.send('Runtime.getHeapUsage'));
  return (usedSize + backingStorageSize) / 1e6;
}
