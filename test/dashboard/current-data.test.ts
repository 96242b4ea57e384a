import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

const HOUR_MS = 3_600_000;

const ENDS_AS_FAILED = `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: asks-then-fails, version: "1.0.0", description: asks a person }
spec:
  initial_state: ASK
  states:
    ASK: { kind: Human, prompt: "?", timeout: 1h, transitions: [{ target: FAILS }] }
    FAILS: { kind: System, command: fail, transitions: [] }
`;

const Runs = z.object({ runs: z.array(z.looseObject({ id: z.string(), status: z.string() })) });
const History = z.looseObject({
  deliveries: z.array(z.looseObject({ message_id: z.string() })),
  next: z.string().nullable(),
});
const Waiting = z.object({ pending_requests: z.array(z.object({ id: z.string(), execution_id: z.string() })) });

describe('pages show data that is as current and as complete as they say', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: DashboardBrowser;
  let agent = '';
  let done = '';
  before(async () => {
    await built();
    [node, browser] = await Promise.all([ProductNode.start(), DashboardBrowser.start()]);
    agent = await node.deploy(agentYaml('writer'));
    done = await node.run(agent, 'hello');
    await node.completed([done]);
    await waitUntil('the list to have its end', async () => (await listed(done))?.status === 'completed');
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  const listed = async (id: string) =>
    Runs.parse((await node.call('GET', `/v1/runs?text=${id}`)).body).runs.find((run) => run.id === id);

  const silence = (page: Page) => page.getByText('This node has not answered since');

  const tile = (page: Page, label: string) => page.locator('.tile', { hasText: label }).locator('b');

  test('a page says that its node does not answer, and no longer once it does', async () => {
    await using tab = await browser.open(node.url, { locale: 'en-GB' });
    const { page } = tab;
    await page.goto(node.url);
    await tile(page, 'Started').waitFor();
    assert.equal(await silence(page).count(), 0);
    await page.context().setOffline(true);
    await silence(page).waitFor();
    assert.equal(await tile(page, 'Started').count(), 1);
    await page.context().setOffline(false);
    await silence(page).waitFor({ state: 'detached' });
  });

  test('a node that takes calls but sends nothing does not answer either', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.clock.install();
    await page.goto(`${node.url}/dead-letters`);
    await page.getByText('There is no dead letter.').waitFor();
    // Never answered, as by a frozen process.
    await page.route('**/v1/**', () => {});
    await waitUntil('the page to say so', async () => {
      await page.clock.fastForward(16_000);
      return (await silence(page).count()) === 1;
    });
    assert.deepEqual(tab.complaints, []);
  });

  test('ages, durations and the last hour follow the clock of the node, whatever that of the browser says', async () => {
    const sleeper = await node.run(agent, 'sleepy');
    for (const wrongMs of [-3 * HOUR_MS, 3 * HOUR_MS]) {
      await using tab = await browser.open(node.url);
      const { page } = tab;
      await page.clock.install({ time: Date.now() + wrongMs });
      await page.goto(node.url);
      assert.match((await tile(page, 'Started').textContent()) ?? '', /^[1-9]/, String(wrongMs));
      await page.goto(`${node.url}/runs?text=${sleeper}`);
      const row = page.getByRole('row').filter({ hasText: 'writer' });
      await row.waitFor();
      await waitUntil('its age and duration to be right', async () => {
        const text = (await row.textContent()) ?? '';
        return /(?:now|\d+ (?:s|min) ago)/.test(text) && !/\d h/.test(text);
      });
      assert.deepEqual(tab.complaints, []);
    }
    await node.json('POST', `/v1/executions/${sleeper}/cancel`, {});
  });

  test('the overview counts failures and dead letters also behind 1,000 newer runs', async () => {
    const one = await listed(done);
    const copies = (count: number, status: string) => ({
      runs: Array.from({ length: count }, (_run, at) => ({ ...one, id: `${done}-${at}`, status, error_code: 'x' })),
      next: null,
    });
    const letter = { id: 'a', address: 'workflow/t/1', kind: 'message', message: null, error: 'e', status: 'open' };
    const answer = (body: object) => (route: Route) => route.fulfill({ json: body });
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.route('**/v1/dead-letters?*', answer({ dead_letters: [letter, letter], next_page_token: 'more' }));
    await page.route('**/v1/runs?*', (route) => {
      const isOfFailed = new URL(route.request().url()).searchParams.getAll('status').join() === 'failed';
      return route.fulfill({ json: isOfFailed ? copies(3, 'failed') : copies(1_000, 'completed') });
    });
    await page.goto(node.url);
    await waitUntil('the figures', async () => (await tile(page, 'Open dead letters').textContent()) === '2 +');
    assert.equal(await tile(page, 'Failed').textContent(), '3');
    assert.equal(await tile(page, 'Started').textContent(), '1,000 +');
    await page.getByText('Of the newest 1,000 runs; before them there were more.').waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('the page of a run that ends as failed while it is open says so, and so does its trace', async () => {
    const id = await node.runWorkflow(ENDS_AS_FAILED);
    const approval = await waitUntil('its question', async () => {
      const { pending_requests: open } = Waiting.parse((await node.call('GET', '/v1/human-approvals')).body);
      return open.find((question) => question.execution_id === id)?.id;
    });
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/workflow/${id}`);
    await page.locator('.page-title').getByText('waits for a person').waitFor();
    await page.getByRole('heading', { name: 'asks-then-fails', level: 1 }).waitFor();
    await node.succeed('POST', `/v1/human-approvals/${approval}/approve`, {});
    await page.locator('.page-title').getByText('ended as failed').waitFor();
    await page.getByRole('link', { name: 'Trace', exact: true }).click();
    await page.locator('.trace-note').getByText('ended as failed').waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('the trace of a cancelled run leads to the call that cancelled it, with its caller', async () => {
    const id = await node.run(agent, 'sleepy');
    await node.json('POST', `/v1/executions/${id}/cancel`, {});
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/execution/${id}`);
    await page.locator('.page-title').getByText('cancelled').waitFor();
    await page.getByRole('link', { name: 'Trace', exact: true }).click();
    await page.getByRole('list', { name: 'Related traces' }).getByRole('link').first().click();
    const table = new URL(page.url());
    table.searchParams.set('view', 'table');
    await page.getByText('is a call to the run of').waitFor();
    await page.goto(table.href);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('Cancel').first().click();
    await page.getByRole('complementary', { name: 'Message Cancel' }).getByText('on a call of').waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('the history of an actor has its newest deliveries, and a button for those that come later', async () => {
    const { deliveries } = History.parse((await node.call('GET', `/v1/actors/execution/${done}/history`)).body);
    const [first] = deliveries;
    const row = (at: number) => ({ ...first, message_id: `m${at}`, type: `Type${at}` });
    // 2,500 deliveries, in pages of 1,000, newest first; one more later.
    let all = 2_500;
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.route(`**/v1/actors/execution/${done}/history?*`, (route) => {
      const asked = new URL(route.request().url()).searchParams;
      const [from, limit] = [Number(asked.get('next') ?? all), Number(asked.get('limit'))];
      const upTo = Math.max(0, from - limit);
      const newestFirst = Array.from({ length: from - upTo }, (_row, at) => row(from - at));
      const isOldestFirst = asked.get('order') === 'oldest_first';
      const rows = isOldestFirst ? Array.from({ length: limit }, (_row, at) => row(at + 1)) : newestFirst;
      return route.fulfill({ json: { address: 'a', deliveries: rows, next: upTo === 0 ? null : String(upTo) } });
    });
    await page.route('**/v1/actors/execution/*/diff?*', (route) =>
      route.fulfill({ json: { changes: [], differs: null, cut: false } }),
    );
    await page.goto(`${node.url}/actors/execution/${done}?tab=history`);
    await page.getByText('Message 2,500 of 2,500: Type2500').waitFor();
    all += 1;
    await page.getByRole('button', { name: 'Show new messages' }).click();
    await page.getByText('Message 2,501 of 2,501: Type2501').waitFor();
  });

  test('a column that is chosen on a phone is shown there', async () => {
    await using tab = await browser.open(node.url, { viewport: { width: 390, height: 844 } });
    const { page } = tab;
    await page.goto(`${node.url}/runs`);
    await page.getByRole('columnheader', { name: 'Name' }).waitFor();
    assert.equal(await page.getByRole('columnheader', { name: 'Error code' }).count(), 0);
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Show Error code' }).check();
    await page.getByRole('columnheader', { name: 'Error code' }).waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    assert.equal(width, 390);
    // Turned: the usual columns have the room now.
    await page.goto(`${node.url}/runs`);
    await page.setViewportSize({ width: 844, height: 390 });
    await page.getByRole('columnheader', { name: 'Started' }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });
});
