import { agentYaml } from '../product/product-node.ts';
import type { TenantObjects } from '../product/tenant-objects.ts';
import { type From, HAS_IPV6 } from './hostile-browser.ts';

/** A listener of the node. */
export type Listener = 'rest' | 'grpc' | 'internal' | 'internalGrpc' | 'cluster';

/** One attempt of a page. */
export interface Attempt {
  readonly name: string;
  readonly from: From;
  readonly listener: Listener;
  readonly host: string;
  readonly script: string;
}

/** Ids of the objects on the node before the pages come. */
export type Targets = TenantObjects & { readonly node: string };

type Init = Readonly<Record<string, unknown>>;
const TEXT = 'text/plain';
const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data; boundary=x';
const ENCTYPES = [TEXT, FORM, 'multipart/form-data'];
const JSON_TYPE = { 'content-type': 'application/json' };

/** The page calls a path and reads the answer, as far as the browser lets it. */
const ask = (path: string, init: Init = {}): string =>
  `await see(fetch(at + ${JSON.stringify(path)}, ${JSON.stringify(init)}));`;
const post = (path: string, init: Init = {}): string => ask(path, { method: 'POST', mode: 'no-cors', ...init });
const form = (path: string, enctype: string, fields: object, target?: string): string =>
  `await form(${JSON.stringify([path, enctype, fields, target])
    .slice(1, -1)
    .replace(/,null$/, '')});`;

interface Where {
  readonly from?: From;
  readonly listener?: Listener;
  readonly host?: string;
}

/** Paths that change something, by what they do. */
const pathsOf = (on: Targets) => ({
  drain: `/v1/cluster/nodes/${on.node}/drain`,
  shutdown: `/v1/cluster/nodes/${on.node}/shutdown`,
  cancel: `/v1/workflows/executions/${on.run}/cancel`,
  approve: `/v1/human-approvals/${on.approval}/approve`,
  secret: `/v1/secrets/${on.secret}`,
  agent: `/v1/agents/${on.agent}`,
  config: '/v1/cluster/config',
});
type Paths = ReturnType<typeof pathsOf>;

/** All attempts: the kind of call and its target. */
export function hostileAttempts(on: Targets): Attempt[] {
  const attempts: Attempt[] = [];
  const add = (name: string, script: string, where: Where = {}): void => {
    const { from = 'evil.test', listener = 'rest', host = from === 'rebound' ? 'evil.test' : '127.0.0.1' } = where;
    attempts.push({ name: `${name} (${from} to ${listener} at ${host})`, from, listener, host, script });
  };
  const paths = pathsOf(on);
  addSimplePosts(add, paths, on);
  addPreflighted(add, paths, on);
  addForms(add, paths);
  addSenders(add, paths);
  addReaders(add, on);
  addHosts(add, paths);
  addRebound(add, paths, on);
  addOtherListeners(add, paths);
  return attempts;
}

type Add = (name: string, script: string, where?: Where) => void;

/** Calls that a browser sends without asking first. */
function addSimplePosts(add: Add, { drain, shutdown, cancel, approve }: Paths, on: Targets): void {
  for (const [name, path] of Object.entries({ drain, shutdown, cancel, push: '/v1/cluster/config/push' })) {
    add(`${name}: POST without a body, no-cors`, post(path));
    add(`${name}: POST without a body, cors, with credentials`, post(path, { mode: 'cors', credentials: 'include' }));
  }
  const start = JSON.stringify({ agent_id: on.agent, input: 'quick' });
  for (const mode of ['no-cors', 'cors']) {
    for (const type of [TEXT, FORM, MULTIPART]) {
      const headers = { 'content-type': type };
      add(`start: POST ${type}, ${mode}`, post('/v1/executions', { mode, headers, body: start }));
      add(`drain: POST ${type}, ${mode}`, post(drain, { mode, headers, body: '{}' }));
    }
  }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
  for (const [name, path, body] of [
    ['deploy', '/v1/agents?force=true', agentYaml('planted')],
    ['create a key', '/v1/api-keys', JSON.stringify({ name: 'planted' })],
    ['create a join token', '/v1/cluster/join-tokens', '{}'],
    ['rotate the key of secrets', '/v1/cluster/secret-keys/rotate', '{}'],
    ['approve', approve, '{}'],
    ['stimulus', '/v1/stimuli', JSON.stringify({ source: on.source, content: 'planted' })],
    ['MCP', '/mcp', JSON.stringify(list)],
    ['webhook', `/v1/webhooks/${on.source}`, 'planted'],
  ] as const) {
    add(`${name}: POST text/plain`, post(path, { body }));
  }
}

/** Calls that a browser asks for first. */
function addPreflighted(add: Add, { secret, agent, config, drain }: Paths, on: Targets): void {
  const cors = { mode: 'cors', headers: JSON_TYPE };
  add('secret: PUT', ask(secret, { ...cors, method: 'PUT', body: '{"value":"planted"}' }));
  add('secret: DELETE', ask(secret, { method: 'DELETE' }));
  add('agent: DELETE', ask(`${agent}?force=true`, { method: 'DELETE' }));
  add('agent: PATCH', ask(agent, { ...cors, method: 'PATCH', body: '{"status":"paused"}' }));
  add('config: PUT', ask(config, { ...cors, method: 'PUT', body: '{"config_yaml":"x: 1"}' }));
  add(
    'start: POST as JSON',
    post('/v1/executions', { ...cors, body: JSON.stringify({ agent_id: on.agent, input: 'x' }) }),
  );
  add(
    'deploy: POST as YAML',
    post('/v1/agents', { mode: 'cors', headers: { 'content-type': 'application/yaml' }, body: agentYaml('planted') }),
  );
  add(
    'drain: POST that says it is of a program',
    post(drain, { mode: 'cors', headers: { 'x-requested-with': 'curl' } }),
  );
}

function addForms(add: Add, { drain, cancel, approve }: Paths): void {
  const aims = { drain, cancel, approve, deploy: '/v1/agents', keys: '/v1/api-keys' };
  for (const [name, path] of Object.entries(aims)) {
    // As text/plain it reads {"name":"=planted"}, which is JSON.
    for (const enctype of ENCTYPES) add(`${name}: form ${enctype}`, form(path, enctype, { '{"name":"': 'planted"}' }));
  }
  add('drain: form in a new window', form(drain, FORM, {}, '_blank'));
  add(
    'drain: form in the page’s own window',
    `setTimeout(() => { ${form(drain, FORM, {}, '_self').replace('await ', 'void ')} });`,
  );
}

/** Other ways of a page to send. */
function addSenders(add: Add, { drain }: Paths): void {
  const url = `at + ${JSON.stringify(drain)}`;
  add('drain: sendBeacon', `navigator.sendBeacon(${url});`);
  add('drain: sendBeacon of text', `navigator.sendBeacon(${url}, '{}');`);
  add('drain: sendBeacon of a form', `navigator.sendBeacon(${url}, new FormData());`);
  add('drain: sendBeacon of parameters', `navigator.sendBeacon(${url}, new URLSearchParams({ a: '1' }));`);
  add('drain: keepalive', post(drain, { keepalive: true }));
  add('drain: ping of a link', `make('a', { href: '#x', ping: ${url} }).click();`);
  add(
    'drain: XMLHttpRequest',
    `const call = new XMLHttpRequest(); call.open('POST', ${url}); call.withCredentials = true;
    await new Promise((done) => { call.onloadend = done; call.send(); }); got.push(...(call.status ? [call.status + ' ' + call.responseText] : []));`,
  );
  add(
    'drain: worker',
    `const worker = new Worker('/worker.js');
    await new Promise((done) => { worker.onmessage = done; worker.postMessage(${url}); });`,
  );
  add(
    'drain: service worker',
    `await navigator.serviceWorker.register('/service-worker.js');
    const { active } = await navigator.serviceWorker.ready;
    await new Promise((done) => { navigator.serviceWorker.onmessage = done; active.postMessage(${url}); });`,
    { from: 'localhost' },
  );
  const sandbox = { from: 'sandbox' } as const;
  add('drain: POST without a body', post(drain), sandbox);
  add('drain: form', form(drain, TEXT, { a: 'b' }), sandbox);
  add('agents: GET', ask('/v1/agents'), sandbox);
}

/** Ways of a page to load something, and to look at what came. */
function addReaders(add: Add, on: Targets): void {
  const url = `at + '/v1/agents'`;
  add('agents: GET, cors', ask('/v1/agents'));
  add('agents: GET, cors, with credentials', ask('/v1/agents', { credentials: 'include' }));
  add('agents: GET, no-cors', ask('/v1/agents', { mode: 'no-cors' }));
  add('secrets: GET, cors', ask('/v1/secrets'));
  add('agents: iframe', `await frame({ src: ${url} });`);
  add('export: iframe', `await frame({ src: at + '/v1/agents/${on.agent}/export' });`);
  add(
    'agents: image',
    `const { naturalWidth } = await load('img', { src: ${url} }); got.push(...(naturalWidth ? ['image'] : []));`,
  );
  add(
    'agents: script',
    `onerror = (text) => { if (text !== 'Script error.') got.push(text); }; await load('script', { src: ${url} });`,
  );
  add('agents: module', `await read(async () => JSON.stringify(await import(${url})));`);
  add(
    'agents: style',
    `const { sheet } = await load('link', { rel: 'stylesheet', href: ${url} });
    await read(() => [...sheet.cssRules].map(({ cssText }) => cssText).join());`,
  );
  add('agents: url() of a style', `document.body.style.background = 'url(' + ${url} + ')'; await pause(100);`);
  add('agents: font', `await read(async () => (await new FontFace('x', 'url(' + ${url} + ')').load()).status);`);
  add(
    'agents: object',
    `const { contentDocument } = await load('object', { data: ${url} });
    await read(() => contentDocument.body.innerText);`,
  );
  add(
    'agents: embed',
    `const { getSVGDocument } = await load('embed', { src: ${url} }); await read(() => getSVGDocument().textContent);`,
  );
  add(
    'agents: video',
    `const { readyState } = await load('video', { src: ${url}, autoplay: true }); got.push(...(readyState ? ['video'] : []));`,
  );
  add('agents: prefetch', `document.head.append(make('link', { rel: 'prefetch', href: ${url} })); await pause(100);`);
  add(
    'agents: preload',
    `document.head.append(make('link', { rel: 'preload', as: 'fetch', crossOrigin: 'anonymous', href: ${url} }));
    await pause(100); ${ask('/v1/agents')}`,
  );
  add(
    'agents: new window',
    `onmessage = ({ data }) => got.push('message ' + data); const opened = open(${url}); await pause(500);
    await read(() => opened.document.body.innerText); opened?.postMessage('read', '*'); await pause(100);`,
  );
  add('agents: navigation', `setTimeout(() => { location = ${url}; });`);
  add('cancel: navigation', `setTimeout(() => { location = at + '/v1/workflows/executions/${on.run}/cancel'; });`);
  add('stream: EventSource', `await events('/v1/workflows/executions/${on.run}/stream');`);
}

/** Other names of this machine, for both ends. */
function addHosts(add: Add, { drain }: Paths): void {
  for (const host of ['0.0.0.0', 'localhost', 'svc.localhost', ...(HAS_IPV6 ? ['[::1]', '[::]'] : [])]) {
    add('drain: POST without a body', post(drain), { host });
    add('agents: GET', ask('/v1/agents'), { host });
  }
  for (const from of ['localhost', '127.0.0.1', 'app.localhost'] as const) {
    for (const host of ['localhost', '127.0.0.1']) {
      add('drain: POST without a body', post(drain), { from, host });
      add('agents: GET', ask('/v1/agents'), { from, host });
    }
    add('drain: form', form(drain, FORM, {}), { from });
    add('agents: iframe', `await frame({ src: at + '/v1/agents' });`, { from });
  }
}

/** The name of the page leads to the node by now: for the browser the node is the page's own origin. */
function addRebound(add: Add, { drain, shutdown, secret, agent, config }: Paths, on: Targets): void {
  const rebound = { from: 'rebound' } as const;
  for (const path of [
    '/v1/agents',
    `${agent}/export`,
    '/v1/secrets',
    config,
    '/v1/executions',
    '/v1/human-approvals',
  ]) {
    add(`${path}: GET`, ask(path), rebound);
  }
  add('agents: iframe', `await frame({ src: at + '/v1/agents' });`, rebound);
  add('stream: EventSource', `await events('/v1/workflows/executions/${on.run}/stream');`, rebound);
  add('drain: POST without a body', post(drain, { mode: 'cors' }), rebound);
  add('shutdown: POST as JSON', post(shutdown, { mode: 'cors', headers: JSON_TYPE, body: '{"reason":"x"}' }), rebound);
  add('secret: PUT', ask(secret, { method: 'PUT', headers: JSON_TYPE, body: '{"value":"planted"}' }), rebound);
  add('agent: DELETE', ask(`${agent}?force=true`, { method: 'DELETE' }), rebound);
  add('drain: form', form(drain, FORM, {}), rebound);
  add(
    'MCP: POST as JSON',
    post('/mcp', { mode: 'cors', headers: JSON_TYPE, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
    rebound,
  );
  add('drain: WebSocket', `await socket(${JSON.stringify(drain)});`, rebound);
  const internal = { from: 'rebound', listener: 'internal' } as const;
  add('metrics: GET', ask('/metrics'), internal);
  add(
    'gateway: POST as JSON',
    post('/v1/dispatch-gateway', { mode: 'cors', headers: JSON_TYPE, body: '{}' }),
    internal,
  );
  add('SEAL: POST as JSON', post('/v1/seal/invoke', { mode: 'cors', headers: JSON_TYPE, body: '{}' }), internal);
}

const GRPC_TYPES = [TEXT, 'application/grpc-web+proto'];

function addOtherListeners(add: Add, { drain }: Paths): void {
  for (const listener of ['rest', 'grpc', 'internal', 'internalGrpc', 'cluster'] as const) {
    add('WebSocket', `await socket(${JSON.stringify(drain)});`, { listener });
  }
  for (const listener of ['grpc', 'internalGrpc', 'cluster'] as const) {
    for (const type of GRPC_TYPES) {
      const init = { mode: type === TEXT ? 'no-cors' : 'cors', headers: { 'content-type': type }, body: '\0\0\0\0\0' };
      add(`gRPC: POST ${type}`, post('/svc.runtime.v1.SvcRuntime/ExecuteAgent', init), { listener });
    }
  }
  const internal = { listener: 'internal' } as const;
  add('metrics: GET', ask('/metrics'), internal);
  add('metrics: iframe', `await frame({ src: at + '/metrics' });`, internal);
  add('metrics: GET at 0.0.0.0', ask('/metrics'), { ...internal, host: '0.0.0.0' });
  add('SEAL: POST text/plain', post('/v1/seal/invoke', { headers: { 'content-type': TEXT }, body: '{}' }), internal);
  add(
    'gateway: POST text/plain',
    post('/v1/dispatch-gateway', { headers: { 'content-type': TEXT }, body: '{}' }),
    internal,
  );
}
