import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { browserMissing } from '../attacks/hostile-browser.ts';
import { atEndOfBatch } from '../support/batches.ts';
import { sample } from '../support/size.ts';

export { browserMissing };

/** Chromium without a window of its own takes half of the processor time for a page. Whole Chromium where it is not installed. */
const CHROMIUM = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync) ?? '';

/**
 * Chromium ends all requests when the machine gets or loses a network, as happens when other tests start containers. A page
 * must survive that, as it survives a node that does not answer.
 */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';

const AxeResult = z.object({
  violations: z.array(
    z.object({ id: z.string(), impact: z.string().nullish(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

/** One of this many pages is examined. */
const EXAMINED = sample({ normal: 12, long: 1 });

/** The Chromium of this process: starting one takes more than a second of processor time. */
let running: Promise<Browser> | null = null;
let users = 0;
let endsWithBatch = false;

async function launch(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  // One that crashed fails the file that had it; the next file has a new one.
  browser.once('disconnected', () => {
    running = null;
  });
  return browser;
}

async function close(): Promise<void> {
  const browser = await running;
  running = null;
  await browser?.close();
}

/** A Chromium whose pages record everything that must not happen on a page of the dashboard. Files of one batch share it. */
export class DashboardBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #axe: string;
  /** By their options. Tabs of one context share the scripts that they loaded and compiled: half of the cost of a page. */
  readonly #contexts = new Map<string, Promise<BrowserContext>>();

  private constructor(browser: Browser, axe: string) {
    this.#browser = browser;
    this.#axe = axe;
  }

  static async start(): Promise<DashboardBrowser> {
    users += 1;
    if (running === null) {
      running = launch();
      endsWithBatch = atEndOfBatch(close);
    }
    const [browser, axe] = await Promise.all([
      running,
      readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    ]);
    return new DashboardBrowser(browser, axe);
  }

  /** Opens a tab. `others` are origins that the page may call besides its own. */
  async open(
    origin: string,
    options: BrowserContextOptions = {},
    others: readonly string[] = [],
  ): Promise<DashboardPage> {
    const key = JSON.stringify(options);
    const context = this.#contexts.get(key) ?? this.#browser.newContext({ reducedMotion: 'reduce', ...options });
    this.#contexts.set(key, context);
    return DashboardPage.open(await context, [origin, ...others], this.#axe);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const context of this.#contexts.values()) await (await context).close();
    users -= 1;
    if (users === 0 && !endsWithBatch) await close();
  }
}

/** One tab, with its errors. */
export class DashboardPage implements AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts and the console (violations of the page's policy among them), and requests to other origins. */
  readonly complaints: string[] = [];
  readonly #axe: string;

  private constructor(page: Page, axe: string) {
    this.page = page;
    this.#axe = axe;
  }

  static async open(context: BrowserContext, origins: readonly string[], axe: string): Promise<DashboardPage> {
    const page = await context.newPage();
    // The first page of a browser took more than 30 s on a machine whose cores were taken.
    page.setDefaultTimeout(60_000);
    const one = new DashboardPage(page, axe);
    page.on('console', (message) => {
      if (message.text().includes(NETWORK_CHANGED)) return;
      if (['error', 'warning'].includes(message.type())) one.complaints.push(`${message.type()}: ${message.text()}`);
    });
    const goto = page.goto.bind(page);
    page.goto = (url, options) =>
      goto(url, options).catch((error: unknown) => {
        if (!String(error).includes(NETWORK_CHANGED)) throw error;
        return goto(url, options);
      });
    page.on('pageerror', (error) => one.complaints.push(`thrown: ${error.message}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && !origins.includes(url.origin)) one.complaints.push(`request to ${url.href}`);
    });
    page.on('dialog', (dialog) => {
      one.complaints.push(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch((error: unknown) => one.complaints.push(String(error)));
    });
    return one;
  }

  /** Waits until the page has its title. The error says what a page without one shows, and its complaints. */
  async titled(): Promise<void> {
    try {
      await this.page.locator('h1').waitFor();
    } catch (cause) {
      const shown = ((await this.page.locator('body').textContent()) ?? '').slice(0, 1_000);
      throw new Error(`${this.page.url()} has no title but ${shown}; ${this.complaints.join('; ')}`, { cause });
    }
  }

  /** What axe finds that is serious or critical. It takes about a second: a normal run examines one page of twelve, by chance. */
  async serious(): Promise<string[]> {
    if (randomInt(EXAMINED) > 0) return [];
    // Run by the debugger, which the page's policy does not bind.
    await this.page.evaluate(this.#axe);
    // Rules that pass are not reported, which saves half of the time.
    const found = AxeResult.parse(
      await this.page.evaluate("axe.run({ resultTypes: ['violations'], selectors: false })"),
    );
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close();
  }
}
