import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer as createPages, type Server as Pages } from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { z } from 'zod';
import { waitUntil } from '../support/wait-until.ts';

const CHROMIUM = '/usr/bin/chromium';

/** Why no browser can be started here; false when one can. With CI=true a missing one is an error. */
export function browserMissing(): string | false {
  if (existsSync(CHROMIUM)) return false;
  const reason = `${CHROMIUM} is not installed (apt-get install chromium): pages of other sites are NOT TESTED`;
  if (process.env.CI === 'true') throw new Error(reason);
  console.error(reason);
  return reason;
}

/** Whether this machine has an IPv6 loopback address. */
export const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

/**
 * Origin of a page: another name for this machine, another port of this machine, a sandbox (its origin is `null`), or the
 * attacked address: `rebound` under a name of another site, `own` under the name of the node.
 */
export type From = 'evil.test' | 'localhost' | '127.0.0.1' | 'app.localhost' | 'sandbox' | 'rebound' | 'own';

interface Visit {
  readonly from: From;
  /** The port of the node on 127.0.0.1. */
  readonly port: number;
  /** The name or address by which the page calls it. */
  readonly host: string;
  /** Statements of the page. They know `at`, the base URL of the node, and what PRELUDE defines. */
  readonly script: string;
}

export interface Visited {
  /** The data that the page could read. */
  readonly read: readonly string[];
  /** Request lines that arrived at the node, and the status of each answer. */
  readonly requests: readonly string[];
  readonly statuses: readonly number[];
}

/** Helpers of the pages; errors of the browser's own refusals are ignored. */
const PRELUDE = `
const got = [];
const read = async (work) => {
  try { const text = await work(); if (text) got.push(String(text).slice(0, 400)); } catch {}
};
const see = (promise) => read(async () => {
  const answer = await promise;
  const text = await answer.text();
  return answer.type === 'opaque' ? text : answer.status + ' ' + text;
});
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const make = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
const load = (tag, attributes) => new Promise((done) => {
  const element = make(tag, attributes);
  element.onload = element.onerror = element.onloadeddata = () => done(element);
  document.body.append(element);
  setTimeout(() => done(element), 2000);
});
const frame = async (attributes) => {
  const element = await load('iframe', attributes);
  await read(() => element.contentDocument.URL === 'about:blank' ? '' : element.contentDocument.body.innerText);
};
const form = async (path, enctype, fields, target = 'sink') => {
  if (target === 'sink') document.body.append(make('iframe', { name: 'sink' }));
  const element = make('form', { action: at + path, method: 'POST', enctype, target });
  for (const [name, value] of Object.entries(fields)) element.append(make('textarea', { name, value }));
  document.body.append(element);
  element.submit();
};
const socket = (path, protocol) => new Promise((done) => {
  const opened = new WebSocket(at.replace('http', 'ws') + path, protocol);
  opened.onopen = () => { got.push('101 open'); opened.send('x'); };
  opened.onmessage = ({ data }) => got.push('message ' + data);
  opened.onclose = opened.onerror = () => done();
});
const events = (path) => new Promise((done) => {
  const source = new EventSource(at + path, { withCredentials: true });
  source.onopen = () => got.push('200 open');
  source.onmessage = ({ data }) => got.push('event ' + data);
  source.onerror = () => { source.close(); done(); };
});
`;
const PAGE = '<!doctype html><meta charset="utf-8"><title>page</title><body>';
const WORKER = `onmessage = async ({ data }) => {
  try { await fetch(data, { method: 'POST', mode: 'no-cors' }); } catch {}
  self.postMessage('sent');
};`;
const SERVICE_WORKER = `
oninstall = () => skipWaiting();
onmessage = (event) => event.waitUntil(
  fetch(event.data, { method: 'POST', mode: 'no-cors' }).catch(() => {}).then(() => event.source.postMessage('sent')),
);`;

const Read = z.array(z.string());

/** A Chromium, and a server of pages on a port of its own, under every name that a page may come from. */
export class HostileBrowser implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #pages: Pages;
  readonly #port: number;

  private constructor(browser: Browser, pages: Pages, port: number) {
    this.#browser = browser;
    this.#pages = pages;
    this.#port = port;
  }

  static async start(): Promise<HostileBrowser> {
    const pages = createPages((request, response) => {
      const script =
        request.url === '/worker.js' ? WORKER : request.url === '/service-worker.js' ? SERVICE_WORKER : null;
      response.setHeader('content-type', script === null ? 'text/html' : 'text/javascript');
      response.end(script ?? PAGE);
    });
    const port = await listen(pages, '127.0.0.1');
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      // The name leads to this machine, as one does whose owner changes its address after the page was loaded.
      args: [
        '--no-sandbox',
        '--no-proxy-server',
        '--disable-dev-shm-usage',
        // Other browsers do not check this: the node must not need it.
        '--disable-features=LocalNetworkAccessChecks',
        '--host-resolver-rules=MAP evil.test 127.0.0.1',
      ],
    });
    return new HostileBrowser(browser, pages, port);
  }

  get version(): string {
    return this.#browser.version();
  }

  /** Opens a page that runs the script, and resolves once the node has answered or closed the connection. */
  async visit({ from, port, host, script }: Visit): Promise<Visited> {
    await using relay = await Relay.start(port, host.startsWith('[') ? '::1' : '127.0.0.1');
    const context = await this.#browser.newContext();
    try {
      const at = `http://${host}:${relay.port}`;
      const read = await this.#run(context, from, at, script);
      await waitUntil(`an answer of the node to ${script}`, () => relay.answered);
      return { read, requests: relay.requests, statuses: relay.statuses };
    } finally {
      await context.close();
    }
  }

  async #run(context: BrowserContext, from: From, at: string, script: string): Promise<string[]> {
    const page = await context.newPage();
    const body = `const at = ${JSON.stringify(at)}; ${PRELUDE} ${script}`;
    if (from === 'rebound' || from === 'own') {
      // Only the page comes from elsewhere; the calls of its script go to the node, which is its origin.
      const url = `${at}/page`;
      await page.route(url, (route) => route.fulfill({ contentType: 'text/html', body: PAGE }));
      await page.goto(url);
      await page.unroute(url);
    } else {
      await page.goto(`http://${from === 'sandbox' ? 'evil.test' : from}:${this.#port}/`);
    }
    if (from !== 'sandbox') return Read.parse(await page.evaluate(`(async () => { ${body}; return got; })()`));
    const inner = `<body><script>(async () => { ${body}; parent.postMessage(got, '*'); })()</script>`;
    return Read.parse(
      await page.evaluate(`new Promise((done) => {
        onmessage = ({ data }) => done(data);
        const frame = document.createElement('iframe');
        frame.sandbox = 'allow-scripts allow-forms';
        frame.srcdoc = ${JSON.stringify(inner).replaceAll('</', '<\\/')};
        document.body.append(frame);
      })`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    this.#pages.closeAllConnections();
    await new Promise((done) => this.#pages.close(done));
  }
}

/** A port of its own in front of the node, which passes every byte on and notes what was asked and answered. */
class Relay implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #asked = '';
  #answers = '';
  #closed = false;
  port = 0;

  private constructor(node: number) {
    this.#server = createServer((client) => {
      const behind = connect(node, '127.0.0.1');
      for (const socket of [client, behind]) {
        this.#sockets.add(socket);
        // Either side may end at any time: the other ends with it.
        socket.on('error', () => {}).once('close', () => [client, behind].map((one) => one.destroy()));
      }
      client.on('data', (chunk: Buffer) => {
        this.#asked += chunk.toString('latin1');
      });
      behind.on('data', (chunk: Buffer) => {
        this.#answers += chunk.toString('latin1');
      });
      behind.once('close', () => {
        this.#closed ||= this.#asked !== '';
      });
      client.pipe(behind).pipe(client);
    });
  }

  static async start(node: number, host: string): Promise<Relay> {
    const relay = new Relay(node);
    relay.port = await listen(relay.#server, host);
    return relay;
  }

  get requests(): string[] {
    return [...this.#asked.matchAll(/^([A-Z]+ \S+) HTTP\/1\.1\r$/gm)].map(([, line = '']) => line);
  }

  get statuses(): number[] {
    return [...this.#answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Every request of the script that arrived has its answer, or the connection is closed. */
  get answered(): boolean {
    const { requests, statuses } = this;
    const own = requests.filter((line) => line !== 'GET /favicon.ico');
    return (own.length > 0 && statuses.length >= requests.length) || this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }
}

async function listen(server: Server, host: string): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}
