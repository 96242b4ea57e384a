import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ProductNode } from '../product/product-node.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

const ROWS = 100_000;
const PAGE = 1_000;
const SCROLLS = 60;
/** Time of the page's thread for a frame, in which it is not counted that other programs had the processor: 30 frames/s. */
const FRAME_MS = 33;

const run = (at: number) => ({
  id: `${String(at).padStart(8, '0')}-0000-4000-8000-000000000000`,
  kind: at % 3 === 0 ? 'workflow' : 'execution',
  status: ['completed', 'failed', 'running'][at % 3],
  outcome: null,
  name: `agent-${at % 50}`,
  version: '1.0.0',
  definition_id: '00000000-0000-4000-8000-000000000000',
  labels: {},
  started_at: new Date(1_700_000_000_000 - at * 1_000).toISOString(),
  ended_at: null,
  duration_ms: null,
  tags: [],
  node: null,
  wait_reason: null,
  state_name: null,
  error_code: null,
  reason: null,
  trace_id: null,
  parent: null,
});

/** Goes to the end of the list again and again, until all pages are read. */
const LOAD = `new Promise((done) => {
  const table = document.querySelector('.data-table');
  const body = table.querySelector('.data-body');
  const step = () => {
    if (table.getAttribute('aria-rowcount') === '${ROWS + 1}') return done();
    body.scrollTop = body.scrollHeight;
    requestAnimationFrame(step);
  };
  step();
})`;

/** Scrolls through the list, to other rows in each frame. */
const SCROLL = `new Promise((done) => {
  const body = document.querySelector('.data-body');
  let left = ${SCROLLS};
  const step = () => {
    body.scrollTop = (body.scrollTop + 9973) % (body.scrollHeight - body.clientHeight);
    if (left-- > 0) requestAnimationFrame(step);
    else done();
  };
  requestAnimationFrame(step);
})`;

const Metrics = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

test('100,000 runs scroll without a pause, and only rows in view are in the document', {
  skip: browserMissing(),
}, async () => {
  await built();
  await using node = await ProductNode.start();
  await using browser = await DashboardBrowser.start();
  await using tab = await browser.open(node.url);
  const { page } = tab;
  await page.route(/\/v1\/runs\?/, async (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(asked.get('next') ?? 0), Number(asked.get('limit'))];
    const runs = Array.from({ length: limit }, (_run, at) => run(from + at));
    const next = from + PAGE < ROWS ? { next: String(from + PAGE) } : {};
    await route.fulfill({ contentType: 'application/json', body: JSON.stringify({ runs, ...next }) });
  });
  await page.goto(`${node.url}/runs`);
  const table = page.getByRole('table', { name: 'Runs' });
  await table.waitFor();
  await page.evaluate(LOAD);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busyMs = async (): Promise<number> => {
    const { metrics } = Metrics.parse(await session.send('Performance.getMetrics'));
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? assert.fail('no metric')) * 1_000;
  };
  const before = await busyMs();
  await page.evaluate(SCROLL);
  const frameMs = ((await busyMs()) - before) / SCROLLS;
  console.log(`${ROWS} rows: a frame takes ${frameMs.toFixed(1)} ms of the page's thread`);
  assert.ok(frameMs <= FRAME_MS, `${frameMs} ms`);
  assert.ok((await page.getByRole('row').count()) < 80);
  assert.deepEqual(tab.complaints, []);
});
