import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAgentManifest, readWorkflowManifest, workflowFindings } from '../../catalog/manifest-reading.ts';
import { validateWorkflow } from '../../catalog/manifest-work.ts';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { parseWorkflowManifest } from '../../manifests/workflow/parse.ts';
import { processorMs } from '../support/processor-time.ts';

const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: long, version: "1.0.0", description: x, labels: { team: core } }
spec: { task: { prompt_template: "{{input}}" }, tools: [fs.read] }
`;
const states = Array.from({ length: 150 }, (_none, at) => {
  const next = at === 149 ? '' : `{ condition: always, target: s${at + 1} }`;
  return `    s${at}: { kind: System, command: update_blackboard, env: { x: "{{blackboard.a${at}}}" }, transitions: [${next}] }\n`;
});
const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: long, version: "1.0.0" }
spec:
  initial_state: s0
  states:
${states.join('')}`;
const long = (text: string): string => text + `# ${'c'.repeat(98)}\n`.repeat(100);

test('a long manifest is read on a thread and gives what it gives here, problems with their places too', async () => {
  assert.deepEqual(await readAgentManifest(long(AGENT)), parseAgentManifest(long(AGENT)));
  assert.deepEqual(await readWorkflowManifest(long(WORKFLOW)), parseWorkflowManifest(long(WORKFLOW)));
  const wrong = long(AGENT.replace('tools:', 'tool:'));
  assert.deepEqual(await readAgentManifest(wrong), parseAgentManifest(wrong));
  const { findings } = validateWorkflow(WORKFLOW, { agents: () => false });
  assert.ok(findings.length > 10);
  assert.deepEqual(await workflowFindings(WORKFLOW, { agents: [], workflows: null }), findings);
});

test('the event loop goes on while a long manifest is read', async () => {
  const cpu = process.threadCpuUsage();
  await Promise.all(Array.from({ length: 8 }, () => workflowFindings(WORKFLOW, { agents: [], workflows: null })));
  const { user } = process.threadCpuUsage(cpu);
  const wholeMs = processorMs(() => {
    for (let times = 0; times < 8; times += 1) validateWorkflow(WORKFLOW);
  });
  assert.ok(user / 1_000 < wholeMs / 3, `${user / 1_000} ms of this thread instead of ${wholeMs} ms`);
});
