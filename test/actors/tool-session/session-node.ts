import { TOOL_SESSIONS, type ToolSessionDocument } from '../../../actors/tool-session/view.ts';
/**
 * A node with tool sessions in its own process, to be killed; it uses the protocol of `kill-node.ts`. An `ask` of type `Call`
 * is a call through the port. Arguments: the `StoreLocation` as JSON, a file that gets a line for each run of a tool, and the
 * behaviour of the tool: `hang` or `answer`.
 */

import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import { ToolRun } from '../../../manifests/tool/call.ts';
import { parseAddress } from '../../../runtime/address.ts';
import { defineEffect } from '../../../runtime/effect.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { createToolSessionApi } from '../../../usecases/tool-sessions.ts';
import { answerCalls, type KillNodeCall, storesOfProgram, warn } from '../../support/kill-node-calls.ts';
import { definition, said, sha } from './driven-session.ts';

const [, , , file = '', does = 'answer'] = process.argv;
const ports = await storesOfProgram();
const tool = defineEffect({
  kind: 'tool.call',
  input: ToolRun,
  async run(run) {
    await appendFile(file, `${run.tool}\n`);
    return does === 'hang' ? new Promise<never>(() => {}) : { ...said('done') };
  },
});
const runtime = await startRuntime({
  ...ports,
  definitions: [definition],
  handlers: [tool],
  node: 'node-a',
  settings: { partitions: 4, systemPartitions: 1 },
  warn,
});
const sessions = createToolSessionApi({
  client: runtime.client,
  sessions: await ports.documents.collection<ToolSessionDocument>(TOOL_SESSIONS),
  blobs: ports.blobs,
});

const Call = z.object({ tool: z.string(), id: z.string() });

async function answer(call: KillNodeCall): Promise<unknown> {
  if (call.verb === 'read') return runtime.client.read(call.to);
  if (call.type !== 'Call') return runtime.client.ask(call.to, call.type, call.payload);
  const { tenant, id: sessionId } = parseAddress(call.to);
  if (call.payload === 'audit') return sessions.audit(tenant, sessionId);
  const { id, tool: name } = Call.parse(call.payload);
  const hash = sha(`${name} ${id}`);
  const made = { call: id, tool: name, arguments: { path: 'a' }, envelopeHash: hash, payloadHash: hash };
  return sessions.invoke(tenant, sessionId, made);
}

answerCalls(answer);
