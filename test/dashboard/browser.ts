import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { z } from 'zod';
import { browserMissing } from '../attacks/page-bench.ts';
import { sample } from '../support/size.ts';

export { browserMissing };

const CHROMIUM = '/usr/bin/chromium';

const AxeResult = z.object({
  violations: z.array(
    z.object({ id: z.string(), impact: z.string().nullish(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

/** Of so many pages one is examined. */
const EXAMINED = sample({ normal: 3, long: 1 });

/** A Chromium whose pages note everything that must not happen on a page of the dashboard. */
export class DashboardBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #axe: string;

  private constructor(browser: Browser, axe: string) {
    this.#browser = browser;
    this.#axe = axe;
  }

  static async start(): Promise<DashboardBrowser> {
    const [browser, axe] = await Promise.all([
      chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] }),
      readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
    ]);
    return new DashboardBrowser(browser, axe);
  }

  /** `others` are origins that the page may call besides its own. */
  async open(
    origin: string,
    options: BrowserContextOptions = {},
    others: readonly string[] = [],
  ): Promise<DashboardPage> {
    const context = await this.#browser.newContext({ reducedMotion: 'reduce', ...options });
    return DashboardPage.open(context, [origin, ...others], this.#axe);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** One tab, with what it complained of. */
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
    const one = new DashboardPage(page, axe);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) one.complaints.push(`${message.type()}: ${message.text()}`);
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

  /** What axe finds that is serious or critical. It takes a second: a normal run examines one page of three, by chance. */
  async serious(): Promise<string[]> {
    if (randomInt(EXAMINED) > 0) return [];
    // Run by the debugger, which the page's policy does not bind. What is in order is not reported, which saves time.
    await this.page.evaluate(this.#axe);
    const found = AxeResult.parse(
      await this.page.evaluate("axe.run({ resultTypes: ['violations'], selectors: false })"),
    );
    return found.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}
