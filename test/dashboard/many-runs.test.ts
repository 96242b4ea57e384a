import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BuiltPages } from '../../bench/dashboard/built-pages.ts';
import { runsApi } from '../../bench/dashboard/generated-runs.ts';
import type { Me } from '../../clients/typescript/gen/operations.ts';
import { sample } from '../support/size.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

const ROWS = sample({ normal: 20_000, long: 100_000 });
const SCROLLS = 60;

/** Scrolls to the end of the list until all pages are read. */
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

/** Rows can be chosen. Without `read` no feed is offered: the page reads its lists again at intervals. */
const ME = JSON.stringify({ subject: 'reader', actions: ['run'], scopes: ['executions:write'] } satisfies Partial<Me>);

test('tens of thousands of runs scroll, and only rows in view are in the document', {
  skip: browserMissing(),
}, async () => {
  await built();
  const runs = runsApi(ROWS);
  await using pages = await BuiltPages.start((url) => (url.pathname === '/v1/me' ? ME : runs(url)));
  await using browser = await DashboardBrowser.start();
  await using tab = await browser.open(pages.url);
  const { page } = tab;
  await page.goto(`${pages.url}/runs`);
  const table = page.getByRole('table', { name: 'Runs' });
  await table.waitFor();
  await page.evaluate(LOAD);
  await page.evaluate(SCROLL);
  assert.ok((await page.getByRole('row').count()) < 80);
  assert.deepEqual(tab.complaints, []);
});
