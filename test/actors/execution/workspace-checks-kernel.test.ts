import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { execution } from '../../../actors/execution/definition.ts';
import { createToolCommands } from '../../../effects/commands/tool-commands.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { createSecurityContexts } from '../../../security/policy/contexts.ts';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy } from '../../../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { createFilesEffect } from '../../../tools/validation/files-effect.ts';
import { createScriptEffect } from '../../../tools/validation/script-effect.ts';
import { createScriptRules } from '../../../tools/validation/script-rules.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../../usecases/executions.ts';
import { type VolumesUnderTest, volumesUnderTest } from '../../effects/volumes/volumes-under-test.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { manifestOf } from './driven-execution.ts';
import { ada } from './judged.ts';

/** More often than the effect is tried again after other failures. */
const OUTAGES = 5;

describe('validators of the workspace, on a kernel with real volumes', { timeout: 300_000 }, () => {
  let under: VolumesUnderTest;
  let node: Awaited<ReturnType<typeof startKernelNode>>;
  let left = 0;
  let answers = 0;

  before(async () => {
    under = await volumesUnderTest();
    const { volumes, directory } = under;
    const open: typeof volumes.open = async (...asked) => {
      left -= 1;
      if (left >= 0) throw new SvcError('unavailable', 'the documents do not answer', { store: 'documents' });
      return volumes.open(...asked);
    };
    const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
    const contexts = createSecurityContexts([]);
    const commands = createToolCommands({
      volumes: { open, hold: volumes.hold, watch: volumes.watch, checkQuota: volumes.checkQuota },
      ...{ workspaces: join(directory, 'workspaces'), view: null, engine: null, allow: () => true },
    });
    const model = defineEffect({
      kind: 'model.generate',
      input: z.looseObject({}),
      async run() {
        answers += 1;
        const usage = { input_tokens: 1, output_tokens: 1, cost: 0 };
        return { text: 'done', tool_calls: [], finish_reason: 'stop', provider: 'p', model: 'm', usage };
      },
    });
    node = await startKernelNode({
      definitions: [execution],
      handlers: [
        model,
        createFilesEffect({
          files: { files: volumes.files, volumes: { open }, mayTouch: () => true },
          contexts,
          policy,
        }),
        createScriptEffect({
          commands,
          rules: createScriptRules({ contexts, policy, ceilings: commandCeilings([]) }),
        }),
      ],
    });
  });
  after(async () => {
    await node.stop();
    await under[Symbol.asyncDispose]();
  });

  const CASES: readonly (readonly [what: string, validation: Json])[] = [
    ['a file', [{ type: 'regex', pattern: '^# ', target: 'report.md' }]],
    ['a script', { script: { path: 'check.sh' } }],
  ];
  for (const [what, validation] of CASES)
    test(`a validator of ${what} waits for a store that is away, and the wait costs no iteration`, async () => {
      const executionId = randomUUID();
      const { directory } = await under.volumes.open('acme', executionId, { create: true });
      await writeFile(join(directory, 'report.md'), '# Report');
      await writeFile(join(directory, 'check.sh'), '#!/bin/sh\ngrep -q done\n', { mode: 0o755 });
      left = OUTAGES;
      answers = 0;
      const api = createExecutionApi({
        client: node.runtime.client,
        executions: await node.documents.collection<ExecutionDocument>(EXECUTIONS),
      });
      await api.start({
        ...{ executionId, agentId: randomUUID(), input: 'go', identity: ada },
        manifest: manifestOf({ execution: { max_iterations: 1, validation } }),
      });
      const ended = await waitUntil(
        'the execution to end',
        async () => {
          const found = await api.status(ada, executionId);
          return found.status === 'running' || found.status === 'pending' ? undefined : found;
        },
        30_000,
      );
      assert.deepEqual([ended.status, ended.last_error, ended.iteration_count, answers], ['completed', null, 1, 1]);
      assert.ok(left < 0, 'the store was away as often as planned');
    });
});
