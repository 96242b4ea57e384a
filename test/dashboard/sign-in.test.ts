import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser, type DashboardPage } from './browser.ts';
import { built } from './built.ts';

const CLIENT = 'svc-dashboard';

describe('signing in to the dashboard', { skip: browserMissing() }, () => {
  let provider: ChildProcess;
  let issuers: string;
  let node: ProductNode;
  let browser: DashboardBrowser;
  before(async () => {
    await built();
    provider = spawn(process.execPath, [join(import.meta.dirname, 'oidc-provider.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(provider.stdout ?? assert.fail('no output'), 'data');
    issuers = `${String(line).trim()}/realms`;
    const realm = (slug: string, kind: string) => ({
      slug,
      kind,
      issuer_url: `${issuers}/${slug}`,
      jwks_uri: `${issuers}/${slug}/keys`,
      audience: 'svc-api',
    });
    const accounts = { claim: { name: 'client', value: 'robot' }, tenants: ['beta'] };
    const system = { ...realm('svc-system', 'system'), service_accounts: accounts };
    node = await ProductNode.start({
      spec: {
        iam: { realms: [system, realm('beta', 'tenant')] },
        dashboard: { oidc: { issuer: `${issuers}/svc-system`, client_id: CLIENT } },
      },
    });
    browser = await DashboardBrowser.start();
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
    provider?.kill();
  });

  /** The bearer that the page of a user sent with its first call. */
  const bearers = new Map<string, string>();

  /** Signs in through the provider's page. */
  async function signedIn(user: string, path: string, realm = 'svc-system'): Promise<DashboardPage> {
    const tab = await browser.open(node.url, {}, [new URL(issuers).origin]);
    const { page } = tab;
    if (realm !== 'svc-system') {
      // The node names one issuer to its pages; this user comes from another realm that it trusts.
      await page.route('**/dashboard/config.json', async (route) => {
        const body = await (await route.fetch()).text();
        await route.fulfill({
          contentType: 'application/json',
          body: body.replace('realms/svc-system', `realms/${realm}`),
        });
      });
    }
    await page.goto(node.url + path);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const [call] = await Promise.all([
      page.waitForRequest((one) => one.headers().authorization !== undefined),
      page.getByRole('link', { name: user }).click(),
    ]);
    bearers.set(user, call.headers().authorization ?? '');
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return tab;
  }

  /** For calls of a test itself. */
  async function headersOf(user: string): Promise<Readonly<Record<string, string>>> {
    if (!bearers.has(user)) await (await signedIn(user, '/'))[Symbol.asyncDispose]();
    return { authorization: bearers.get(user) ?? assert.fail(`${user} has no token`) };
  }

  test('an operator comes back to the page that was asked for, and sees everything of it', async () => {
    await using tab = await signedIn('olga', '/catalog?kind=agent');
    const { page } = tab;
    await page.getByRole('heading', { name: 'Catalog' }).waitFor();
    assert.equal(page.url(), `${node.url}/catalog?kind=agent`);
    await page.getByText('olga').waitFor();
    await page.getByRole('link', { name: 'New agent' }).waitFor();
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('button', { name: 'Drain' }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('a page whose node does not answer at first says so, and is there once it answers', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    let calls = 0;
    await page.route('**/dashboard/config.json', (route) => {
      calls += 1;
      return calls === 1 ? route.abort() : route.continue();
    });
    await page.goto(`${node.url}/runs`);
    await page.getByText('The node does not answer. Asking again').waitFor();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(calls, 2);
    assert.deepEqual(
      tab.complaints.filter((text) => !text.includes('ERR_FAILED')),
      [],
    );
  });

  test('the token is in memory only: no storage has it, and a reload asks again', async () => {
    await using tab = await signedIn('olga', '/');
    const kept = await tab.page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    );
    assert.doesNotMatch(String(kept), /eyJ|code=/);
    await tab.page.reload();
    await tab.page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('a viewer is not offered what the role may not do, and the API refuses it', async () => {
    const headers = await headersOf('olga');
    const id = await node.run(await node.deploy(agentYaml('slow-one'), headers), 'sleepy', headers);
    await using tab = await signedIn('rita', `/runs/execution/${id}`);
    const { page } = tab;
    await page.getByRole('heading', { name: 'slow-one' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Cancel' }).count(), 0);
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('region', { name: 'Nodes' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Drain' }).count(), 0);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('cell', { name: /slow-one/ }).waitFor();
    assert.equal(await page.getByRole('checkbox').count(), 0);
    assert.deepEqual(tab.complaints, []);
  });

  test('a user of another tenant finds nothing, and gets the same answer as for an id that never existed', async () => {
    const headers = await headersOf('olga');
    const id = await node.run(await node.deploy(agentYaml('own-one'), headers), 'steady', headers);
    await waitUntil('it to end', async () => (await node.statusOf(id, headers)).status === 'completed');
    await using tab = await signedIn('bea', '/runs', 'beta');
    await tab.page.getByText('Nothing has run here yet.').waitFor();
    await tab.page.goto(`${node.url}/runs/execution/${id}`);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await tab.page.getByRole('link', { name: 'bea' }).click();
    await tab.page.getByText('There is no such run.').waitFor();
  });

  test('a service account looks into the tenants that it may act in, from page to page; others are not offered that', async () => {
    await using tab = await signedIn('robot', '/runs');
    const { page } = tab;
    const headers = { ...(await headersOf('robot')), 'x-tenant-id': 'beta' };
    const id = await node.run(await node.deploy(agentYaml('beta-one'), headers), 'steady', headers);
    await waitUntil('it to end', async () => (await node.statusOf(id, headers)).status === 'completed');
    await page.getByLabel('Tenant').fill('beta');
    await page.waitForURL(/tenant=beta/);
    await page.getByRole('link', { name: 'beta-one' }).click();
    await page.waitForURL((url) => url.pathname.endsWith(id) && url.searchParams.get('tenant') === 'beta');
    await page.getByRole('heading', { name: 'beta-one' }).waitFor();
    await page.getByRole('link', { name: 'Trace', exact: true }).click();
    await page.getByRole('application', { name: /^Space-time view/ }).waitFor();
    await using other = await signedIn('olga', '/runs');
    await other.page.getByLabel('Status', { exact: true }).waitFor();
    assert.equal(await other.page.getByLabel('Tenant').count(), 0);
    assert.deepEqual([...tab.complaints, ...other.complaints], []);
  });

  test('a code that this page did not request does not sign in', async () => {
    await using tab = await browser.open(node.url, {}, [new URL(issuers).origin]);
    await tab.page.goto(`${node.url}/?code=stolen&state=guessed`);
    await tab.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await tab.page.evaluate(
      "sessionStorage.setItem('svc-sign-in', JSON.stringify({ verifier: 'v', state: 's', nonce: 'n', from: '/' }))",
    );
    await tab.page.goto(`${node.url}/?code=stolen&state=guessed`);
    await tab.page
      .getByRole('alert')
      .getByText(/^Signing in failed/)
      .waitFor();
  });
});

describe('a node whose calls need its local token', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: DashboardBrowser;
  before(async () => {
    await built();
    node = await ProductNode.start({ spec: { iam: { local: 'token' } } });
    browser = await DashboardBrowser.start();
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });
  const localToken = () => readFile(join(node.directory, 'data', 'local-token'), 'utf8');

  test('the page asks for the token of the data directory', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs`);
    await page.getByLabel('Token').fill('not it');
    await page.getByRole('button', { name: 'Use token' }).click();
    await page
      .getByRole('alert')
      .getByText(/not valid/)
      .waitFor();
    await page.getByLabel('Token').fill(await localToken());
    await page.getByRole('button', { name: 'Use token' }).click();
    await page.getByText('Nothing has run here yet.').waitFor();
    assert.deepEqual(await tab.serious(), []);
  });

  test('the page of the data directory opens it signed in, and the token stays in memory only', async () => {
    await using tab = await browser.open(node.url, {}, ['null']);
    const { page } = tab;
    await page.goto(pathToFileURL(join(node.directory, 'data', 'dashboard.html')).href);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    const token = (await localToken()).trim();
    assert.doesNotMatch(`${String(kept)} ${page.url()}`, new RegExp(token));
    assert.deepEqual(tab.complaints, []);
  });

  test('an API key is offered what its scopes allow, and another user sees nothing of the one before', async () => {
    const headers = { authorization: `Bearer ${await localToken()}` };
    const run = await node.run(await node.deploy(agentYaml('slow-one'), headers), 'sleepy', headers);
    const keyOf = async (...scopes: string[]): Promise<string> =>
      String((await node.json('POST', '/v1/api-keys', { name: 'page', scopes }, headers)).body.key);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    const signIn = async (token: string): Promise<void> => {
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Use token' }).click();
      await page.getByRole('link', { name: 'Runs', exact: true }).waitFor();
      await page.getByText('local-operator').waitFor();
    };
    // The page reads the trace of the run in several calls: signing out amid them ends them.
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(/\/v1\/actors\/.*\/history/, async (route) => {
      asked.resolve();
      await goOn.promise;
      await route.continue();
    });
    await page.goto(`${node.url}/runs/execution/${run}`);
    await signIn(await keyOf('executions:read'));
    await page.getByRole('heading', { name: 'slow-one' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Cancel run' }).count(), 0);
    for (const name of ['Approvals', 'Catalog', 'Fleet', 'Secrets', 'API keys', 'Audit'])
      assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name);
    await asked.promise;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    goOn.resolve();
    await signIn(await keyOf('executions:*', 'workflows:*', 'agents:read', 'cluster:read'));
    await page.getByRole('button', { name: 'Cancel run' }).waitFor();
    await page.getByRole('link', { name: 'Catalog', exact: true }).click();
    await page.getByRole('link', { name: 'New workflow' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'New agent' }).count(), 0);
    await page.getByRole('link', { name: 'Fleet', exact: true }).click();
    await page.getByRole('region', { name: 'Nodes' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Drain' }).count(), 0);
    assert.deepEqual(tab.complaints, []);
  });
});
