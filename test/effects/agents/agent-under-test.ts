import { randomUUID } from 'node:crypto';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { createAgentContainerEffect } from '../../../effects/agents/container-effect.ts';
import { AgentContainerInput } from '../../../effects/agents/input.ts';
import type { AgentContainerParts } from '../../../effects/agents/plan-container.ts';
import type { ContainerParts } from '../../../effects/containers/settings.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { EffectContext } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import type { DispatchApi } from '../../../usecases/gateway.ts';
import { effectContext } from '../../support/effect-context.ts';
import { BUSYBOX } from '../../support/podman.ts';
import { type PodmanUnderTest, podmanUnderTest, TENANT } from '../../support/podman-containers.ts';
import { ProgramResult } from '../../support/program-under-test.ts';

export const EXECUTION = 'e1';
export const AGENT = 'a1';
export const TOKEN = 'capability-token-of-e1';

type Answer = Awaited<ReturnType<DispatchApi['generate']>>;

/** Answers of a loop: one entry for each call; a function gets the request and may wait. */
export type Script = readonly (Answer | ((request: unknown, signal: AbortSignal) => Promise<Answer>))[];

export const final = (content: string): Answer => ({
  type: 'final',
  content,
  tool_calls_executed: 0,
  conversation: [],
});

export const exec = (script: string, more: Partial<Extract<Answer, { type: 'dispatch' }>> = {}): Answer => ({
  type: 'dispatch',
  dispatch_id: randomUUID(),
  action: 'exec',
  command: 'sh',
  args: ['-c', script],
  cwd: '/workspace',
  env_additions: {},
  timeout_secs: 20,
  max_output_bytes: 65_536,
  ...more,
});

/** An inner loop in memory: answers by the script, and records its requests. */
export function loop(script: Script) {
  const asked: { readonly call: string; readonly request: Readonly<Record<string, unknown>> }[] = [];
  const answer = async (call: string, request: object, signal: AbortSignal | undefined): Promise<Answer> => {
    const next = script[asked.length];
    asked.push({ call, request: { ...request } });
    if (next === undefined) throw new SvcError('failed_precondition', 'the loop is over');
    return typeof next === 'function' ? next(request, signal ?? new AbortController().signal) : next;
  };
  const gateway: DispatchApi = {
    generate: (tenant, execution, request, options) =>
      answer(`generate ${tenant} ${execution}`, request, options?.signal),
    dispatchResult: (tenant, execution, result, options) =>
      answer(`dispatch_result ${tenant} ${execution}`, result, options?.signal),
  };
  return { gateway, asked };
}

type Asked = Partial<z.input<typeof AgentContainerInput>>;
type ContextParts = Partial<Pick<EffectContext, 'effectId' | 'attempt' | 'signal' | 'progress'>>;

export function agentParts(containers: ContainerParts, directory: string, gateway: DispatchApi): AgentContainerParts {
  return {
    ...{ containers, directory, gateway },
    script: null,
    tokens: { issue: async () => TOKEN },
    gatewayUrl: () => 'http://127.0.0.1:8081',
    runtimes: { runtimes: {}, defaultImage: BUSYBOX },
    network: 'none',
    keep: false,
  };
}

/** Runs the handler like the runner does; also returns its progress. */
export async function runAgent(parts: AgentContainerParts, asked: Asked = {}, given: ContextParts = {}) {
  const input = AgentContainerInput.parse({
    ...{ prompt: 'do it', execution_id: EXECUTION, agent_id: AGENT, iteration: 1 },
    env: { SVC_EXECUTION_ID: EXECUTION, SVC_AGENT_ID: AGENT, SVC_ITERATION: '1', SVC_MODEL_ALIAS: 'default' },
    mounts: [{ volume_id: EXECUTION, mount_path: '/workspace', create: true }],
    limits: { timeout_ms: 30_000 },
    ...asked,
  });
  const progress: Json[] = [];
  const context = effectContext({
    tenant: TENANT,
    address: addressOf('execution', TENANT, EXECUTION),
    progress: async (value) => {
      progress.push(value);
      return true;
    },
    ...given,
  });
  const result = ProgramResult.parse(await createAgentContainerEffect(parts).run(input, context));
  return { result, progress };
}

export interface AgentUnderTest extends AsyncDisposable {
  readonly setup: PodmanUnderTest;
  readonly boxes: string;
  parts(gateway: DispatchApi, more?: Partial<ContainerParts>): AgentContainerParts;
  /** Runs an agent with a scripted inner loop; also returns the requests to the loop. */
  run(
    script: Script,
    asked?: Asked,
    given?: ContextParts,
  ): Promise<Awaited<ReturnType<typeof runAgent>> & ReturnType<typeof loop>>;
  /** A custom bootstrap in a volume; returns what a run needs to use it. */
  own(script: string): Promise<Asked>;
}

export async function agentUnderTest(): Promise<AgentUnderTest> {
  const setup = await podmanUnderTest();
  const boxes = join(setup.podman.directory, 'boxes');
  const parts = (gateway: DispatchApi, more: Partial<ContainerParts> = {}) =>
    agentParts({ ...setup.parts, ...more }, boxes, gateway);
  return {
    setup,
    boxes,
    parts,
    async run(script, asked, given) {
      const made = loop(script);
      return { ...(await runAgent(parts(made.gateway), asked, given)), ...made };
    },
    async own(script) {
      const id = randomUUID();
      await mkdir(setup.volume(id), { recursive: true });
      await chown(setup.volume(id), 1_000, 1_000);
      await writeFile(join(setup.volume(id), 'boot'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return {
        bootstrap_path: '/workspace/boot',
        stream: true,
        mounts: [{ volume_id: id, mount_path: '/workspace' }],
      };
    },
    [Symbol.asyncDispose]: () => setup[Symbol.asyncDispose](),
  };
}
