import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { agentYaml, ProductNode } from '../product/product-node.ts';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { browserMissing, DashboardBrowser } from './browser.ts';
import { built } from './built.ts';

const RawTrace = z.object({
  status: z.string(),
  deliveries: z.array(
    z.object({ message_id: z.string(), cause_id: z.string().nullable(), to: z.string(), type: z.string() }),
  ),
  next: z.string().nullable(),
});

const Changes = z.object({ changes: z.array(z.object({ path: z.string(), kind: z.string() })) });

const Traces = z.object({ traces: z.array(z.object({ id: z.string(), trace_id: z.string() })) });

/** Several writes of the ledger. */
const QUIET_MS = 2_000;

/** A workflow that runs an agent: lanes of two kinds. */
const WORKFLOW = (agent: string): string => `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: two-steps, version: "1.0.0", description: runs an agent }
spec:
  initial_state: WRITE
  states:
    WRITE:
      kind: Agent
      agent: ${agent}
      input: write
      transitions: [{ condition: on_success, target: DONE }]
    DONE: { kind: System, command: finalize, transitions: [] }
`;

describe('the page of a trace', { skip: browserMissing() }, () => {
  let node: ProductNode;
  let browser: DashboardBrowser;
  let [trace, failed, running, sleeper] = ['', '', '', ''];
  before(async () => {
    await built();
    [node, browser] = await Promise.all([ProductNode.start(), DashboardBrowser.start()]);
    await node.deploy(agentYaml('writer'));
    trace = await traceOf(await node.runWorkflow(WORKFLOW('writer')));
    failed = await traceOf(await node.run(await node.deploy(agentYaml('down')), 'unavailable'));
    sleeper = await node.run(await node.deploy(agentYaml('sleeper')), 'sleepy');
    running = await traceOf(sleeper);
    await waitUntil('the workflow to end', async () => (await rawTrace(trace)).status === 'completed');
    let [count, since] = [0, performance.now()];
    await waitUntil('the ledger, which is written twice a second, to have the whole trace', async () => {
      const { length } = (await rawTrace(trace)).deliveries;
      if (length !== count) [count, since] = [length, performance.now()];
      return performance.now() - since > QUIET_MS;
    });
  });
  after(async () => {
    await browser?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
  });

  const traceOf = (run: string): Promise<string> =>
    waitUntil('the run to have a trace', async () => {
      const { traces } = Traces.parse((await node.call('GET', `/v1/traces?text=${run}`)).body);
      return traces.find(({ id }) => id === run)?.trace_id;
    });

  const rawTrace = async (id: string) => RawTrace.parse((await node.call('GET', `/v1/traces/${id}`)).body);

  const picture = (page: Page) => page.getByRole('application', { name: /^Space-time view/ });

  test('shows as many deliveries and lanes as the API says, and the edges of each message', async () => {
    const { deliveries, next } = await rawTrace(trace);
    assert.equal(next, null);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${trace}`);
    const label = await picture(page).getAttribute('aria-label');
    const lanes = new Set(deliveries.map(({ to }) => to)).size;
    assert.match(label ?? '', new RegExp(`: ${deliveries.length} deliveries to ${lanes} actors`));
    assert.ok(deliveries.length > 4 && lanes > 1, String(label));
    const cells = (name: string) => page.locator(`.trace-facts div:has(dt:text-is("${name}")) button.link`);
    for (const { message_id, cause_id, type } of someOf(deliveries, 4)) {
      await page.goto(`${node.url}/traces/${trace}?m=${encodeURIComponent(message_id)}`);
      await page.getByRole('complementary', { name: `Message ${type}` }).waitFor();
      const causes = await cells('Cause').allTextContents();
      const effects = await cells('Effects').allTextContents();
      const cause = deliveries.find((one) => one.message_id === cause_id);
      const caused = new Map(
        deliveries.filter((one) => one.cause_id === message_id).map((one) => [one.message_id, one.type]),
      );
      const typesOf = (texts: readonly string[]): string[] => texts.map((text) => text.split(' ')[0] ?? '').sort();
      assert.deepEqual(typesOf(causes), cause === undefined ? [] : [cause.type]);
      assert.deepEqual(typesOf(effects), [...caused.values()].sort().slice(0, 12));
    }
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('keys step through the messages in the order of time, and the address names the selected one', async () => {
    const { deliveries } = await rawTrace(trace);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${trace}`);
    await picture(page).focus();
    for (const step of [0, 1, 2]) {
      await page.keyboard.press('ArrowRight');
      await page.waitForURL((url) => url.searchParams.get('m') === deliveries[step]?.message_id);
    }
    await page.keyboard.press('ArrowUp');
    await page.waitForURL((url) => url.searchParams.get('m') === deliveries[2]?.cause_id);
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'trace-drawer');
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.searchParams.has('m'));
    for (const _step of [1, 2, 3]) await page.keyboard.press('w');
    await page.keyboard.press('d');
    await page.waitForURL((url) => /^-?[\d.]+~[\d.]+$/.test(url.searchParams.get('w') ?? ''));
    await page.keyboard.press('f');
    await page.waitForURL((url) => !url.searchParams.has('w'));
    await page.keyboard.press('/');
    await page.keyboard.type('Start');
    await page.keyboard.press('Enter');
    await page.waitForURL(
      (url) => url.searchParams.get('m') === deliveries.find(({ type }) => type.includes('Start'))?.message_id,
    );
    // The run of an agent is found by the name of the agent, which is also at its lane.
    await page.goto(`${node.url}/traces/${trace}?q=writer`);
    await picture(page).waitFor();
    const toAgent = deliveries.find(({ to }) => to.startsWith('execution/'))?.message_id;
    // Names of runs come after the picture: until then nothing is found.
    await waitUntil('the message to the agent is selected', async () => {
      await page.keyboard.press('n');
      return new URL(page.url()).searchParams.get('m') === toAgent;
    });
    await page.getByRole('button', { name: 'Table' }).click();
    await page
      .getByRole('cell', { name: /^writer execution\// })
      .first()
      .waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('links lead from a trace to its run, to the runs of its states, to its actor, and back to a message of the trace', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${trace}`);
    await page.getByRole('heading', { name: 'Trace of two-steps' }).waitFor();
    await page.getByRole('link', { name: 'Run', exact: true }).click();
    await page.waitForURL(/\/runs\/workflow\//);
    const child = page.getByRole('region', { name: 'Timeline' }).getByRole('link');
    assert.match((await child.getAttribute('href')) ?? '', /^\/runs\/execution\//);
    await page.getByRole('link', { name: 'Actor', exact: true }).click();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('link', { name: 'Show in its trace' }).click();
    await page.waitForURL((url) => url.pathname === `/traces/${trace}` && url.searchParams.has('m'));
    await page.getByRole('complementary', { name: /^Message/ }).waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('a run shows the tree of its parents and children with their statuses, and an agent what it was given', async () => {
    const { runs } = z
      .object({ runs: z.array(z.object({ id: z.string(), kind: z.string(), name: z.string() })) })
      .parse((await node.call('GET', `/v1/runs?trace_id=${trace}`)).body);
    const above = runs.find(({ kind }) => kind === 'workflow');
    const children = runs.filter(({ kind }) => kind === 'execution');
    assert.ok(above !== undefined && children.length > 0);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/runs/workflow/${above.id}?tab=tree`);
    const tree = page.getByRole('region', { name: 'Parents and children' });
    await tree.getByText(above.name).waitFor();
    assert.equal(await tree.getByRole('link').count(), children.length);
    assert.equal(await tree.getByText('completed').count(), runs.length);
    await tree.getByRole('link').first().click();
    await page.waitForURL(/\/runs\/execution\//);
    await page.getByRole('region', { name: 'Timeline' }).getByText('model.generate').first().waitFor();
    await page.getByRole('link', { name: 'Parents and children' }).click();
    await tree.getByRole('link', { name: new RegExp(above.name) }).waitFor();
    await page.getByRole('link', { name: 'Input', exact: true }).click();
    await page.getByRole('region', { name: 'Input' }).locator('pre').first().waitFor();
    assert.deepEqual(tab.complaints, []);
  });

  test('every step of the tour in the guide works as it says', async () => {
    const guide = await readFile('docs/guides/why-did-my-run-do-that.md', 'utf8');
    const titles = [...guide.matchAll(/^\d+\. \*\*(.+?)\.\*\*/gm)].map(([, title]) => title ?? '');
    const { runs } = z
      .object({ runs: z.array(z.object({ id: z.string(), kind: z.string() })) })
      .parse((await node.call('GET', `/v1/runs?trace_id=${trace}`)).body);
    const id = runs.find(({ kind }) => kind === 'execution')?.id;
    await using tab = await browser.open(node.url);
    const { page } = tab;
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      'Read the reason': async () => {
        await page.goto(`${node.url}/runs/execution/${id}`);
        await page.getByRole('region', { name: 'Why it ended so' }).waitFor();
      },
      'Look at its time': () =>
        page.getByRole('region', { name: 'Timeline' }).getByText('model.generate').first().waitFor(),
      'Read its input': async () => {
        await page.getByRole('link', { name: 'Input', exact: true }).click();
        await page.getByRole('region', { name: 'Input' }).getByText('write').first().waitFor();
      },
      'Find who started it': async () => {
        await page.getByRole('link', { name: 'Parents and children' }).click();
        await page
          .getByRole('region', { name: 'Parents and children' })
          .getByRole('link', { name: 'two-steps' })
          .waitFor();
      },
      'Open the trace': async () => {
        await page.getByRole('link', { name: 'Trace', exact: true }).click();
        await picture(page).waitFor();
      },
      'Take the critical path': async () => {
        await page.getByRole('button', { name: 'Critical path' }).click();
        await page.waitForURL(/flow=path/);
      },
      'Choose a message': async () => {
        await picture(page).focus();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        await page.getByRole('complementary', { name: /^Message/ }).waitFor();
      },
      'Ask why it happened': async () => {
        await page.getByRole('button', { name: 'Why did this happen' }).click();
        await page.waitForURL(/flow=causes/);
      },
    };
    assert.deepEqual(titles, Object.keys(steps));
    for (const step of Object.values(steps)) await step();
    assert.deepEqual(tab.complaints, []);
  });

  test('causes, effects and the critical path are one click, and go back with the address', async () => {
    const { deliveries } = await rawTrace(trace);
    const path = z.object({ steps: z.array(z.object({ message_id: z.string() })) });
    const { steps } = path.parse((await node.call('GET', `/v1/traces/${trace}/critical-path`)).body);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${trace}?m=${deliveries.at(-1)?.message_id}`);
    await page.getByRole('button', { name: 'Critical path' }).click();
    const messages = new Set(steps.map(({ message_id }) => message_id)).size;
    await page.getByText(`${messages} messages`, { exact: true }).waitFor();
    await page.goBack();
    await page.getByText(`${messages} messages`, { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Why did this happen' }).click();
    let chain = 0;
    for (let at = deliveries.at(-1); at !== undefined; at = deliveries.find((one) => one.message_id === at?.cause_id))
      chain += 1;
    await page.getByText(`${chain} messages`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'What did this cause' }).click();
    await page.waitForURL(/flow=effects/);
    assert.deepEqual(tab.complaints, []);
  });

  test('the table has every delivery as text, and filters cut it as the API would', async () => {
    const { deliveries } = await rawTrace(failed);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${failed}?view=table`);
    const rows = async () => Number(await page.getByRole('table').getAttribute('aria-rowcount')) - 1;
    // The run may still be tried again: both sides are read until they are equal.
    await waitUntil('all rows', async () => (await rows()) === (await rawTrace(failed)).deliveries.length);
    const { to, type } = deliveries[0] ?? assert.fail();
    await page.goto(`${node.url}/traces/${failed}?view=table&actor=${encodeURIComponent(to)}`);
    await waitUntil(
      'rows of one actor',
      async () => (await rows()) === (await rawTrace(failed)).deliveries.filter((one) => one.to === to).length,
    );
    await page.getByRole('cell', { name: type }).first().getByRole('link').focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/[?&]m=/);
    await page.getByRole('heading', { name: 'Payload' }).waitFor();
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('a trace that runs grows while the page is open, and ends equal to a fresh one', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${running}`);
    await picture(page).waitFor();
    await node.json('POST', `/v1/executions/${sleeper}/cancel`, {});
    await waitUntil('it to be cancelled', async () => (await rawTrace(running)).status === 'cancelled');
    await page.getByText('cancelled', { exact: true }).waitFor();
    const { deliveries } = await rawTrace(running);
    await page.getByRole('button', { name: 'Table' }).click();
    const rows = async () => Number(await page.getByRole('table').getAttribute('aria-rowcount')) - 1;
    await waitUntil('all rows', async () => (await rows()) === deliveries.length);
    assert.deepEqual(tab.complaints, []);
  });

  test('the selected message shows its payload, and what it changed in the state of its actor as the API says it', async () => {
    const { deliveries } = await rawTrace(trace);
    const { message_id, to } = deliveries[0] ?? assert.fail();
    const [kind, , id] = to.split('/');
    const diff = await node.call('GET', `/v1/actors/${kind}/${id}/diff?to=${message_id}`);
    const { changes } = Changes.parse(diff.body);
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces/${trace}?m=${message_id}`);
    const state = page.getByRole('region', { name: 'State of the actor' });
    await state.getByRole('listitem').first().waitFor();
    const shown = await state.getByRole('listitem').locator('code').allTextContents();
    const expected = changes.slice(0, 100).map(({ path, kind: how }) => `${path === '' ? '/' : path}${how}`);
    assert.deepEqual(
      shown.map((text) => text.slice(2)),
      expected,
    );
    await state.getByText('State after the message').click();
    await state.getByText('"status"').waitFor();
    assert.match((await page.getByRole('region', { name: 'Payload' }).textContent()) ?? '', /from a client/);
    assert.deepEqual(await tab.serious(), []);
    assert.deepEqual(tab.complaints, []);
  });

  test('the list of traces filters in the address, and leads to a trace', async () => {
    await using tab = await browser.open(node.url);
    const { page } = tab;
    await page.goto(`${node.url}/traces?name=two-steps`);
    await waitUntil('one row', async () => (await page.getByRole('row').count()) === 2);
    await page.getByRole('link', { name: 'two-steps' }).click();
    await picture(page).waitFor();
    assert.match(page.url(), new RegExp(`/traces/${trace}`));
    assert.deepEqual(tab.complaints, []);
    await page.goto(`${node.url}/traces/${'0'.repeat(32)}`);
    await page.getByRole('alert').getByText('trace not found').waitFor();
  });
});
