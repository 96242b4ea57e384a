import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { stringify } from 'yaml';
import { waitUntil } from '../../support/wait-until.ts';

export type Args = Readonly<Record<string, unknown>>;
export type Result = Readonly<Record<string, unknown>>;

/** A call of a tool that succeeds, over any interface; answers its structured result. */
type Ok = (tool: string, args: Args) => Promise<Result>;

interface WorkflowOptions {
  /** It waits for someone first. */
  readonly human?: boolean;
  readonly description?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly input_schema?: object;
}

/** What rows need to be there. Names are new each time, so rows do not see each other. */
export class Setting {
  readonly ok: Ok;
  /** Of the caller when a row names none. */
  readonly tenant: string;

  constructor(ok: Ok, tenant: string) {
    this.ok = ok;
    this.tenant = tenant;
  }

  readonly unknown = randomUUID();

  name(): string {
    return `n${randomUUID().slice(0, 13)}`;
  }

  agentYaml(name = this.name(), version = '1.0.0', more: object = {}, prompt_template = '{{input}}'): string {
    const metadata = { name, version, description: 'works for a test', ...more };
    const spec = { task: { prompt_template } };
    return stringify({ apiVersion: 'svc.dev/v1', kind: 'Agent', metadata, spec });
  }

  /** Ends by itself; with `human` it waits for someone first. */
  workflowYaml(name = this.name(), version = '1.0.0', { human = false, ...metadata }: WorkflowOptions = {}): string {
    const end = {
      END: { kind: 'System', command: 'update_blackboard', env: { seen: '{{input.word}}' }, transitions: [] },
    };
    const ask = { ASK: { kind: 'Human', prompt: 'go on?', transitions: [{ condition: 'always', target: 'END' }] } };
    return stringify({
      ...{ apiVersion: 'svc.dev/v1', kind: 'Workflow' },
      metadata: { name, version, description: 'waits for a test', ...metadata },
      spec: { initial_state: human ? 'ASK' : 'END', states: human ? { ...ask, ...end } : end },
    });
  }

  async agent(name = this.name()): Promise<{ readonly agent_id: string; readonly name: string }> {
    const { agent_id } = await this.ok('svc.agent.create', { manifest_yaml: this.agentYaml(name) });
    return { agent_id: String(agent_id), name };
  }

  async workflow(
    options: WorkflowOptions = {},
    name = this.name(),
  ): Promise<{ readonly workflow_id: string; readonly name: string }> {
    const manifest_yaml = this.workflowYaml(name, '1.0.0', options);
    const { workflow_id } = await this.ok('svc.workflow.create', { manifest_yaml });
    return { workflow_id: String(workflow_id), name };
  }

  async task(intent: string): Promise<string> {
    const { agent_id } = await this.agent();
    const { execution_id } = await this.ok('svc.task.execute', { agent_id, intent });
    return String(execution_id);
  }

  /** The model does not answer until the test ends. */
  runningTask = (): Promise<string> => this.task('sleepy');

  async endedTask(): Promise<string> {
    const execution_id = await this.task('be quick');
    assert.equal((await this.ok('svc.task.wait', { execution_id })).status, 'completed');
    return execution_id;
  }

  async run(options: WorkflowOptions, input: Args = {}): Promise<string> {
    const { name } = await this.workflow(options);
    const { execution_id } = await this.ok('svc.workflow.run', { name, input });
    return String(execution_id);
  }

  async waitingRun(): Promise<string> {
    const execution_id = await this.run({ human: true });
    await waitUntil('it waits for a human', async () => {
      const { status } = await this.ok('svc.workflow.status', { execution_id });
      return status === 'waiting_for_human_input';
    });
    return execution_id;
  }

  /** A pending approval, and the run that waits for it. */
  async approval(): Promise<{ readonly request_id: string; readonly execution_id: string }> {
    const execution_id = await this.waitingRun();
    const { waiting_for } = await this.ok('svc.workflow.executions.get', { execution_id });
    return { request_id: String(Object(waiting_for).approval_id), execution_id };
  }

  async endedRun(): Promise<string> {
    const execution_id = await this.run({}, { word: 'hello' });
    assert.equal((await this.ok('svc.workflow.wait', { execution_id })).status, 'completed');
    return execution_id;
  }
}
