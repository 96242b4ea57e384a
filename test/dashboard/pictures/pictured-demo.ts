import { cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createClient } from '../../../clients/typescript/client.ts';
import type { Run } from '../../../clients/typescript/gen/operations.ts';
import { removeTree } from '../../../effects/volumes/tree.ts';
import { ChildProgram } from '../../support/child-program.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const START_TIMEOUT_MS = 120_000;

/** Directory of the pictures, with the outlines of their pages when they were made. */
export const IMAGES = join(ROOT, 'docs', 'images', 'dashboard');
export const OUTLINES = join(IMAGES, 'outlines.yaml');

interface PictureOf {
  readonly name: string;
  readonly path: string;
  /** Of the window, where the page needs more than usual. */
  readonly heightPx?: number;
  /** What must be seen before the picture is made. */
  readonly holds: (page: Page) => ReturnType<Page['getByText']>;
}

/** `npm run demo` on its own folder, once its runs have ended and its workflow waits for a person. */
export class PicturedDemo implements AsyncDisposable {
  readonly #demo: ChildProgram<string>;
  readonly #folder: string;
  readonly url: string;

  private constructor(demo: ChildProgram<string>, folder: string, url: string) {
    this.#demo = demo;
    this.#folder = folder;
    this.url = url;
  }

  static async start(): Promise<PicturedDemo> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-pictures-'));
    const shop = join(folder, 'shop');
    await cp(join(ROOT, 'examples', 'workflows'), shop, { recursive: true });
    let url = '';
    const demo = new ChildProgram<string>({
      name: 'the demo',
      args: [join(ROOT, 'examples', 'demo.ts'), shop, '--data', join(folder, 'data')],
      readyIn: (line) => {
        url = /^dashboard\s+(\S+)/.exec(line)?.[1] ?? url;
        return line.includes('Ctrl-C ends it') ? url : null;
      },
      startTimeoutMs: START_TIMEOUT_MS,
    });
    demo.spawn();
    try {
      return new PicturedDemo(demo, folder, await demo.ready);
    } catch (error) {
      await demo.kill();
      await removeTree(folder);
      throw error;
    }
  }

  /** The pages that have a picture. */
  async pages(): Promise<readonly PictureOf[]> {
    const client = createClient({ baseUrl: this.url });
    const runs = await waitUntil('the list to have the runs of the demo', async () => {
      const { runs: listed } = await client.runs.list({ limit: 100 });
      return ['repo-review', 'repo-summary'].every((name) => listed.some((run) => run.name === name)) && listed;
    });
    const { pending_requests: questions } = await client.approvals.list();
    const review = of(runs, 'workflow', 'repo-review');
    // The agent alone; the workflow runs it, too.
    const summary = of(
      runs.filter(({ parent }) => parent === null),
      'execution',
      'repo-summary',
    );
    return [
      { name: 'overview', path: '/', holds: (page) => page.getByText('Runs started each minute') },
      { name: 'runs', path: '/runs', holds: (page) => page.getByRole('row').getByText('repo-review').first() },
      {
        name: 'run',
        path: `/runs/execution/${summary.id}`,
        holds: (page) => page.getByRole('region', { name: 'Timeline' }).getByText('model.generate').first(),
      },
      {
        name: 'why',
        path: `/runs/workflow/${review.id}?tab=graph`,
        heightPx: 1_100,
        holds: (page) => page.locator('.react-flow__edge').first(),
      },
      {
        name: 'trace',
        path: `/traces/${review.trace_id}`,
        // The title has the run's name once the list was asked for it.
        holds: (page) =>
          page
            .locator('main')
            .filter({ has: page.getByRole('heading', { name: 'Trace of repo-review' }) })
            .getByRole('application', { name: /^Space-time view/ }),
      },
      { name: 'fleet', path: '/fleet', holds: (page) => page.locator('.heat-cells i').first() },
      {
        name: 'approvals',
        path: `/approvals?id=${questions[0]?.id}`,
        holds: (page) => page.getByText('its default answer'),
      },
      { name: 'catalog', path: '/catalog', holds: (page) => page.getByText('repo-review').first() },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#demo.kill('SIGKILL');
    await removeTree(this.#folder);
  }
}

function of(runs: readonly Run[], kind: Run['kind'], name: string): Run {
  const found = runs.find((run) => run.kind === kind && run.name === name);
  if (found === undefined) throw new Error(`the demo has no run of ${name}`);
  return found;
}

/** Opens a page and waits until it has read all. */
export async function openPage(page: Page, url: string, { path, holds }: PictureOf): Promise<void> {
  await page.goto(`${url}${path}`);
  await holds(page).waitFor();
  await waitUntil(`${path} to have read all`, async () => (await page.locator('.loading').count()) === 0);
}

/** Parts of a page that identify it to a reader. Rows, times and sentences change with the data. */
const KEPT = /^\s*- (heading|region|table|columnheader|button|textbox|combobox|searchbox) "((?:[^"\\]|\\.)*)"/;

/** Outline of a page, without its data: a different outline means that its picture is outdated. */
export async function outlineOf(page: Page): Promise<string[]> {
  const lines = (await page.locator('main').ariaSnapshot()).split('\n');
  const parts = lines.flatMap((line) => {
    const [, role = '', name = ''] = KEPT.exec(line) ?? [];
    return role === '' || /\d|repo-/.test(name) ? [] : [`${role} ${name}`];
  });
  return [...new Set(parts)];
}
