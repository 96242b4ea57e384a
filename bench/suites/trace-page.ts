import { type Browser, chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { buildIfStale } from '../../dashboard/build.ts';
import { browserMissing } from '../../test/attacks/hostile-browser.ts';
import { BuiltPages } from '../dashboard/built-pages.ts';
import { type TraceShape, traceApi } from '../dashboard/generated-trace.ts';
import { heapOf } from '../dashboard/heap.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const CHROMIUM = '/usr/bin/chromium';
const READ_WITHIN_MS = 180_000;

const SHAPES: readonly (TraceShape & { readonly look: string; readonly search: string })[] = [
  { deliveries: 1_000, lanes: 40, look: 'all open', search: '' },
  { deliveries: 10_000, lanes: 500, look: 'all open', search: '' },
  { deliveries: 100_000, lanes: 10_000, look: 'folded', search: '' },
  {
    deliveries: 100_000,
    lanes: 10_000,
    look: 'all open',
    search: '?fold=execution,judge,container,tool-loop,approval',
  },
  { deliveries: 100_000, lanes: 20, look: 'all open', search: '' },
];

/** The page of a trace in a browser: time until it is drawn, and frames while it moves. */
export async function tracePage(plan: Plan): Promise<Section> {
  const title = 'Trace in a browser (generated traces, headless Chromium without a GPU)';
  const missing = browserMissing();
  if (missing !== false) return { title, text: `NOT MEASURED: ${missing}` };
  await buildIfStale();
  const shapes = plan.repetitions === 1 ? SHAPES.filter(({ lanes }) => lanes !== 500) : SHAPES;
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const rows: string[][] = [];
    for (const shape of shapes) {
      const measured = await measure(browser, shape, plan.runMs);
      rows.push([whole(shape.deliveries), whole(shape.lanes), shape.look, ...measured]);
    }
    const head = [
      'deliveries',
      'actors',
      'lanes',
      'first picture, ms',
      'all read, ms',
      'frames/s panning',
      'longest frame, ms',
      'frames/s zooming',
      'heap, MB',
    ];
    return {
      title,
      text: `${table(head, rows)}\n\nThe window is 1,380 by 800 pixels; 60 frames/s are the most. Heap counts typed arrays too.`,
    };
  } finally {
    await browser.close();
  }
}

async function measure(browser: Browser, shape: (typeof SHAPES)[number], runMs: number): Promise<string[]> {
  const { path, answers } = traceApi(shape);
  await using pages = await BuiltPages.start(answers);
  const context = await browser.newContext({ viewport: { width: 1_380, height: 800 } });
  try {
    const page = await context.newPage();
    const startedAt = performance.now();
    await page.goto(`${pages.url}${path}${shape.search}`);
    await page.locator('.trace-canvas canvas').waitFor({ timeout: READ_WITHIN_MS });
    const first = performance.now() - startedAt;
    const label = `Space-time view: ${whole(shape.deliveries)} deliveries`;
    await page.locator(`canvas[aria-label^="${label}"]`).waitFor({ timeout: READ_WITHIN_MS });
    const all = performance.now() - startedAt;
    await page.evaluate(FRAMES);
    const zooming = await framesOf(page, 'zoom', runMs);
    const panning = await framesOf(page, 'pan', runMs);
    const heap = await heapOf(page);
    const { rate, longest } = panning;
    return [whole(first), whole(all), rate.toFixed(0), longest.toFixed(0), zooming.rate.toFixed(0), heap.toFixed(0)];
  } finally {
    await context.close();
  }
}

/** In the page: turns the wheel once a frame, and measures the time between frames. */
const FRAMES = `
globalThis.measureFrames = (kind, ms) => new Promise((done) => {
  const canvas = document.querySelector('.trace-canvas canvas');
  const box = canvas.getBoundingClientRect();
  const place = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true, cancelable: true };
  const times = [];
  const frame = (now) => {
    times.push(now);
    if (now - times[0] >= ms) {
      let longest = 0;
      for (let at = 1; at < times.length; at += 1) longest = Math.max(longest, times[at] - times[at - 1]);
      return done({ rate: (times.length - 1) * 1000 / (now - times[0]), longest });
    }
    const way = Math.floor(times.length / 30) % 2 === 0 ? 1 : -1;
    const turn = kind === 'pan' ? { deltaX: 24 * way } : { deltaY: -40 * way };
    canvas.dispatchEvent(new WheelEvent('wheel', { ...place, ...turn }));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});`;

const Measured = z.object({ rate: z.number(), longest: z.number() });

const framesOf = async (page: Page, kind: 'pan' | 'zoom', ms: number) =>
  Measured.parse(await page.evaluate(`measureFrames('${kind}', ${ms})`));
