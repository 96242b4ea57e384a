import type { z } from 'zod';
import type { ToolContract } from '../../manifests/tool/contract.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import { defineTool, type Tool, type ToolCall } from '../tool.ts';
import { callerOf } from './caller.ts';
import { failureOf } from './failure.ts';
import type { LateManagement, ManagementPorts } from './ports.ts';

/** One call of a management tool, as its handler sees it. */
export interface ManagedCall {
  readonly ports: ManagementPorts;
  readonly identity: Identity;
  readonly call: ToolCall;
}

/** An object that goes out as JSON: members that are not there are left out, nothing else changes. */
export type Answer = object;

/**
 * A management tool: a translation of a call into one of its area's api, and of the area's answer into the table's result.
 * The answer is the JSON text and the same object.
 */
export const managed =
  (late: LateManagement) =>
  <Input extends z.ZodType>(
    contract: ToolContract<Input>,
    handler: (input: z.output<Input>, managed: ManagedCall) => Promise<Answer>,
  ): Tool =>
    defineTool(contract, async (input, call) => {
      const ports = await late();
      try {
        const text = JSON.stringify(await handler(input, { ports, identity: callerOf(call), call }));
        const structured: JsonObject = JSON.parse(text);
        return { text, structured };
      } catch (thrown) {
        throw failureOf(thrown);
      }
    });
