import type { z } from 'zod';
import { expectation } from '../manifests/expectation.ts';
import type { ToolRun } from '../manifests/tool/call.ts';
import type { ToolContract } from '../manifests/tool/contract.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import { ToolFailure } from './failure.ts';

/** One call as its handler sees it. */
export interface ToolCall {
  readonly run: ToolRun;
  readonly tenant: string;
  /** UUID of the call: the same when it is repeated after a crash, so what it starts under this id starts once. */
  readonly id: string;
  /** W3C trace id: what the call starts belongs to the same tree of causes. */
  readonly trace: string;
  readonly signal: AbortSignal;
  /** How long it may take, milliseconds. Absent: without end. */
  readonly timeoutMs?: number;
  /** Of a call that is repeated after a crash: how long ago it was first made, milliseconds. */
  readonly askedAgoMs?: number;
  /** Tells whoever waits how it goes on. */
  progress(value: Json): Promise<boolean>;
  /** Waits for what takes no work of this node, without a place among its effects; `waiting` must heed the signal. */
  parked<T>(waiting: Promise<T>): Promise<T>;
}

/** What a tool answers: text as spec 3 shows it, and the object where the result is one. */
export interface ToolAnswer {
  readonly text: string;
  readonly structured?: JsonObject;
}

/** One built-in tool: its contract, and what it does. Failures of the tool are `ToolFailure`s. */
export interface Tool {
  readonly contract: ToolContract;
  run(given: unknown, call: ToolCall): Promise<ToolAnswer>;
}

/** Puts a handler beside its contract. The arguments are checked again where they are used: a grant may be old. */
export function defineTool<Input extends z.ZodType>(
  contract: ToolContract<Input>,
  handler: (input: z.output<Input>, call: ToolCall) => Promise<ToolAnswer>,
): Tool {
  return {
    contract,
    async run(given, call) {
      const parsed = contract.input.safeParse(given, { error: expectation });
      if (parsed.success) return handler(parsed.data, call);
      const issue = parsed.error.issues[0];
      const field = issue?.path.join('.') || 'arguments';
      throw new ToolFailure(
        'InvalidArguments',
        `${contract.name}: ${field}: ${issue?.message ?? 'expected another value'}`,
      );
    },
  };
}
