import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { openRecordedNode } from '../../app/recordings/recorded-node.ts';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { workflowYaml } from '../product/why/planted-runs.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

/** A panel of which one judge answers at once, and one takes long. */
const JUDGED = `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: judged, version: "1.0.0" }
spec:
  initial_state: JUDGE
  states:
    JUDGE:
      kind: ParallelAgents
      agents:
        - { agent: writer, input: verdict }
        - { agent: sleeper, input: sleepy, weight: 3 }
      consensus: { strategy: weighted_average }
      transitions: [{ target: DONE }]
    DONE: { kind: System, command: finalize, transitions: [] }
`;

/**
 * Transitions that are taken, that are false, that stand behind the taken one, and of states that are never reached.
 */
const BRANCHES = `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: branches, version: "1.0.0" }
spec:
  initial_state: LOOK
  states:
    LOOK:
      kind: System
      command: update_blackboard
      env: { level: low }
      transitions:
        - { condition: custom, expression: 'blackboard.level == "high"', target: ALARM }
        - { condition: on_success, target: ASK }
        - { condition: always, target: DONE }
    ALARM: { kind: System, command: update_blackboard, env: {}, transitions: [{ target: DONE }] }
    ASK: { kind: Human, prompt: Go on?, timeout: 1h, transitions: [{ condition: input_equals_yes, target: DONE }] }
    DONE: { kind: System, command: finalize, transitions: [] }
`;

const Listed = z.object({ runs: z.array(z.object({ id: z.string(), started_at: z.string() })) });

const RECORDED_PAGES = ['Overview', 'Runs', 'Traces', 'Approvals', 'Actors', 'Dead letters'];

describe('the page of runs', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: DashboardBrowser;
  before(async () => {
    await built();
    [node, browser] = await Promise.all([ProductNode.start(), DashboardBrowser.start()]);
    const writer = await node.deploy(agentYaml('writer'));
    const sleeper = await node.deploy(agentYaml('sleeper'));
    const done = await Promise.all([1, 2, 3].map((at) => node.run(writer, `text ${at}`)));
    await node.run(sleeper, 'sleepy');
    for (const id of done) await waitUntil('it to end', async () => (await node.statusOf(id)).status === 'completed');
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  test('filters are in the address, and back and forward walk through them', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs`);
    await page.getByRole('cell', { name: 'sleeper' }).waitFor();
    assert.equal(await page.getByRole('row').count(), 5);
    await page.getByLabel('Status', { exact: true }).selectOption('completed');
    await page.waitForURL(/status=completed/);
    await waitUntil('three rows', async () => (await page.getByRole('row').count()) === 4);
    await page.goBack();
    await waitUntil('all rows', async () => (await page.getByRole('row').count()) === 5);
    await page.goForward();
    await waitUntil('three rows', async () => (await page.getByRole('row').count()) === 4);
    await page.goto(`${node.url}/runs?text=sleeper`);
    await waitUntil('one row', async () => (await page.getByRole('row').count()) === 2);
    assert.equal(await page.getByLabel('Text').inputValue(), 'sleeper');
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('a run that completed in a failed state does not look like one that succeeded', async () => {
    const last = { kind: 'System', command: 'exit 3', transitions: [] };
    const id = await node.runWorkflow(workflowYaml('ends-failed', last));
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs?text=ends-failed`);
    await page.getByRole('cell', { name: 'ended as failed' }).waitFor();
    await page.goto(`${node.url}/runs/workflow/${id}`);
    await page.getByText('ended as failed', { exact: true }).waitFor();
    const why = page.getByRole('region', { name: 'Why it ended so' });
    assert.match((await why.textContent()) ?? '', /ended as failed in state STEP: command_failed/);
    assert.match((await why.getAttribute('class')) ?? '', /notice-bad/);
    assert.deepEqual(tab.complaints, []);
  });

  test('columns are chosen, and the address keeps them', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs`);
    await page.getByRole('columnheader', { name: 'Labels' }).waitFor();
    await page.getByText('Columns', { exact: true }).click();
    await page.getByRole('group', { name: 'Shown columns' }).getByLabel('Show Trace').check();
    await page.getByRole('group', { name: 'Shown columns' }).getByLabel('Show Labels').uncheck();
    await page.waitForURL((url) => /trace/.test(url.searchParams.get('columns') ?? ''));
    await page.reload();
    await page.getByRole('columnheader', { name: 'Trace' }).waitFor();
    assert.equal(await page.getByRole('columnheader', { name: 'Labels' }).count(), 0);
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('a selected run is cancelled, and the list shows it by itself', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs?text=sleeper`);
    await page.getByRole('checkbox', { name: /^Select run/ }).check();
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel run' }).click();
    await page.getByText('1 of 1 done').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('cell', { name: 'cancelled', exact: true }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('selected runs are cancelled and deleted together with progress, and one that cannot be cancelled is named with the reason', async () => {
    const agent = await node.deploy(agentYaml('bulk'));
    const ids = [await node.run(agent, 'sleepy'), await node.run(agent, 'sleepy'), await node.run(agent, 'sleepy')];
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs?text=bulk`);
    await waitUntil('three rows', async () => (await page.getByRole('row').count()) === 4);
    await page.getByLabel('Select all shown runs').check();
    await page.getByRole('button', { name: 'Cancel 3 runs' }).click();
    const [early = ''] = ids;
    const cancel = () => node.json('POST', `/v1/executions/${early}/cancel`, {});
    assert.equal((await cancel()).status, 200);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel 3 runs' }).click();
    await dialog.getByText('2 of 3 done, 1 refused').waitFor();
    assert.equal(await dialog.getByRole('progressbar').getAttribute('value'), '3');
    const refused = `bulk ${early.slice(0, 8)}: ${String((await cancel()).body.message)}`;
    assert.deepEqual(await dialog.getByRole('listitem').allInnerTexts(), [refused]);
    for (const id of ids) assert.equal((await node.statusOf(id)).status, 'cancelled');
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    for (const id of ids.slice(1)) await page.getByLabel(`Select run ${id}`).check();
    await page.getByRole('button', { name: 'Delete 2 runs' }).click();
    await dialog.getByRole('button', { name: 'Delete 2 runs' }).click();
    await dialog.getByText('2 of 2 done').waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await waitUntil('one row', async () => (await page.getByRole('row').count()) === 2);
    await page.getByLabel(`Select run ${early}`).waitFor();
    const statuses = await Promise.all(ids.map(async (id) => (await node.call('GET', `/v1/executions/${id}`)).status));
    assert.deepEqual(statuses, [200, 404, 404]);
    assert.deepEqual(
      tab.complaints.filter((one) => !one.includes('409')),
      [],
    );
  });

  test('all times are shown as how long ago, in local time or in UTC, by a switch that a touch screen has, too', async () => {
    const [run] = Listed.parse((await node.call('GET', '/v1/runs?text=writer&status=completed')).body).runs;
    const { id, started_at: at } = run ?? assert.fail('no run');
    const utc = at.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
    // Tokyo is nine hours before UTC all year.
    const local = new Date(Date.parse(at) + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
    await using tab = await browser.open(node.url, { timezoneId: 'Asia/Tokyo' });
    const { page } = tab;
    await page.goto(`${node.url}/runs?text=${id}`);
    const started = page.getByRole('row').locator('time');
    await started.getByText(/ago$|^now$/).waitFor();
    await page.getByLabel('Times').selectOption('local');
    await started.getByText(local, { exact: true }).waitFor();
    await page.getByLabel('Times').selectOption('UTC');
    await started.getByText(utc, { exact: true }).waitFor();
    const cut = 'document.querySelector("[role=row] time").parentElement';
    assert.equal(await page.evaluate(`${cut}.scrollWidth <= ${cut}.clientWidth`), true);
    await using touched = await browser.open(node.url, {
      timezoneId: 'Asia/Tokyo',
      viewport: { width: 375, height: 700 },
      hasTouch: true,
    });
    const phone = touched.page;
    await phone.goto(`${node.url}/runs/execution/${id}?tab=events`);
    const event = phone.getByRole('row').locator('time').first();
    const moment = String(await event.getAttribute('datetime'));
    const localClock = new Date(Date.parse(moment) + 9 * 3_600_000).toISOString().slice(11, 23);
    assert.equal(await event.textContent(), localClock);
    await phone.getByRole('button', { name: /svc/ }).tap();
    await phone.getByLabel('Times').selectOption('UTC');
    assert.equal(await event.textContent(), moment.slice(11));
    await phone.reload();
    await event.getByText(moment.slice(11), { exact: true }).waitFor();
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual([...tab.complaints, ...touched.complaints], []);
  });

  test('a run begins with why it failed, shows each iteration with what the validators said, and is deleted only after a question', async () => {
    const strict = agentYaml('strict', {
      execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^never$' }] },
    });
    const id = await node.run(await node.deploy(strict), 'text');
    await waitUntil('it to end', async () => (await node.statusOf(id)).status === 'failed');
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/execution/${id}`);
    const { sentence } = (await node.call('GET', `/v1/executions/${id}/why`)).body;
    await page.getByRole('region', { name: 'Why it ended so' }).getByText(String(sentence), { exact: true }).waitFor();
    const bars = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem');
    await waitUntil(
      'a bar for each iteration',
      async () => (await bars.and(page.locator('.axis-iteration')).count()) === 2,
    );
    await waitUntil(
      'a bar for each call of the model',
      async () => (await bars.and(page.locator('.axis-effect')).count()) === 2,
    );
    await page.getByRole('link', { name: 'Iterations' }).click();
    await page.getByRole('region', { name: 'Iteration 2' }).getByText('No difference.').waitFor({ state: 'attached' });
    await page.getByRole('link', { name: 'Events' }).click();
    const { total } = (await node.call('GET', `/v1/executions/${id}/events`)).body;
    await waitUntil('all events', async () => (await page.getByRole('row').count()) === Number(total) + 1);
    assert.deepEqual(await tab.serious(), []);
    await page.getByRole('button', { name: 'Delete run' }).click();
    await page.getByRole('dialog', { name: 'Delete run' }).getByRole('button', { name: 'Keep as it is' }).click();
    await page.getByRole('button', { name: 'Delete run' }).click();
    await page.getByRole('dialog', { name: 'Delete run' }).getByRole('button', { name: 'Delete run' }).click();
    await page.waitForURL(/\/runs$/);
    assert.deepEqual(tab.complaints, []);
  });

  test('a run is forked from a message that is picked, and the fork leads to it', async () => {
    const id = await node.run(await node.deploy(agentYaml('forked')), 'text');
    await waitUntil('its history', async () => {
      const { body } = await node.call('GET', `/v1/actors/execution/${id}/history`);
      return Array.isArray(body.deliveries) && body.deliveries.length > 1;
    });
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/execution/${id}`);
    await page.getByRole('button', { name: 'Fork' }).click();
    const dialog = page.getByRole('dialog', { name: 'Fork run' });
    await dialog.getByLabel('Reason (optional)').fill('once more');
    await dialog.getByLabel('After message').selectOption({ index: 1 });
    await dialog.getByLabel('Other input (optional)').fill('another text');
    assert.deepEqual(await tab.serious(), []);
    await dialog.getByRole('button', { name: 'Fork run' }).click();
    await page.waitForURL((url) => url.pathname.startsWith('/runs/execution/') && !url.pathname.endsWith(id));
    await page.getByText('Forked from').waitFor();
    await page.getByText('once more').waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('a run is exported as a file, which svc open shows as a recording without a button that changes something', async () => {
    const [run] = Listed.parse((await node.call('GET', '/v1/runs?text=writer&status=completed')).body).runs;
    const id = run?.id ?? '';
    await using live = await browser.open(node.url);
    await live.page.goto(`${node.url}/runs/execution/${id}`);
    await live.page.getByRole('button', { name: 'Delete run' }).waitFor();
    const [download] = await Promise.all([
      live.page.waitForEvent('download'),
      live.page.getByRole('button', { name: 'Export' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `${id}.svcrun`);
    const recorded = await openRecordedNode(await download.path(), 0);
    try {
      await using tab = await browser.open(recorded.url);
      const { page } = tab;
      for (const path of ['/', '/runs', '/traces', '/approvals', '/actors', '/dead-letters', `/runs/execution/${id}`]) {
        await page.goto(`${recorded.url}${path}`);
        await page.getByRole('note').getByText('This is a recording by svc').waitFor();
      }
      await page.getByRole('button', { name: 'Export' }).waitFor();
      await page.getByRole('region', { name: 'Why it ended so' }).waitFor();
      assert.equal(await page.getByRole('button', { name: /Delete|Cancel|Fork/ }).count(), 0);
      const pages = page.getByRole('navigation', { name: 'Pages' }).getByRole('listitem');
      assert.deepEqual(await pages.allInnerTexts(), RECORDED_PAGES);
      assert.deepEqual(await tab.serious(), []);
      assert.deepEqual([...live.complaints, ...tab.complaints], []);
    } finally {
      await recorded.stop();
    }
  });

  test('a panel of judges is shown judge by judge, while it judges and after', async () => {
    const id = await node.runWorkflow(JUDGED);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/workflow/${id}?tab=judges`);
    const seats = page.getByRole('region', { name: 'Judges' }).getByRole('row');
    const seat = (name: string) => seats.filter({ hasText: name });
    await seat('writer').getByText('answered').waitFor({ timeout: 20_000 });
    await seat('writer').getByRole('cell', { name: 'It is good as it is.' }).waitFor();
    await seat('sleeper').getByText('judging').waitFor();
    assert.deepEqual(await seat('sleeper').getByText('3.00').allInnerTexts(), ['3.00']);
    await node.json('POST', `/v1/workflows/executions/${id}/cancel`, {});
    await seat('sleeper').getByText('no longer awaited').waitFor({ timeout: 20_000 });
    assert.equal(await seat('writer').getByText('1.00').count(), 3);
    await seat('writer').getByRole('link').click();
    await page.waitForURL(/\/runs\/execution\//);
    assert.deepEqual(tab.complaints, []);
  });

  test('the graph of a run says of each transition why it was not taken, with what its condition saw, as the run recorded it', async () => {
    const id = await node.runWorkflow(BRANCHES);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/workflow/${id}?tab=graph`);
    await page.locator('.react-flow__edge.taken').first().waitFor();
    const rows = page.getByRole('region', { name: 'Transitions' }).getByRole('row');
    await rows.filter({ hasText: 'State ASK has not ended yet.' }).waitFor();
    const cells = async () => {
      const [_head, ...all] = await rows.all();
      return Promise.all(
        all.map(async (row) => (await row.getByRole('cell').allInnerTexts()).map((one) => one.trim())),
      );
    };
    assert.deepEqual(await cells(), [
      [
        'LOOK → ALARM',
        'not taken',
        'custom\nblackboard.level == "high"',
        'blackboard.level = "low"',
        'Its condition was false.',
      ],
      ['LOOK → ASK', 'taken', 'on_success\nstatus == "success"', 'status = "success"', ''],
      ['LOOK → DONE', 'not taken', 'always', '', 'Not tried: on_success → ASK stands before it and was taken.'],
      ['ALARM → DONE', 'not taken', 'always', '', 'The run has not reached state ALARM.'],
      ['ASK → DONE', 'not taken', 'input_equals_yes', '', 'State ASK has not ended yet.'],
    ]);
    assert.deepEqual(await tab.serious(), []);
    await node.json('POST', `/v1/workflows/executions/${id}/cancel`, {});
    await rows.filter({ hasText: 'The run never reached state ALARM.' }).waitFor();
    await rows.filter({ hasText: 'The run ended while it was in state ASK.' }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('untrusted text is shown as text', async () => {
    const hostile = await node.deploy(agentYaml('hostile', { task: { instruction: '<img src=x onerror=alert(1)>' } }));
    await node.run(hostile, 'unavailable <script>alert(2)</script> \u202e\u001b[31m');
    await using tab = await browser.open(node.url);
    await tab.page.goto(`${node.url}/runs?text=hostile`);
    await tab.page.getByRole('link', { name: 'hostile' }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });
});
