import { type Browser, chromium } from 'playwright-core';
import { z } from 'zod';
import { buildIfStale } from '../../dashboard/build.ts';
import { browserMissing } from '../../test/attacks/hostile-browser.ts';
import { BuiltPages } from '../dashboard/built-pages.ts';
import { runsApi } from '../dashboard/generated-runs.ts';
import { heapOf } from '../dashboard/heap.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const CHROMIUM = '/usr/bin/chromium';
const READ_WITHIN_MS = 180_000;
const COUNTS = [1_000, 100_000] as const;

/** The list of runs in a browser: time to the first rows and to all rows, and frames while it scrolls. */
export async function runsPage(plan: Plan): Promise<Section> {
  const title = 'Runs in a browser (generated rows, headless Chromium without a GPU)';
  const missing = browserMissing();
  if (missing !== false) return { title, text: `NOT MEASURED: ${missing}` };
  await buildIfStale();
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const rows: string[][] = [];
    for (const count of COUNTS) rows.push([whole(count), ...(await measure(browser, count, plan.runMs))]);
    const head = ['rows', 'first row, ms', 'all read, ms', 'frames/s scrolling', 'longest frame, ms', 'heap, MB'];
    return {
      title,
      text: `${table(head, rows)}\n\nThe window is 1,380 by 800 pixels; 60 frames/s are the most. Each frame shows other rows. Pages hold 1,000 rows.`,
    };
  } finally {
    await browser.close();
  }
}

/** In the page: goes to the end of the list again and again until all pages are read. */
const readAll = (count: number): string => `new Promise((done) => {
  const table = document.querySelector('.data-table');
  const body = table.querySelector('.data-body');
  const step = () => {
    if (table.getAttribute('aria-rowcount') === '${count + 1}') return done();
    body.scrollTop = body.scrollHeight;
    requestAnimationFrame(step);
  };
  step();
})`;

/** In the page: scrolls to other rows in each frame, and measures the time between frames. */
const scroll = (ms: number): string => `new Promise((done) => {
  const body = document.querySelector('.data-body');
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (now - times[0] >= ${ms}) {
      let longest = 0;
      for (let at = 1; at < times.length; at += 1) longest = Math.max(longest, times[at] - times[at - 1]);
      return done({ rate: (times.length - 1) * 1000 / (now - times[0]), longest });
    }
    body.scrollTop = (body.scrollTop + 9973) % (body.scrollHeight - body.clientHeight);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;

const Measured = z.object({ rate: z.number(), longest: z.number() });

async function measure(browser: Browser, count: number, runMs: number): Promise<string[]> {
  await using pages = await BuiltPages.start(runsApi(count));
  const context = await browser.newContext({ viewport: { width: 1_380, height: 800 } });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(READ_WITHIN_MS);
    const startedAt = performance.now();
    await page.goto(`${pages.url}/runs`);
    await page.locator('.data-row').first().waitFor();
    const first = performance.now() - startedAt;
    await page.evaluate(readAll(count));
    const all = performance.now() - startedAt;
    const { rate, longest } = Measured.parse(await page.evaluate(scroll(runMs)));
    const heap = await heapOf(page);
    return [whole(first), whole(all), rate.toFixed(0), longest.toFixed(0), heap.toFixed(0)];
  } finally {
    await context.close();
  }
}
