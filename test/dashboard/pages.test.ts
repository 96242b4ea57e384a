import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { sample, someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

/** Untrusted text: markup, escapes of terminals, marks that change the direction, great length. */
const HOSTILE = `<script>alert(1)</script><img src=x onerror=alert(2)> "'\`{{7*7}} \u202egnp.exe ${'long '.repeat(2_000)}`;

const Volumes = z.object({ volumes: z.array(z.object({ id: z.string(), name: z.string() })) });

const Deliveries = z.object({ deliveries: z.array(z.object({ message_id: z.string() })) });

/** A workflow that ends at a question. */
const ASKS = (prompt: string): string => `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: asks, version: "1.0.0", description: asks a person }
spec:
  initial_state: ASK
  states:
    ASK:
      kind: Human
      prompt: ${JSON.stringify(prompt)}
      timeout: 1h
      transitions: [{ target: DONE }]
    DONE: { kind: System, command: finalize, transitions: [] }
`;

/** A workflow that ends by itself, and whose input has a schema. */
const FORMED = `
apiVersion: svc.dev/v1
kind: Workflow
metadata:
  name: formed
  version: "VERSION"
  input_schema:
    type: object
    properties:
      who: { type: string }
      many: { type: integer }
      kind: { enum: [small, large] }
spec:
  initial_state: TELL
  states:
    TELL: { kind: System, command: update_blackboard, env: { note: NOTE }, transitions: [{ target: DONE }] }
    DONE: { kind: System, command: finalize, env: { output: NOTE }, transitions: [] }
`;

const formed = (version: string, note: string): string => FORMED.replace('VERSION', version).replaceAll('NOTE', note);

/** Both are cut at 20,000 and, when more is asked for, at 100,000. */
const HUGE_CHARS = sample({ normal: 150_000, long: 10_000_000 });
const LONG_CHARS = sample({ normal: 25_000, long: 100_000 });
const HUGE_COUNT = HUGE_CHARS.toLocaleString('en-US');
const HUGE = HOSTILE.slice(0, 80).padEnd(HUGE_CHARS, '<b>\u001b[31m \u202e</b> ');

/** Fields with untrusted texts, in answers of the API. */
const WRITTEN = /"(output|message|code_diff|input|note|prompt|text|reason|last_output)":"(?:[^"\\]|\\.)*"/g;

const HUGE_JSON = JSON.stringify(HUGE);
const LONG_JSON = JSON.stringify(HUGE.slice(0, LONG_CHARS));

/** An answer whose first untrusted text is huge, and whose others are long. */
function swollen(text: string): string {
  let isFirst = true;
  return text.replaceAll(WRITTEN, (_whole, name: string) => {
    const long = isFirst ? HUGE_JSON : LONG_JSON;
    isFirst = false;
    return `"${name}":${long}`;
  });
}

const Pending = z.object({ pending_requests: z.array(z.object({ id: z.string(), execution_id: z.string() })) });

describe('each page of the dashboard', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: DashboardBrowser;
  let [agent, workflow, run, asking] = ['', '', '', ''];
  before(async () => {
    await built();
    [node, browser] = await Promise.all([
      ProductNode.start({ spec: { chaos: { enabled: true, tenants: ['svc-system'] } } }),
      DashboardBrowser.start(),
    ]);
    agent = await node.deploy(agentYaml('writer'));
    run = await node.run(agent, HOSTILE);
    asking = await node.runWorkflow(ASKS(HOSTILE.slice(0, 4_000).replaceAll(/[{}]/g, '')));
    workflow = String((await node.call('GET', '/v1/workflows/asks')).body.id);
    const stimulus = { source: '<b>source</b>', content: HOSTILE };
    await node.json('POST', '/v1/stimuli', stimulus);
    const pattern = { error_signature: HOSTILE.slice(0, 500), error_type: 'E', solution_approach: '<i>none</i>' };
    await node.json('POST', '/v1/cortex/patterns', pattern);
    await node.json('POST', '/v1/volumes', { name: 'kept' });
    await node.json('PUT', '/v1/secrets/canary', { value: 'canary-value' });
    await node.json('POST', '/v1/api-keys', { name: '<u>key</u>' });
    await waitUntil(
      'the question',
      async () => Number((await node.call('GET', '/v1/human-approvals')).body.count) === 1,
    );
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  const pendingOf = async (run: string) => {
    const { pending_requests: all } = Pending.parse((await node.call('GET', '/v1/human-approvals')).body);
    return all.find(({ execution_id }) => execution_id === run) ?? assert.fail('no question');
  };

  const paths = (): string[] => [
    '/',
    '/runs',
    ...['', '?tab=attempts', '?tab=tools', '?tab=events'].map((tab) => `/runs/execution/${run}${tab}`),
    ...['', '?tab=graph', '?tab=blackboard', '?tab=judges', '?tab=output', '?tab=events'].map(
      (tab) => `/runs/workflow/${asking}${tab}`,
    ),
    '/approvals',
    '/catalog',
    `/catalog/agent/${agent}`,
    ...['', '?tab=graph', '?tab=differences', '?tab=start'].map((tab) => `/catalog/workflow/${workflow}${tab}`),
    '/catalog/edit?kind=workflow',
    '/actors',
    ...['', '?tab=mailbox', '?tab=history'].map((tab) => `/actors/execution/${run}${tab}`),
    '/dead-letters',
    '/fleet?count=2&tags=gpu',
    '/stimuli',
    '/patterns',
    '/volumes',
    '/secrets',
    '/keys',
    '/limits',
    '/audit',
    '/faults',
  ];

  test('loads without an error, a request elsewhere or a violation of its policy, and axe finds nothing serious', async () => {
    const waiting = [...someOf(paths(), 9)];
    const found: Record<string, readonly string[]> = {};
    const lane = async (colorScheme: 'light' | 'dark'): Promise<void> => {
      await using tab = await browser.open(node.url, { colorScheme });
      for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
        await tab.page.goto(node.url + path);
        await tab.titled();
        await waitUntil(`${path} to have read all`, async () => (await tab.page.locator('.loading').count()) === 0);
        const said = [...tab.complaints.splice(0), ...(await tab.serious())];
        if (said.length > 0) found[path] = said;
      }
    };
    await Promise.all([lane('light'), lane('dark')]);
    assert.deepEqual(found, {});
  });

  test('shows untrusted text as text, with signs for what cannot be seen', async () => {
    await using tab = await browser.open(node.url);
    await tab.page.goto(`${node.url}/approvals`);
    const question = tab.page.getByRole('list', { name: 'Questions' }).getByRole('link').first();
    assert.match((await question.textContent()) ?? '', /^<script>alert\(1\)<\/script>.*⟨202E⟩gnp\.exe/);
    await tab.page.goto(`${node.url}/runs/workflow/${asking}`);
    await tab.page.getByRole('region', { name: 'Question' }).getByText('<script>alert(1)</script>').waitFor();
    assert.deepEqual(tab.complaints, []);
    assert.equal(await tab.page.locator('img').count(), 0);
  });

  test('shows hostile text in a trace as text: payload, state and differences of a message', async () => {
    const found = await waitUntil('the trace of the run', async () => {
      const { body } = await node.call('GET', `/v1/actors/execution/${run}/history?limit=1&order=oldest_first`);
      return Deliveries.parse(body).deliveries[0];
    });
    const { trace_id } = (await node.call('GET', `/v1/messages/${found.message_id}`)).body;
    await using tab = await browser.open(node.url);
    const { page } = tab;
    for (const view of ['', '&view=table']) {
      await page.goto(`${node.url}/traces/${String(trace_id)}?m=${found.message_id}${view}`);
      const drawer = page.getByRole('complementary', { name: /^Message/ });
      await drawer.getByText('<script>alert(1)</script>').first().waitFor();
      await drawer.getByText('⟨202E⟩gnp.exe').first().waitFor();
      assert.equal(await page.locator('img').count(), 0);
    }
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('shows a file of 10 MB of broken text under a hostile name, and stays usable', async () => {
    const { volumes } = Volumes.parse((await node.call('GET', '/v1/volumes')).body);
    const volume = volumes.find(({ name }) => name === 'kept')?.id ?? assert.fail('no volume');
    const name = '<img src=x onerror=alert(3)> \u202egnp.txt';
    const body = Buffer.alloc(10_000_000, Buffer.from('<script>alert(4)</script> \u001b[31m ').subarray(0, 33));
    body.fill(0xff, 40, 60);
    const path = `/v1/volumes/${volume}/files/content?path=${encodeURIComponent(`/${name}`)}`;
    const headers = { 'content-type': 'application/octet-stream' };
    const written = await node.call('PUT', path, { body, headers });
    assert.equal(written.status, 200, written.text);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/volumes/${volume}`);
    await page.getByRole('link', { name: '<img src=x onerror=alert(3)> ⟨202E⟩gnp.txt' }).click();
    await page.getByText('The first 64.0 KiB of 9.5 MiB.').waitFor();
    const shown = (await page.locator('main pre').textContent()) ?? '';
    assert.match(shown, /^<script>alert\(4\)<\/script> ␛\[31m .*\ufffd{20}/);
    assert.equal(await page.locator('img').count(), 0);
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: /^Search/ }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('shows untrusted texts of up to 10 MB in part, stays usable, and offers all of it as a file', async () => {
    const strict = { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^never$' }] } };
    const failed = await node.run(await node.deploy(agentYaml('strict', strict)), 'text');
    const told = await node.runWorkflow(formed('0.9.0', 'x'));
    await waitUntil('both to end', async () => {
      const { body } = await node.call('GET', `/v1/workflows/executions/${told}`);
      return body.status === 'completed' && (await node.statusOf(failed)).status === 'failed';
    });
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.route(/\/v1\/(executions|workflows\/executions|actors|messages|human-approvals)\//, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: swollen(await answer.text()) });
    });
    const { message_id: message } = await waitUntil('a message', async () => {
      const { body } = await node.call('GET', `/v1/actors/execution/${failed}/history?limit=1&order=oldest_first`);
      return Deliveries.parse(body).deliveries[0];
    });
    const { trace_id: trace } = (await node.call('GET', `/v1/messages/${message}`)).body;
    /** Pages, and how many texts of each are cut. */
    const cut: readonly (readonly [path: string, texts: number])[] = [
      [`/runs/execution/${failed}?tab=attempts`, 4],
      [`/runs/execution/${failed}?tab=input`, 1],
      [`/runs/workflow/${told}?tab=blackboard`, 1],
      [`/runs/workflow/${told}?tab=output`, 1],
      [`/approvals?id=${(await pendingOf(asking)).id}`, 1],
      [`/actors/execution/${failed}`, 1],
      [`/traces/${String(trace)}?m=${message}`, 1],
    ];
    for (const [path, texts] of someOf(cut, 3)) {
      await page.goto(node.url + path);
      const more = page.getByRole('button', { name: 'Show more' });
      await waitUntil(`${path} to show ${texts} in part`, async () => (await more.count()) >= texts, 60_000);
      assert.ok(Number(await page.evaluate('document.body.innerText.length')) < 200_000, path);
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    }
    await page.goto(`${node.url}/runs/execution/${failed}?tab=attempts`);
    const first = page.getByRole('region', { name: 'Iteration 1' });
    await first.getByText(`The first 20,000 of ${HUGE_COUNT} characters.`).waitFor();
    await first.locator('.long-foot').first().getByRole('button', { name: 'Show more' }).click();
    await first.getByText(`The first 100,000 of ${HUGE_COUNT} characters.`).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      first.locator('.long-foot').first().getByRole('button', { name: 'Download' }).click(),
    ]);
    assert.equal(await readFile(await download.path(), 'utf8'), HUGE);
    assert.equal(await page.locator('img').count(), 0);
    assert.deepEqual(tab.complaints, []);
  });

  test('injects faults where the settings allow them, and says which invariants hold', async () => {
    const victim = await node.run(agent, 'sleepy');
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/faults`);
    const invariants = page.getByRole('region', { name: 'Invariants' }).first().getByRole('row');
    const holding = () => invariants.getByText('holds', { exact: true }).count();
    const health = () => fetch(`${node.url}/health`, { signal: AbortSignal.timeout(500) });
    const isSilent = () =>
      health().then(
        () => false,
        () => true,
      );
    await waitUntil('all invariants to hold', async () => (await holding()) === 4);
    await page.getByLabel(/^Address of an actor/).fill(`execution/svc-system/${victim}`);
    await page.getByRole('button', { name: 'Kill the actor' }).click();
    const faults = page.getByRole('region', { name: 'Faults', exact: true }).getByRole('row');
    await faults.filter({ hasText: 'kill-actor' }).getByText('done').waitFor();
    for (const [button, kind] of [
      ['Drop its partition', 'kill-owner'],
      [/^Freeze it for/, 'freeze-node'],
    ] as const) {
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').getByRole('button', { name: button }).click();
      if (kind === 'freeze-node') await waitUntil('the node to answer nothing', isSilent);
      await faults.filter({ hasText: kind }).getByText('done').waitFor();
    }
    await waitUntil('all invariants to hold again', async () => (await holding()) === 4);
    await page.route('**/v1/cluster/partitions', async (route) => {
      const answer = z
        .looseObject({ partitions: z.array(z.looseObject({})) })
        .parse(await (await route.fetch()).json());
      await route.fulfill({
        json: { ...answer, partitions: answer.partitions.map((one) => ({ ...one, node: null })) },
      });
    });
    await invariants.filter({ hasText: 'Each partition has a node' }).getByText('does not hold').waitFor();
    await page.unroute('**/v1/cluster/partitions');
    await waitUntil('all invariants to hold again', async () => (await holding()) === 4);
    assert.deepEqual(await tab.serious(), []);
    await node.json('POST', `/v1/executions/${victim}/cancel`, {});
    // While a partition has no owner its actors answer 503.
    assert.deepEqual(
      tab.complaints.filter((one) => !one.includes('503')),
      [],
    );
  });

  test('the groups of waiting runs link to these runs', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/`);
    await page
      .getByRole('region', { name: 'Waiting now, by reason' })
      .getByRole('link', { name: 'a person', exact: true })
      .click();
    await page.waitForURL((url) => url.pathname === '/runs' && url.searchParams.get('wait_reason') === 'approval');
    await page.getByRole('cell', { name: /^asks/ }).first().waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('answers a question from the inbox, and the run goes on', async () => {
    await using tab = await browser.open(node.url);
    await tab.page.goto(`${node.url}/approvals`);
    await tab.page.getByRole('list', { name: 'Questions' }).getByRole('link').first().click();
    await tab.page.getByLabel(/^Comment/).fill('go ahead');
    await tab.page.getByRole('button', { name: 'Approve' }).click();
    await waitUntil('the run to end', async () => {
      const { body } = await node.call('GET', `/v1/workflows/executions/${asking}`);
      return body.status === 'completed';
    });
    assert.deepEqual(tab.complaints, []);
  });

  test('shows the differences of two versions, starts a run from a form of the input schema, and draws a workflow while it is typed', async () => {
    const deploy = (version: string, note: string) =>
      node.call('POST', '/v1/workflows', {
        body: formed(version, note),
        headers: { 'content-type': 'application/yaml' },
      });
    const id = String((await deploy('1.0.0', 'first')).body.workflow_id);
    await deploy('1.1.0', 'second');
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/catalog/workflow/${id}?tab=differences`);
    await page.getByLabel('Against').selectOption('1.0.0');
    const changed = page.getByRole('figure', { name: '1.0.0 against the shown version' });
    await changed.locator('.removed').getByText('first').first().waitFor();
    await changed.locator('.added').getByText('second').first().waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
    const graph = page.getByRole('region', { name: 'States of the manifest' });
    await graph.getByText('TELL').waitFor();
    await page.getByRole('textbox', { name: 'Manifest' }).click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('    MORE: { kind: System, command: finalize, transitions: [] }');
    await graph.getByText('MORE').waitFor();
    await page.goto(`${node.url}/catalog/workflow/${id}?tab=start`);
    await page.getByLabel(/^who/).fill('<b>Ann</b>');
    await page.getByLabel(/^many/).fill('3');
    await page.getByLabel(/^kind/).selectOption('large');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.waitForURL(/\/runs\/workflow\//);
    const run = page.url().split('/').at(-1);
    const { input } = (await node.call('GET', `/v1/workflows/executions/${run}`)).body;
    assert.deepEqual(input, { who: '<b>Ann</b>', many: 3, kind: 'large' });
    assert.deepEqual(tab.complaints, []);
  });

  test('shows the load of each partition, and what would happen if nodes joined or left', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/fleet`);
    const loads: unknown = (await node.call('GET', '/v1/cluster/partitions')).body.partitions;
    assert.ok(Array.isArray(loads));
    await page.getByRole('heading', { name: 'Partitions' }).waitFor();
    await waitUntil(
      'a square for each partition',
      async () => (await page.locator('.heat-cells i').count()) === loads.length,
    );
    await page
      .getByRole('region', { name: 'Takeovers' })
      .getByText(/No node served them/)
      .first()
      .waitFor();
    await page.getByLabel('Nodes that join').fill('2');
    await page.getByLabel('with tags').fill('gpu');
    await page.getByText(/^\d+ partitions? with \d+ actors? would move\.$/).waitFor();
    await page.waitForURL(/count=2.*tags=gpu/);
    await page.getByRole('group', { name: 'Nodes that leave' }).getByRole('checkbox').first().check();
    const planned = await node.call('GET', `/v1/cluster/plan?without=${loads[0].node}&join=tags=gpu,count=2`);
    const [said] = await page
      .getByText(new RegExp(`^${planned.body.moved_partitions} partitions? with`))
      .allTextContents();
    assert.match(said ?? '', /would move/);
    await page.getByText('system: waiting for a node with role controller or hybrid').waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('completes a manifest by its schema, shows errors while it is typed, and replaces a version only when the user chooses that', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    // The schema arrives only after the first word was typed: its completions are shown all the same.
    const typed = Promise.withResolvers<void>();
    await page.route(/\/v1\/schemas\/agent/, async (route) => {
      await typed.promise;
      // Longer than the editor waits after a key before it looks for completions.
      await setTimeout(500);
      await route.continue();
    });
    await page.goto(`${node.url}/catalog/edit?kind=agent`);
    const editor = page.getByRole('textbox', { name: 'Manifest' });
    await editor.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('  exec');
    typed.resolve();
    await page.getByRole('option', { name: /^execution/ }).click();
    await page.keyboard.press('Enter');
    await page.keyboard.type('  max_iter');
    await page.getByRole('option', { name: /^max_iterations/ }).waitFor();
    await page.keyboard.type('ations: none');
    const problems = page.getByRole('list', { name: 'Problems' });
    await problems.getByText(/max_iterations/).waitFor();
    for (const _letter of 'none') await page.keyboard.press('Backspace');
    await page.keyboard.type('2');
    await waitUntil('no problem', async () => (await problems.getByRole('listitem').count()) === 0);
    for (const isFirst of [true, false]) {
      await page.goto(`${node.url}/catalog/edit?kind=agent`);
      await page.getByRole('button', { name: 'Deploy' }).click();
      if (!isFirst) await page.getByRole('button', { name: 'Replace this version' }).click();
      await page.getByRole('heading', { name: 'my-agent' }).waitFor();
    }
    assert.deepEqual(
      tab.complaints.filter((one) => !one.includes('409')),
      [],
    );
  });

  test('checks the chain of operations in the browser, and lists what fits the filters', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/audit?outcome=ok&operation=secrets.put`);
    await page.getByRole('region', { name: 'Audit' }).getByText('canary').waitFor();
    await page.getByRole('region', { name: 'Chains' }).getByRole('button', { name: 'Check here' }).first().click();
    await page.getByText(/^\d+ records?, checked here; signed up to record \d+$/).waitFor();
    await page.goto(`${node.url}/audit?operation=none.such`);
    await page.getByText('No entry fits these filters.').waitFor();
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('says what to do when a run does not exist, and marks a node that has its stores as ready', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    for (const kind of ['execution', 'workflow']) {
      await page.goto(`${node.url}/runs/${kind}/00000000-0000-4000-8000-000000000000`);
      await page.getByText('There is no such run.').waitFor();
      assert.equal(await page.getByRole('link', { name: 'See the runs' }).getAttribute('href'), '/runs');
    }
    assert.deepEqual(await tab.serious(), []);
    await page.goto(node.url);
    await page.getByRole('link', { name: 'Node and its stores ready' }).waitFor();
  });

  test('reaches any page and any command by keys: search and go', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/`);
    await page.locator('h1').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.waitForURL(/\/catalog/);
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: /^Search/ }).waitFor();
    await page.keyboard.type(run.slice(0, 8));
    await page.getByRole('option', { name: new RegExp(run.slice(0, 8)) }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(run));
    await page.keyboard.press('/');
    await page.keyboard.type('theme: dark');
    await page.getByRole('option', { name: /^Theme: dark/ }).waitFor();
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    assert.deepEqual(await tab.serious(), []);
  });

  test('fits a phone: nothing is wider than the window', async () => {
    await using tab = await browser.open(node.url, { viewport: { width: 375, height: 700 } });
    for (const path of ['/', '/runs', `/runs/execution/${run}`, '/fleet', '/catalog', '/approvals']) {
      await tab.page.goto(node.url + path);
      await tab.titled();
      assert.equal(await tab.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, path);
    }
  });
});
